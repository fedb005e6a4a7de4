# SPDX-License-Identifier: GPL-2.0-only
"""Golden tests of the hooks: each rule must change one small C file, and refuse another."""

from swathe.base.errors import CheckFailed
from swathe.base.paths import HOOKS, scratch
from swathe.base.verdicts import Test, Verdict
from swathe.kernel import hooks
from swathe.kernel.hooks import Hook

TESTS = HOOKS / "tests"


def run() -> list[Test]:
    found = [complete_series()]
    for hook in hooks.load():
        if hook.rule.is_file():
            found += [becomes(hook), refuses(hook), not_twice(hook)]
    return found


def judge(name: str, complaint: str) -> Test:
    return Test(f"hooks: {name}", Verdict.FAILED if complaint else Verdict.PASSED, complaint)


def complete_series() -> Test:
    """Check that every rule is in the series, and that every entry has its rule."""
    rules = {path.stem for path in HOOKS.glob("*.cocci")}
    named = {hook.name for hook in hooks.load()}
    odd = ", ".join(sorted(rules ^ named))
    complaint = f"not both in hooks/series and as *.cocci: {odd}" if odd else ""
    return judge("series is complete", complaint)


def patched(hook: Hook, text: str) -> tuple[str, str]:
    """Return the patched text, and how the change differs from the hook's entry in the series."""
    with scratch("golden") as stage:
        target = stage / "test.c"
        target.write_text(text)
        done = hooks.spatch(hook.rule, target.name, stage)
        after = target.read_text()
    return after, hooks.misfit(hook, text, after) if done.ok else hooks.reason(done)


def sample(hook: Hook, ending: str) -> str:
    path = TESTS / f"{hook.name}.{ending}"
    if not path.is_file():
        raise CheckFailed(f"hook {hook.name} has no hooks/tests/{path.name}")
    return path.read_text()


def becomes(hook: Hook) -> Test:
    """Check that NAME.c becomes exactly NAME.res, with the changes that the series declares."""
    text, complaint = patched(hook, sample(hook, "c"))
    if not complaint and text != sample(hook, "res"):
        complaint = f"the result is not tests/{hook.name}.res"
    return judge(f"{hook.name} fires", complaint)


def refuses(hook: Hook) -> Test:
    """Check that the hook refuses NAME.refuse.c."""
    _, complaint = patched(hook, sample(hook, "refuse.c"))
    return judge(
        f"{hook.name} refuses", "" if complaint else "it accepts the file that it must refuse"
    )


def not_twice(hook: Hook) -> Test:
    """Check that the hook refuses a file that it has already changed."""
    _, complaint = patched(hook, sample(hook, "res"))
    return judge(f"{hook.name} not twice", "" if complaint else "it applies a second time")
