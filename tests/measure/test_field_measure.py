# SPDX-License-Identifier: GPL-2.0-only
"""swathe-field on the host, with a file in place of the switch."""

import atexit
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import until

from swathe import __main__
from swathe.base.paths import BUILD
from swathe.guest import runnable
from swathe.kernel import arch, field_program
from swathe.measure import field_blocks
from swathe.measure.field_blocks import COUNTS, TIMES

# In memory where possible: a write to a busy disk can take many seconds.
MEMORY = Path("/dev/shm")
PLACE = Path(tempfile.mkdtemp(prefix="swathe-tests.", dir=MEMORY if MEMORY.is_dir() else BUILD))
atexit.register(shutil.rmtree, PLACE, ignore_errors=True)
SYSFS = PLACE / "unmap"
SWITCH = SYSFS / "enabled"
# A write replaces the first byte only: sysfs would replace the whole value. So a switch that is
# off ("01"), on ("71") or put back can be told apart.
FOUND = "11\n"
IS_ON = "71\n"
SMALL = ("--mib", "4", "--rows", "zap:4K,multifault:1")
# It takes longer than any wait for it, and is ended.
LONG = ("--mib", "32", "--rows", "zap:4K,multifault:1", "--pairs", "1000", "--on", "7")


@pytest.fixture(scope="module")
def stock() -> Path:
    return field_program.MEASURE.compile(arch.X86_64)


@pytest.fixture(scope="module")
def compiled() -> Path:
    return field_program.MEASURE.compile(arch.X86_64, (f'-DUNMAP="{SYSFS}/"',))


@pytest.fixture
def program(compiled: Path) -> Iterator[Path]:
    """The program, with a switch that is on."""
    SYSFS.mkdir(exist_ok=True)
    SWITCH.write_text(FOUND)
    yield compiled
    SWITCH.unlink()


@pytest.fixture
def files() -> Path:
    """An empty directory for what the program maps."""
    return Path(tempfile.mkdtemp(dir=PLACE))


def run(*argv: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)


def wait_until_on(child: subprocess.Popen[bytes]) -> None:
    """Wait until the program has switched on; it switches off and on again all the time."""
    if until(lambda: SWITCH.read_text() == IS_ON or child.poll() is not None):
        if child.poll() is None:
            return
        pytest.fail(f"status {child.returncode}: {said(child)}")
    child.kill()
    pytest.fail(f"the switch stays {SWITCH.read_text()!r}: {said(child)}")


def said(child: subprocess.Popen[bytes]) -> str:
    return child.communicate()[1].decode()


def test_it_is_made_and_needs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["field"]) == 0
    said = capsys.readouterr()
    assert said.out.strip() == str(field_program.MEASURE.installed)
    assert "--thp" in said.err
    runnable.require_runnable(field_program.MEASURE.installed, arch.X86_64)


def test_a_kernel_without_swathe_is_status_3(stock: Path) -> None:
    done = run(stock, *SMALL)
    assert (done.returncode, done.stdout) == (3, "")
    assert "this kernel has no Swathe" in done.stderr


def test_stock_measures_one_state(stock: Path) -> None:
    done = run(stock, *SMALL, "--stock", "--pairs", "2")
    (block,) = field_blocks.of_text(done.stdout, "its output")
    assert (done.returncode, block.rows) == (0, ["zap:4K", "multifault:1"])
    for off, mad, *rest in block.tables[TIMES].values():
        assert off is not None and mad is not None and off > mad >= 0
        assert rest == [None] * 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pairs", "0"], "not a number"),
        (["--pairs", "many"], "not a number"),
        (["--pairs", "-1"], "not a number"),
        (["--mib", "1"], "not a number"),
        (["--pairs"], "a value is missing"),
        (["--fast"], "unknown option"),
        (["zap"], "only options"),
        (["--rows", "zap:5K"], "there are zap:4K"),
    ],
)
def test_wrong_usage(stock: Path, words: list[str], said: str) -> None:
    done = run(stock, *words)
    assert (done.returncode, done.stdout, said in done.stderr) == (2, "", True)


def test_stock_is_for_kernels_without_swathe(program: Path) -> None:
    done = run(program, *SMALL, "--stock")
    assert (done.returncode, "leave out --stock" in done.stderr) == (3, True)


def test_a_whole_run(program: Path) -> None:
    done = run(program, *SMALL, "--pairs", "8", "--seed", "5", "--on", "7")
    (block,) = field_blocks.of_text(done.stdout, "its output")
    assert (done.returncode, SWITCH.read_text()) == (0, FOUND)
    assert "8 pairs, seed 5; 4 MiB" in dict(block.heads)["run"]
    assert block.tables[COUNTS]["zap:4K"][0] == 1024
    for values in block.tables[TIMES].values():
        off, _, on, _, change, low, high = values
        assert None not in (off, on, change, low, high)
        assert low is not None and change is not None and high is not None and low <= change <= high
    assert max(map(len, done.stdout.splitlines())) < 80


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ("multifault:1", {"multifault:1"}),
        ("zap:4K,multifault:1", {"zap:4K", "multifault:1"}),
        ("swapout", {"swapout:4K", "swapout:64K"}),
    ],
)
def test_rows_are_selected(program: Path, rows: str, names: set[str]) -> None:
    done = run(program, "--mib", "4", "--pairs", "1", "--rows", rows)
    told = [line for line in done.stderr.splitlines() if not line.startswith("swathe-field:")]
    assert {line.split()[0] for line in told} == names


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_the_switch_is_put_back(program: Path, files: Path, number: signal.Signals) -> None:
    argv: list[str | Path] = [program, *LONG, "--dir", files]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        wait_until_on(child)
        child.send_signal(number)
        assert child.wait(60) == (-number if number == signal.SIGKILL else 128 + number)
        assert until(lambda: SWITCH.read_text() == FOUND)
        if number != signal.SIGKILL:
            assert f"ended by signal {number:d}; the switch is being put back" in said(child)
    assert list(files.iterdir()) == []


