# SPDX-License-Identifier: GPL-2.0-only
"""What is said about hooks that do not fit: enough to mend them."""

from pathlib import Path

import pytest

from swathe.base.paths import HOOKS
from swathe.kernel import anchors, hooks
from swathe.kernel.version import Version

KERNEL = Version.parse("6.12.200")
ALL = {hook.name: hook for hook in hooks.load()}
SAMPLES = sorted((HOOKS / "tests").glob("*.res"))
# Three functions as a distribution's backports leave them: a condition got longer, a function
# another name, and a line other arguments.
BACKPORTED = {
    "memory__free_pmd_range__mark": ("none_or_clear_bad(pmd)", "none_or_clear_bad(pmd) || f(*pmd)"),
    "khugepaged__scan_pmd__mark": ("hpage_collapse_scan_pmd(", "hpage_scan_pmd("),
    "mremap__move_vma__tables": ("VM_LOCKED_MASK", "VM_LOCKED | VM_LOCKONFAULT"),
}


def sample(name: str) -> str:
    return (HOOKS / "tests" / f"{name}.c").read_text()


def report(name: str, text: str) -> str:
    hook = ALL[name]
    return "\n".join(anchors.report(hook.rule.read_text(), hook.functions, hook.file, text))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_what_a_fitting_hook_looks_for_is_there(path: Path) -> None:
    said = report(path.stem.split(".")[0], path.with_suffix(".c").read_text())
    assert "MISSING" not in said
    assert said.count("  there    ") >= said.count("the rule looks in")
    assert "none is missing" in said


@pytest.mark.parametrize("name", BACKPORTED)
def test_what_was_changed_is_missing(name: str) -> None:
    old, new = BACKPORTED[name]
    assert old in sample(name)
    said = report(name, sample(name).replace(old, new))
    assert "MISSING" in said or "has no hpage_collapse_scan_pmd()" in said
    assert "none is missing" not in said


@pytest.fixture
def backported(tmp_path: Path) -> Path:
    """A tree whose files are samples that were changed by hand."""
    for name, (old, new) in BACKPORTED.items():
        path = tmp_path / "linux" / ALL[name].file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(sample(name).replace(old, new))
    return tmp_path / "linux"


def test_all_hooks_that_do_not_fit_are_told_of(backported: Path, tmp_path: Path) -> None:
    chosen = [ALL[name] for name in (*BACKPORTED, "madvise__dontneed__mmap_locked")]
    with pytest.raises(hooks.HookMissed) as caught:
        hooks.steps(backported, chosen, KERNEL, tmp_path / "cache")
    assert set(caught.value.names) == {hook.name for hook in chosen}
    said = str(caught.value)
    for name in BACKPORTED:
        assert f"hook {name} does not fit {ALL[name].file} of Linux 6.12.200" in said
        assert f"rule: hooks/{name}.cocci; spatch {hooks.spatch_version()}\n" in said
    assert "MISSING  if (pmd_none_or_clear_bad(pmd))\n" in said
    assert "if (pmd_none_or_clear_bad(pmd) || f(*pmd))\n" in said
    assert "there    if (unlikely(!err && (E))) {\n" in said
    assert "MISSING  vm_flags_clear(vma, VM_LOCKED_MASK);\n" in said
    assert "like line 10: vm_flags_clear(vma, VM_LOCKED | VM_LOCKONFAULT);\n" in said
    assert "mm/khugepaged.c has no hpage_collapse_scan_pmd() (it has hpage_scan_pmd)" in said
    assert "madvise__dontneed__mmap_locked does not fit mm/madvise.c" in said
    assert said.splitlines()[-1] == hooks.ADVICE
    assert not (tmp_path / "cache").exists()


def test_a_function_that_spatch_cannot_parse_is_named() -> None:
    hook = ALL["mremap__move_vma__tables"]
    text = sample(hook.name).replace("err = move", "@ err = move")
    with pytest.raises(hooks.HookMissed, match=r"spatch cannot parse move_vma\(\)") as caught:
        hooks.apply_one(hook, text, KERNEL)
    assert "none is missing" in str(caught.value)


def test_an_expression_ends_with_its_parentheses() -> None:
    (rule,) = anchors.rules("@@\nexpression E;\n@@\nf(...) {\n  g(E);\n  h(..., E);\n}\n", ("f",))
    one, two = (anchor.pattern for anchor in rule.anchors)
    assert one.search(anchors.tokens("g(a /* b */ + (c))  ;"))
    assert not one.search(anchors.tokens("g(a) + (b);"))
    assert not one.search(anchors.tokens("g(a, b);"))
    assert two.search(anchors.tokens("h(a, (b), c);"))


def test_alternatives_of_a_disjunction_may_be_absent() -> None:
    body = "f(...) {\n(\n  a(\n-   b\n  );\n|\n  a(b); c();\n|\n  a(b);\n  d();\n)\n}\n"
    (rule,) = anchors.rules(f"@some@\n@@\n{body}", ("f",))
    found = {anchor.text: anchor.optional for anchor in rule.anchors}
    assert found == {"a(b);": True, "a(b); c();": True, "d();": True}
    (rule,) = anchors.rules("@@\n@@\nf(...) {\n(\na();\n|\na();\nd();\n)\n}\n", ("f",))
    assert [(anchor.text, anchor.optional) for anchor in rule.anchors] == [
        ("a();", False), ("d();", True),
    ]  # fmt: skip
