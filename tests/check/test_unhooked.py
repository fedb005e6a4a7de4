# SPDX-License-Identifier: GPL-2.0-only
"""Kernels without one hook: who has to miss it, and what counts."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from swathe.base.errors import CheckFailed
from swathe.base.verdicts import Verdict
from swathe.check import broken, proof, selftests, unhooked
from swathe.guest import environment
from swathe.kernel import arch, build, hooks, source, version

ABOUT = "6.12.1"
HOOK = changed(hooks.load()[0], name="a__b__c", missed="tables -t moves")
FOUND = broken.Finding("a__b__c", "tables -t moves", 3, True, "not ok 1 tables.moves")


def test_every_hook_says_who_misses_it() -> None:
    programs = selftests.names()
    for hook in hooks.load():
        word = hook.missed.split()[0]
        assert word in (unhooked.BUILD, unhooked.NOTHING.strip(), *programs), hook.name
        if hook.missed.startswith(unhooked.NOTHING):
            assert len(hook.missed.split()) > 3, f"{hook.name} has no reason"


@pytest.mark.parametrize(
    ("missed", "builds", "finding", "verdict"),
    [
        ("build", False, None, Verdict.PASSED),
        ("build", True, None, Verdict.FAILED),
        ("tables -t moves", False, None, Verdict.FAILED),
        ("tables -t moves", True, FOUND, Verdict.PASSED),
        ("tables -t moves", True, replace(FOUND, found=False), Verdict.FAILED),
        ("nothing: why not", True, None, Verdict.SKIPPED),
    ],
)
def test_what_counts(
    missed: str,
    builds: bool,
    finding: broken.Finding | None,
    verdict: Verdict,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    made: list[str] = []
    built = build.BuiltKernel(ABOUT, tmp_path, tmp_path, tmp_path, "0", arch.X86_64)

    def make(request: build.KernelRequest) -> build.BuiltKernel:
        made.append(request.without)
        if request.without and not builds:
            raise CheckFailed("undefined reference")
        return built

    monkeypatch.setattr(build, "build", make)
    monkeypatch.setattr(hooks, "load", lambda: [changed(HOOK, missed=missed)])
    monkeypatch.setattr(selftests, "compile_tests", lambda _: {"tables": tmp_path / "tables"})
    monkeypatch.setattr(broken, "attempt", lambda *_: finding)
    monkeypatch.setattr(broken, "record", lambda *_: None)
    tests = unhooked.run(build.KernelRequest(flavor="debug"), 2)
    assert [(test.name, test.verdict) for test in tests] == [("unhooked a__b__c", verdict)]
    assert made[-1] == ""
    assert made.count("a__b__c") == (0 if verdict is Verdict.SKIPPED else 1)


def test_the_table_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[proof.ResultTable] = []
    monkeypatch.setattr(proof, "record", kept.append)
    monkeypatch.setattr(environment, "look", lambda *_: None)
    built = build.BuiltKernel(ABOUT, Path(), Path(), Path(), "0", arch.X86_64)
    broken.record(built, 2, "unhooked", "title", ("hook", "missed by"), [FOUND])
    assert kept[0].header == ("hook", "missed by", "seconds", "what it said")
    assert kept[0].rows == (("a__b__c", "tables -t moves", "3", "not ok 1 tables.moves"),)


@pytest.mark.parametrize(("text", "left_out"), [("{\n\tBUG;\n}\n", 0), ("{\n}\n", 1)])
def test_a_hook_for_a_mended_bug_is_not_taken_out(
    text: str, left_out: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mm").mkdir()
    (tmp_path / "mm/a.c").write_text(f"int f(void)\n{text}")
    stock = source.Source(tmp_path, version.Version(6, 12, 118), ours=True)
    monkeypatch.setattr(source, "get", lambda *_: stock)
    monkeypatch.setattr(broken, "attempt", lambda *_: FOUND)
    monkeypatch.setattr(build, "build", lambda _: None)
    hook = changed(HOOK, file="mm/a.c", functions=("f",), mends="BUG;")
    finding = unhooked.without(build.KernelRequest(), hook, {}, 1)
    assert finding.said.startswith(unhooked.NOTHING) is bool(left_out)
