# SPDX-License-Identifier: GPL-2.0-only
"""Golden tests of the hooks: what each rule makes of a small C file, and what it refuses."""

from pathlib import Path

from swathe.base.errors import CheckFailed
from swathe.base.paths import HOOKS, scratch
from swathe.base.verdicts import Test, Verdict
from swathe.kernel import hooks

TESTS = HOOKS / "tests"


def run() -> list[Test]:
    found = [complete_series()]
    for rule in sorted(HOOKS.glob("*.cocci")):
        found += [becomes(rule), refuses(rule), not_twice(rule)]
    return found


def judge(name: str, complaint: str) -> Test:
    return Test(f"hooks: {name}", Verdict.FAILED if complaint else Verdict.PASSED, complaint)


def complete_series() -> Test:
    """Every rule is in the series, and every entry of the series has its rule."""
    rules = {path.stem for path in HOOKS.glob("*.cocci")}
    named = {hook.name for hook in hooks.load()}
    odd = ", ".join(sorted(rules ^ named))
    return judge("series is complete", f"only in one of series and *.cocci: {odd}" if odd else "")


def patched(rule: Path, text: str) -> tuple[bool, str]:
    """Whether the rule accepts this text, and what becomes of it."""
    with scratch("golden") as stage:
        target = stage / "test.c"
        target.write_text(text)
        done = hooks.spatch(rule, target.name, stage)
        return done.ok, target.read_text() if done.ok else hooks.reason(done)


def sample(rule: Path, ending: str) -> str:
    path = TESTS / f"{rule.stem}.{ending}"
    if not path.is_file():
        raise CheckFailed(f"hook {rule.stem} has no hooks/tests/{path.name}")
    return path.read_text()


def becomes(rule: Path) -> Test:
    """NAME.c becomes NAME.res, to the letter."""
    ok, text = patched(rule, sample(rule, "c"))
    if not ok:
        return judge(f"{rule.stem} fires", text)
    same = text == sample(rule, "res")
    return judge(f"{rule.stem} fires", "" if same else f"the result is not tests/{rule.stem}.res")


def refuses(rule: Path) -> Test:
    """NAME.refuse.c must not be accepted."""
    ok, _ = patched(rule, sample(rule, "refuse.c"))
    return judge(f"{rule.stem} refuses", "it accepts what it must refuse" if ok else "")


def not_twice(rule: Path) -> Test:
    """What was patched is not patched again."""
    ok, _ = patched(rule, sample(rule, "res"))
    return judge(f"{rule.stem} not twice", "it applies a second time" if ok else "")
