# SPDX-License-Identifier: GPL-2.0-only
"""What the measured programs share, as far as a host can show it."""

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from swathe.base import paths
from swathe.guest import sections
from swathe.kernel import compiler
from swathe.measure import benches, rows

COUNTERS = paths.BUILD / "stat"
LIBRARY = paths.WORKLOADS / "lib"
MAIN = """\
#include <stdio.h>
#include <stdlib.h>
#include "workload.h"

static void count(const char *text)
{
	FILE *file = fopen(UNMAP_STAT, "w");

	fputs(text, file);
	fclose(file);
}

int main(int argc, char **argv)
{
	u64 start;

	for (int i = 1; i + 1 < argc; i += 2) {
		count(argv[i]);
		start = measure_begin();
		count(argv[i + 1]);
		start = measure_end(start);
	}
	report(start, 7);
	point("curve", 1, 2);
	return 0;
}
"""


@pytest.fixture(scope="module")
def programs() -> dict[str, Path]:
    return compiler.programs(paths.WORKLOADS)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that ends as workloads do, with counters in a file of ours."""
    source = tmp_path_factory.mktemp("reporter") / "reporter.c"
    source.write_text(MAIN)
    parts = [LIBRARY / f"{name}.c" for name in ("measure", "report", "request")]
    flags = [f'-DUNMAP_STAT="{COUNTERS}"', f"-I{LIBRARY}"]
    return compiler.compile_program([source, *parts], flags)


@pytest.fixture
def reporter(compiled: Path) -> Path:
    COUNTERS.unlink(missing_ok=True)
    return compiled


def run(*argv: str | Path) -> tuple[int, str]:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def told(output: str) -> dict[str, float]:
    section = sections.Section(("b", "c", "swathe", "1"), tuple(output.splitlines()), 0)
    return {name: value for name, value, _ in rows.metrics(section)}


def test_counters_that_changed_are_told(reporter: Path) -> None:
    status, output = run(reporter, "a 1\nb 2\nc 3\n", "a 1\nb 7\nc 4\n")
    found = told(output)
    assert (status, found.pop("instructions") > 0) == (0, True)
    assert found == {"pages": 7, "stat.b": 5, "stat.c": 1}


def test_the_last_stretch_counts(reporter: Path) -> None:
    _, output = run(reporter, "a 1\n", "a 9\n", "a 9\n", "a 12\n")
    assert told(output)["stat.a"] == 3


def test_a_counter_that_comes_later_is_a_failure(reporter: Path) -> None:
    assert run(reporter, "a 1\n", "a 1\nb 1\n")[0] == 1
    assert run(reporter, "a 1\n", "b 1\n")[0] == 1


def test_no_counters_in_a_kernel_without_us(reporter: Path) -> None:
    assert run(reporter)[0] == 0
    assert not COUNTERS.exists()
    assert not [line for line in run(reporter)[1].splitlines() if "stat." in line]


def test_points_are_not_metrics(reporter: Path) -> None:
    status, output = run(reporter, "a 1\n", "a 1\n")
    assert (status, "~ curve 1 2" in output.splitlines()) == (0, True)
    assert set(told(output)) == {"instructions", "pages"}


@pytest.mark.parametrize("bench", [bench.name for bench in benches.BENCHES])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "which case?"), (["no-such-case"], "unknown case"), (["4K", "--fast"], "--fast")],
)
def test_every_program_says_what_it_does_not_know(
    programs: dict[str, Path], bench: str, arguments: list[str], said: str
) -> None:
    status, output = run(programs[bench], *arguments)
    assert status == 1
    assert said in output
    assert output.count("\n") == 1


@pytest.mark.parametrize("size", ["0", "3", "64k", "-2", ""])
def test_a_size_in_mib_is_an_even_number(programs: dict[str, Path], size: str) -> None:
    status, output = run(programs["zap"], "4K", "--mib", size)
    assert (status, "even number" in output) == (1, True)


def test_some_have_one_size_only(programs: dict[str, Path]) -> None:
    status, output = run(programs["ptetables"], "lazyfree", "--mib", "2")
    assert (status, "--mib" in output) == (1, True)


ROLLUP = paths.BUILD / "smaps_rollup"


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that looks for PMDs in a file of ours."""
    source = tmp_path_factory.mktemp("checker") / "checker.c"
    source.write_text('#include "workload.h"\nint main(void) { check_ptes(); return 0; }\n')
    parts = [LIBRARY / f"{name}.c" for name in ("census", "request", "text")]
    flags = [f'-DSMAPS_ROLLUP="{ROLLUP}"', f"-I{LIBRARY}"]
    return compiler.compile_program([source, *parts], flags)


