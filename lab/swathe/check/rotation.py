# SPDX-License-Identifier: GPL-2.0-only
"""What CI runs in some commits only, chosen by the commit's hash: no other machine need be asked.

`./swathe test all` runs all of it.
"""

from collections.abc import Sequence

from swathe.base import process
from swathe.base.errors import SwatheError
from swathe.base.paths import ROOT

# Of the scenes, and of the programs with KASAN.
THIRDS = 3
TWELFTHS = 12
HALVES = 2


def number() -> int:
    """Return a number made from the last commit's hash; 0 where there are no commits."""
    try:
        done = process.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], quiet=True)
    except SwatheError:
        return 0
    return int(done.output.strip(), 16) if done.ok else 0


def chosen(names: Sequence[str], commit: int, parts: int = THIRDS) -> Sequence[str]:
    """Return the part whose turn it is; parts take equally long if the longest names come first."""
    return names[commit % parts :: parts]


def first_of_two(commit: int) -> bool:
    """Whether the first of two takes its turn; parts and halves come in all combinations."""
    return commit // TWELFTHS % HALVES == 0


def one_of(names: Sequence[str], commit: int) -> str:
    """Return the one whose turn it is, whatever parts and halves take theirs."""
    return names[commit // (TWELFTHS * HALVES) % len(names)]
