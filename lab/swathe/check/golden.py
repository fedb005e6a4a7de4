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
        if hook.rule.is_file() and not hook.same_as:
            found += [refuses(hook)]
            for sample in samples(hook):
                found += [becomes(hook, sample), not_twice(hook, sample)]
    return found


def judge(name: str, complaint: str) -> Test:
    return Test(f"hooks: {name}", Verdict.FAILED if complaint else Verdict.PASSED, complaint)


def complete_series() -> Test:
    """Check that every rule is in the series, and that every entry has its rule."""
    rules = {path.stem for path in HOOKS.glob("*.cocci")}
    named = {hook.rule.stem for hook in hooks.load()}
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


def samples(hook: Hook) -> list[str]:
    """Return NAME, and NAME.KIND for each other form of the stock code that the hook must fit."""
    kinds = sorted(path.stem for path in TESTS.glob(f"{hook.name}.*.res"))
    return [hook.name, *kinds]


def read(hook: Hook, name: str) -> str:
    path = TESTS / name
    if not path.is_file():
        raise CheckFailed(f"hook {hook.name} has no hooks/tests/{name}")
    return path.read_text()


def becomes(hook: Hook, sample: str) -> Test:
    """Check that SAMPLE.c becomes exactly SAMPLE.res, with the changes that the series declares."""
    text, complaint = patched(hook, read(hook, f"{sample}.c"))
    if not complaint and text != read(hook, f"{sample}.res"):
        complaint = f"the result is not tests/{sample}.res"
    return judge(f"{sample} fires", complaint)


def refuses(hook: Hook) -> Test:
    """Check that the hook refuses NAME.refuse.c."""
    _, complaint = patched(hook, read(hook, f"{hook.name}.refuse.c"))
    return judge(
        f"{hook.name} refuses", "" if complaint else "it accepts the file that it must refuse"
    )


def not_twice(hook: Hook, sample: str) -> Test:
    """Check that the hook refuses a file that it has already changed."""
    _, complaint = patched(hook, read(hook, f"{sample}.res"))
    return judge(f"{sample} not twice", "" if complaint else "it applies a second time")