@pytest.mark.parametrize("kind", ["AnonHugePages", "ShmemPmdMapped", "FilePmdMapped"])
def test_what_a_pmd_maps_is_a_failure(checker: Path, kind: str) -> None:
    rollup = "Rss: 4096 kB\nAnonHugePages: 0 kB\nShmemPmdMapped: 0 kB\nFilePmdMapped: 0 kB\n"
    ROLLUP.write_text(rollup)
    assert run(checker) == (0, "")
    ROLLUP.write_text(rollup.replace(f"{kind}: 0", f"{kind}: 2048"))
    status, output = run(checker)
    assert (status, output.startswith(f"{kind}: 2048 kB")) == (1, True)


@pytest.mark.parametrize(
    "source", ["filemap", "pageout_rate", "ptetables_files", "migrate_cargo", "lib/anon"]
)
def test_what_maps_large_folios_looks_for_pmds(source: str) -> None:
    assert "\tcheck_ptes();\n" in (paths.WORKLOADS / f"{source}.c").read_text()


WORKERS = """\
#include <stdio.h>
#include <unistd.h>
#include "workers.h"
#include "workload.h"

static int prepared, worked;

static void *slow(void *arg)
{
	usleep(100000 * ((struct worker *)arg)->id);
	__atomic_add_fetch(&prepared, 1, __ATOMIC_SEQ_CST);
	await_release();
	__atomic_add_fetch(&worked, 1, __ATOMIC_SEQ_CST);
	work_done();
	return NULL;
}

int main(void)
{
	struct worker workers[3];

	start_workers(workers, 3, slow);
	printf("%d %d\\n", prepared, worked);
	release_workers();
	await_workers();
	printf("%d %d\\n", prepared, worked);
	join_workers(workers, 3);
	return 0;
}
"""


def test_the_clock_starts_when_all_threads_have_prepared(tmp_path: Path) -> None:
    source = tmp_path / "team.c"
    source.write_text(WORKERS)
    parts = [LIBRARY / f"{name}.c" for name in ("workers", "request")]
    program = compiler.compile_program([source, *parts], ["-pthread", f"-I{LIBRARY}"])
    assert run(program) == (0, "3 0\n3 3\n")


ORDER = """\
#include <stdio.h>
#include "workload.h"

int main(void)
{
	for (int shuffled = 0; shuffled < 2; shuffled++) {
		unsigned int *order = make_order(100, shuffled);

		for (int i = 0; i < 100; i++)
			printf("%u ", order[i]);
		puts("");
	}
	quotient_metric("flush_ipis", 1, 24, "a_page");
	return 0;
}
"""


def test_an_order_without_neighbours_is_the_same_in_each_run(tmp_path: Path) -> None:
    source = tmp_path / "order.c"
    source.write_text(ORDER)
    parts = [LIBRARY / f"{name}.c" for name in ("shuffle", "report", "request")]
    program = compiler.compile_program([source, *parts], [f"-I{LIBRARY}"])
    status, output = run(program)
    plain, shuffled, share = output.splitlines()
    numbers = [int(word) for word in shuffled.split()]
    assert (status, share) == (0, "= flush_ipis 0.042 a_page")
    assert [int(word) for word in plain.split()] == sorted(numbers) == list(range(100))
    assert sum(abs(one - other) == 1 for one, other in pairwise(numbers)) < 10
    assert run(program) == (status, output)
