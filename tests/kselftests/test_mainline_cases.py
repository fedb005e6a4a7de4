# SPDX-License-Identifier: GPL-2.0-only
"""New cases of the kernel's own tests: they fail without the patches and pass with them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from swathe.base.errors import CheckFailed
from swathe.base.verdicts import Verdict
from swathe.guest import session, vm
from swathe.guest.session import Transcript
from swathe.kernel import build
from swathe.kernel.arch import X86_64
from swathe.kernel.build import BuiltKernel, KernelRequest
from swathe.kselftests import builds, guests, mainline_cases
from swathe.kselftests.cases import END, Case, ProgramRun

PASSED, FAILED, SKIPPED = Verdict.PASSED, Verdict.FAILED, Verdict.SKIPPED


def ran(end: str = "", **verdicts: Verdict) -> ProgramRun:
    found = [Case(name, verdict) for name, verdict in verdicts.items()]
    return ProgramRun((*found, Case(END, FAILED if end else PASSED, end)), 1)


def judged(off: ProgramRun, on: ProgramRun) -> dict[str, str]:
    """What failed, with what is said of it; one is known, new is new."""
    tests = mainline_cases.judge("mm/a", off, on, ["new"])
    assert [test.name for test in tests] == [
        "mainline: mm/a: new", "mainline: mm/a: all else is the same",
    ]  # fmt: skip
    return {
        test.name.rpartition(": ")[2]: test.detail
        for test in tests
        if test.verdict is not Verdict.PASSED
    }


GOOD = ran(one=PASSED, new=PASSED)
BAD = ran("status 1", one=PASSED, new=FAILED)


def test_a_case_fails_without_the_patches_only() -> None:
    assert judged(BAD, GOOD) == {}


@pytest.mark.parametrize(
    ("off", "on", "said"),
    [
        (GOOD, GOOD, "passed without the patches, passed with them"),
        (BAD, BAD, "failed without the patches, failed with them"),
        (ran(one=PASSED, new=SKIPPED), GOOD, "skipped without the patches, passed with them"),
        (ran(one=PASSED), ran(one=PASSED), "missing without the patches, missing with them"),
    ],
)
def test_a_case_that_shows_nothing_fails(off: ProgramRun, on: ProgramRun, said: str) -> None:
    assert judged(off, on) == {"new": said}


def test_other_cases_and_the_end_must_be_the_same() -> None:
    worse = ran("status 1", one=FAILED, new=PASSED)
    said = "one: passed without the patches, failed with them"
    assert judged(BAD, worse) == {"all else is the same": said}
    killed = ran("signal 11", one=PASSED, new=PASSED)
    said = "with the patches it ended with signal 11"
    assert judged(BAD, killed) == {"all else is the same": said}


def test_every_patch_of_a_test_has_a_program_that_runs() -> None:
    patches = mainline_cases.patches()
    every = mainline_cases.wanted(patches)
    assert {entry.program for entry in every} == set(map(mainline_cases.program, patches))
    assert sum(map(len, every.values())) == sum(
        len(patch.selftest.cases) for patch in patches if patch.selftest
    )


def test_two_patches_of_one_program_share_a_run() -> None:
    patch = mainline_cases.patches()[0]
    ((entry, cases),) = mainline_cases.wanted([patch, changed(patch, name="other")]).items()
    assert patch.selftest
    assert entry.program == mainline_cases.program(patch)
    assert cases == [*patch.selftest.cases] * 2


def test_kernels_are_the_newest_without_and_with_the_patches() -> None:
    source = Path("linux")
    asked = KernelRequest("6.12", source=source)
    untouched, patched = mainline_cases.kernels(asked)
    assert (untouched.kernel, untouched.source, untouched.patches) == ("7.3", None, ())
    assert untouched.pristine and patched.pristine
    assert patched.patches == ("a",)
    assert mainline_cases.kernels(replace(asked, kernel="7.3"))[1].source == source


class Guests:
    """Kernels, a compiler and guests that say what a test wants."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.warning = ""
        self.programs = {"mm/soft-dirty", "mm/migration"}

    def build(self, request: KernelRequest) -> BuiltKernel:
        out = self.home / ("patched" if request.patches else "untouched")
        return BuiltKernel("7.3.4", out / "bzImage", out, out, "", X86_64)

    def compile(self, made: builds.Tree, names: tuple[str, ...], copy: Path) -> str:
        for name in self.programs & set(names):
            program = copy / builds.SELFTESTS / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_bytes(b"\x7fELF")
            program.chmod(0o755)
        return self.warning if made.path.name == "patched" else ""

    def sections(self, kernel: str) -> Iterator[str]:
        word = "ok" if kernel == "patched" else "not ok"
        for number, new in enumerate(mainline_cases.wanted(mainline_cases.patches()).values()):
            lines = [f"{word} {at} {name}" for at, name in enumerate(new, 1)]
            text = "\n".join([f"1..{len(new)}", *lines])
            yield f"@ kselftests {number} x\n{text}\n? {int(kernel != 'patched')}\n"

    def run(self, machine: vm.Machine, *_: object, **__: object) -> Transcript:
        text = "".join(self.sections(machine.built.out.name))
        return Transcript(text, "", vm.Exit(0))


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Guests:
    made = Guests(tmp_path)
    monkeypatch.setattr(build, "build", made.build)
    monkeypatch.setattr(build, "user_headers", lambda _: tmp_path)
    monkeypatch.setattr(builds, "build_single", made.compile)
    monkeypatch.setattr(guests, "libraries", lambda _: {})
    monkeypatch.setattr(session, "run", made.run)
    return made


ASKED = KernelRequest("6.12")


def test_both_kernels_run_all_programs(fakes: Guests) -> None:
    tests = mainline_cases.run(ASKED)
    every = mainline_cases.wanted(mainline_cases.patches())
    assert len(tests) == 1 + len(every) + sum(map(len, every.values()))
    assert {test.verdict for test in tests} == {PASSED}


def test_a_new_warning_fails(fakes: Guests) -> None:
    fakes.warning = "soft-dirty.c:7:1: warning: odd"
    failed = [test for test in mainline_cases.run(ASKED) if test.verdict is FAILED]
    assert [(test.name, test.detail) for test in failed] == [
        ("mainline: the kernel's own tests compile", "soft-dirty.c: odd"),
    ]  # fmt: skip


def test_a_program_that_does_not_compile_is_named(fakes: Guests) -> None:
    fakes.programs = {"mm/soft-dirty"}
    with pytest.raises(CheckFailed, match=r"mm/migration does not compile: .*selftests-mm.log"):
        mainline_cases.run(ASKED)
