# SPDX-License-Identifier: GPL-2.0-only
"""The program for real machines: how it is made, what it says, and who judges."""

import subprocess
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base.verdicts import Verdict
from swathe.check import field_trials
from swathe.check.field_trials import Trial
from swathe.guest import initramfs, runnable, session
from swathe.guest.sections import Section
from swathe.kernel import arch, field_program, mutants

QUIET = "verdict: nothing was wrong"
WRONG = "verdict: WRONG (walk): the canary was changed"


@pytest.fixture(scope="module")
def program() -> Path:
    return field_program.PROOF.compile(arch.X86_64)


def test_it_runs_anywhere_and_says_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["field", "--proof"]) == 0
    said = capsys.readouterr()
    assert said.out.strip() == str(field_program.PROOF.installed)
    assert "as root" in said.err
    runnable.require_runnable(field_program.PROOF.installed, arch.X86_64)


def test_a_kernel_without_swathe_is_status_3(program: Path) -> None:
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "this kernel has no Swathe" in done.stderr) == (3, True)


@pytest.mark.parametrize("words", [["--minutes", "x"], ["--seconds", "0"], ["--fast"], ["an hour"]])
def test_wrong_usage(program: Path, words: list[str]) -> None:
    done = subprocess.run(
        [program, *words], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, "--minutes N" in done.stderr) == (2, True)


FINDERS = ("walk",)


@pytest.mark.parametrize(
    ("text", "status", "finders", "lost", "passed", "said"),
    [
        (QUIET, 0, (), "", True, "nothing"),
        (QUIET, 0, FINDERS, "", False, "nothing"),
        (QUIET, 1, (), "", False, "nothing"),
        (WRONG, 1, (), "", False, "canary"),
        (WRONG, 1, FINDERS, "", True, "walk: the canary"),
        (WRONG, None, FINDERS, "Kernel panic", True, "walk: the canary"),
        (WRONG, 1, ("tmpfs",), "", False, "canary"),
        ("", None, FINDERS, "Kernel panic", False, "Kernel panic"),
        ("", 139, (), "", False, "139"),
        ("", 3, FINDERS, "", False, "status 3"),
    ],
)
def test_who_found_what(
    text: str, status: int | None, finders: tuple[str, ...], lost: str, passed: bool, said: str
) -> None:
    section = Section(("x",), tuple(text.splitlines()), status)
    test = field_trials.judge(Trial("x", finders), section, lost)
    assert (test.verdict is Verdict.PASSED, said in test.detail) == (passed, True)


def test_what_did_not_run_has_failed() -> None:
    for finders in ((), FINDERS):
        test = field_trials.judge(Trial("x", finders), None, "")
        assert test.verdict is Verdict.FAILED


def test_ways_are_those_of_the_kernel() -> None:
    lists = {trial.mutant for trials in field_trials.GUESTS for trial in trials} - {""}
    broken = {name for names in lists for name in names.split(",")}
    assert broken == {"flush", "zap_flush", "table_full", "dirty", "redirty"}
    assert broken < {mutant.name for mutant in mutants.load()}


def test_the_kernel_is_broken_while_the_program_runs() -> None:
    job = field_trials.job(Path("p"), [Trial("none"), field_trials.broken("table_full", "disk")], 7)
    assert isinstance(job, initramfs.Job)
    text = job.texts[session.SCRIPT]
    assert "report none -- swathe-proof --seconds 10 --seed 7 --dir /mnt\n" in text
    assert "echo 1000 >/sys/module/unmap/parameters/window" in text
    breaking, mending = (
        text.index(f"echo {word}>{field_trials.MUTANTS}") for word in ("table_full ", "")
    )
    assert breaking > mending
