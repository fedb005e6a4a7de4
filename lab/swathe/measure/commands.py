# SPDX-License-Identifier: GPL-2.0-only
"""The command that measured a figure: how to repeat it, and what it changed from the usual."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from swathe.kernel.source import FROM_TARBALL
from swathe.measure import memory

# Options with a value, and the value that is as good as none.
USUAL = {
    "--arch": "x86_64",
    "--flavor": "bench",
    "--cpus": "1",
    "--boot": "",
    "--kernel": "6.12",
    "--source": "",
    "--lru-gen": "",
    "--repeat": "3",
    "--timeout": "",
    "--against": "",
    "--processor": memory.DEFAULT,
    "--json": "",
}
# Those that make other figures, or further ones of a single run (--memory). A further kernel, more
# repeats and more patience do not. The kernel itself has columns of its own.
CHANGING = ("--full", "--arch", "--flavor", "--cpus", "--boot", "--source", "--lru-gen",
            "--memory", "--processor")  # fmt: skip
PATHS = ("--json", "--source")

Option = tuple[str, ...]


def options(command: str) -> Iterator[Option]:
    """The options of a "swathe bench" line that say something, each with its value."""
    words = iter(shlex.split(command)[2:])
    for word in words:
        name, equals, value = word.partition("=")
        if name in USUAL:
            value = value if equals else next(words, "")
            if value != USUAL[name]:
                yield (name, value)
        elif word.startswith("-"):
            yield (word,)


def setup(command: str) -> str:
    """What makes the figures others than the usual ones; nothing if they are those."""
    given = set(options(command))
    # Debian has no source of this one, so that its tree is always named.
    usual = ("--source",) if ("--kernel", FROM_TARBALL) in given else ()
    found = sorted(one for one in given if one[0] in CHANGING and one[0] not in usual)
    return shlex.join(
        Path(word).name if option[0] in PATHS and word != option[0] else word
        for option in found
        for word in option
    )


def again(command: str, bench: str) -> str:
    """The same options, this bench alone, and no file to write."""
    kept = [option for option in options(command) if option[0] not in ("--json", "--timeout")]
    return shlex.join(["./swathe", "bench", bench, *(word for option in kept for word in option)])


def anonymous(command: str) -> str:
    """The line as it was, without the paths of the machine it was typed on."""
    words = shlex.split(command)
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if equals and name in PATHS:
            words[index] = f"{name}={hidden(name, value)}"
        elif index and words[index - 1] in PATHS:
            words[index] = hidden(words[index - 1], word)
    return shlex.join(words)


def hidden(name: str, path: str) -> str:
    return "FILE" if name == "--json" else Path(path).name