def test_it_is_put_back_at_once(program: Path) -> None:
    """When the program has ended, nothing is left to be done."""
    for _ in range(5):
        run(program, *SMALL, "--pairs", "1", "--on", "7")
        assert SWITCH.read_text() == FOUND


def test_the_guardian_is_not_in_the_group(program: Path) -> None:
    argv: list[str | Path] = [program, *LONG]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as child:
        wait_until_on(child)
        os.killpg(child.pid, signal.SIGKILL)
        assert until(lambda: SWITCH.read_text() == FOUND)


def children(pid: int) -> list[str]:
    """The guardian and the measured child of a program that may have ended."""
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []


def test_a_killed_child_fails_its_row(program: Path) -> None:
    argv: list[str | Path] = [
        program,
        "--mib",
        "4",
        "--rows",
        "zap:4K",
        "--pairs",
        "1000",
        "--on",
        "7",
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:

        def ended() -> bool:
            for child in children(parent.pid)[1:]:
                with suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGSEGV)
            return parent.poll() is not None

        assert until(ended)
        assert parent.stderr and b"killed by signal 11" in parent.stderr.read()
        assert (parent.returncode, SWITCH.read_text()) == (1, FOUND)


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (32 << 20, 32 << 20))


def test_a_failed_allocation_is_told(program: Path) -> None:
    argv: list[str | Path] = [
        program,
        "--mib",
        "64",
        "--pairs",
        "1",
        "--rows",
        "zap:4K",
        "--on",
        "7",
    ]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=60, preexec_fn=limit_memory
    )
    (block,) = field_blocks.of_text(done.stdout, "its output")
    assert (done.returncode, SWITCH.read_text()) == (1, FOUND)
    assert "zap:4K: cannot map 64 MiB" in dict(block.heads)["failed"]


def test_it_takes_half_of_the_free_memory_at_most(program: Path) -> None:
    done = run(program, *SMALL, "--mib", "1000000")
    assert (done.returncode, "too little memory is free" in done.stderr) == (3, True)


def test_what_is_left_out_is_told(program: Path) -> None:
    done = run(
        program, *SMALL, "--pairs", "1", "--rows", "zap:4K,filemap:pageout", "--dir", "/no/such"
    )
    (block,) = field_blocks.of_text(done.stdout, "its output")
    assert (done.returncode, block.rows) == (0, ["zap:4K"])
    assert any("filemap:pageout: no file could be made" in text for _, text in block.heads)
    nothing = run(program, "--rows", "filemap:pageout", "--dir", "/no/such")
    assert nothing.returncode == 3


def test_a_full_disk_is_told(program: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [program, *SMALL, "--pairs", "1"], stdout=full, stderr=subprocess.PIPE, text=True,
            check=False, timeout=60,
        )  # fmt: skip
    assert (done.returncode, "could not be written" in done.stderr) == (3, True)


def test_one_at_a_time(program: Path) -> None:
    with subprocess.Popen(
        [program, *SMALL, "--pairs", "1000"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as first:
        assert until(lambda: bool(children(first.pid)))
        done = run(program, *SMALL)
        assert (done.returncode, "another swathe-field" in done.stderr) == (3, True)
        first.terminate()
        first.wait(60)


STATISTICS = """\
#include <stdio.h>
#include "../field/measure.h"

int main(void)
{
	const double off[] = { 10, 10, 10, 10, 10, 10, 10, 10, 10 };
	const double on[] = { 9, 8, 9, 5, 9, 9, 12, 9, 8 };
	struct change change = change_of(off, on, 9);
	struct figure figure = figure_of(on, 9);

	printf("%.2f %.2f %.2f ", change.median, change.low, change.high);
	printf("%.1f %.1f", figure.median, figure.mad);
	for (unsigned int nr = 1; nr < 30; nr++)
		printf(" %d", rank_of_bound(nr));
	return change_of(off, on, 7).bounded;
}
"""


def exact_rank(pairs: int) -> int:
    """The same, by counting the cases of the binomial distribution."""
    rank, below, choices = 0, 0, 1
    while True:
        below += choices
        if 2 * below > 2**pairs * 0.01:
            return rank
        choices = choices * (pairs - rank) // (rank + 1)
        rank += 1


def test_medians_and_intervals(tmp_path: Path) -> None:
    source = tmp_path / "statistics.c"
    source.write_text(STATISTICS.replace("../field", str(field_program.SOURCES)))
    program = tmp_path / "statistics"
    parts = [source, field_program.SOURCES / "measure_figures.c"]
    subprocess.run(["gcc", "-Wall", *parts, "-o", program, "-lm"], check=True, timeout=60)
    done = run(program)
    words = done.stdout.split()
    assert (done.returncode, words[:5]) == (0, ["-0.10", "-0.50", "0.20", "9.0", "0.0"])
    assert [int(word) for word in words[5:]] == [exact_rank(pairs) for pairs in range(1, 30)]
    assert exact_rank(8) == 1 and exact_rank(7) == 0 and exact_rank(20) == 4
