# SPDX-License-Identifier: GPL-2.0-only
"""swathe-field on a machine that gives it less: control groups, a switch that refuses."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from swathe.base.paths import BUILD
from swathe.kernel import arch, field_program

SYSFS = BUILD / "unmap-refuses"
SWITCH = SYSFS / "enabled"
GROUPS = BUILD / "cgroup"
SMALL = ("--mib", "4", "--rows", "zap:4K", "--pairs", "1")
MIB = 1 << 20


@pytest.fixture(scope="module")
def program() -> Path:
    flags = (f'-DUNMAP="{SYSFS}/"', f'-DCGROUPS="{GROUPS}"')
    return field_program.MEASURE.compile(arch.X86_64, flags)


@pytest.fixture(autouse=True)
def switch() -> Iterator[None]:
    for directory in (SYSFS, GROUPS):
        directory.mkdir(exist_ok=True)
    SWITCH.write_text("11\n")
    yield
    SWITCH.rmdir() if SWITCH.is_dir() else SWITCH.unlink()
    for file in GROUPS.iterdir():
        file.unlink()


def run(program: Path, *argv: str) -> tuple[int, str]:
    done = subprocess.run(
        [program, *SMALL, *argv], capture_output=True, text=True, check=False, timeout=120
    )
    return done.returncode, done.stderr


def limit(most: int | str, used: int, cache: int) -> None:
    """Give the uppermost control group that can be seen a limit, as in a container."""
    (GROUPS / "memory.max").write_text(f"{most}\n")
    (GROUPS / "memory.current").write_text(f"{used}\n")
    half = cache // 2
    stat = f"file_mapped 9\nfile {2 * cache}\ninactive_file {half}\nactive_file {half}\n"
    (GROUPS / "memory.stat").write_text(stat)


@pytest.mark.parametrize(
    ("most", "used", "cache", "status"),
    [
        (64 * MIB, 0, 0, 0),
        (64 * MIB, 60 * MIB, 0, 3),
        (64 * MIB, 60 * MIB, 58 * MIB, 0),
        (64 * MIB, 60 * MIB, 62 * MIB, 0),
        (4 * MIB, 8 * MIB, 0, 3),
        ("max", 60 * MIB, 0, 0),
    ],
)
def test_a_limit_counts_and_page_cache_is_room(
    program: Path, most: int | str, used: int, cache: int, status: int
) -> None:
    limit(most, used, cache)
    found, said = run(program)
    assert (found, "too little memory is free" in said) == (status, status == 3)


def test_a_little_less_memory_is_enough(program: Path) -> None:
    """What was half of the free memory at the start need not be half of it later."""
    limit(64 * MIB, 0, 0)
    argv: list[str | Path] = [program, *SMALL, "--mib", "32", "--pairs", "4", "--on", "7"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        assert child.stderr and b"the switch is 11 now" in child.stderr.readline()
        limit(60 * MIB, 0, 0)
        assert b" ns a page" in child.stderr.read()


def test_bits_that_the_kernel_refuses_are_wrong_usage(program: Path) -> None:
    SWITCH.unlink()
    SWITCH.symlink_to("/dev/full")
    status, said = run(program, "--on", "7")
    assert (status, "the kernel refuses what --on says" in said) == (2, True)


def test_each_name_of_the_list_must_be_a_row(program: Path) -> None:
    status, said = run(program, "--rows", "zap,lazyfre")
    assert (status, "no row is 'lazyfre'; there are zap:4K" in said) == (2, True)


def test_what_cannot_be_put_back_is_a_failure(program: Path) -> None:
    argv: list[str | Path] = [program, *SMALL, "--pairs", "1000", "--on", "7"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        assert child.stderr and b"the switch is 11 now" in child.stderr.readline()
        time.sleep(0.2)
        child.send_signal(signal.SIGSTOP)
        SWITCH.unlink()
        SWITCH.mkdir()
        child.send_signal(signal.SIGTERM)
        child.send_signal(signal.SIGCONT)
        said = child.stderr.read()
        assert (child.wait(60), b"could not be put back to 11" in said) == (1, True)


def test_a_terminal_cannot_stop_it(program: Path) -> None:
    argv: list[str | Path] = [program, *SMALL]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        assert child.stderr and b"the switch is 11 now" in child.stderr.readline()
        child.send_signal(signal.SIGTSTP)
        assert child.wait(60) == 0
