# SPDX-License-Identifier: GPL-2.0-only
"""The programs of the bench allocators: what they say, and what they are made with."""

import subprocess
from pathlib import Path

import pytest

from swathe.guest import initramfs, runnable
from swathe.kernel import apt, arch, build, compiler
from swathe.measure import allocators, benches, instructions

CASES = ("jemalloc", "go")


@pytest.fixture(scope="module")
def programs() -> dict[str, Path]:
    """Both, where their packages are installed: tests install nothing."""
    packages = next(known.packages for known in benches.BENCHES if known.name == allocators.BENCH)
    if missing := apt.absent(packages):
        pytest.skip(f"not installed: {' '.join(missing)}")
    return {"jemalloc": allocators.jemalloc(), "go": allocators.go(arch.X86_64)}


def run(program: Path, mode: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [program, mode], input="\n\n", capture_output=True, text=True, check=False, timeout=120
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("mode", ["all", "live"])
def test_both_programs_allocate_the_same_objects(programs: dict[str, Path], mode: str) -> None:
    status, lines = run(programs["jemalloc"], mode)
    assert (status, lines[1:]) == (0, ["freed", "purged"])
    word, objects, size = lines[0].split()
    assert (word, int(objects) > 900_000, int(size) > 160 << 20) == ("filled", True, True)
    assert run(programs["go"], mode) == (0, lines)


def test_they_run_where_there_are_no_libraries(programs: dict[str, Path]) -> None:
    for program in programs.values():
        runnable.require_runnable(program, arch.X86_64)


def test_go_is_cross_compiled(programs: dict[str, Path]) -> None:
    runnable.require_runnable(allocators.go(arch.ARM64), arch.ARM64)


def test_nothing_is_asked_for_unless_the_bench_is_named(
    kernel: build.BuiltKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(apt, "need", lambda packages: asked.append(tuple(packages)))
    monkeypatch.setattr(allocators, "go", lambda _: Path("g"))
    monkeypatch.setattr(allocators, "jemalloc", lambda: Path("j"))
    monkeypatch.setattr(
        compiler, "programs", lambda *_, **__: {"zap": Path("z"), "allocators": Path("a")}
    )

    def job(name: str) -> initramfs.Job:
        bench = next(bench for bench in benches.BENCHES if bench.name == name)
        guest = instructions.Guest(bench, bench.cases, ("stock",), kernel)
        return instructions.guest_job(instructions.BenchRequest(build.KernelRequest()), guest)

    assert set(job("zap").files) == {"/bin/zap"}
    assert asked == []
    assert job("allocators").files == {
        "/bin/allocators": Path("a"),
        "/bin/allocators_go": Path("g"),
        "/bin/allocators_jemalloc": Path("j"),
    }
    assert asked == [("libjemalloc-dev", "golang-go")]
    assert set(allocators.files("allocators", arch.ARM64)) == {"/bin/allocators_go"}


def test_go_does_not_heed_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFLAGS", "-race")
    assert allocators.go_environment()["GOFLAGS"] == ""
