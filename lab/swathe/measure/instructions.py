# SPDX-License-Identifier: GPL-2.0-only
"""Boot kernels and measure benches in exact instruction counts."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from swathe.base import parallel, results, ui
from swathe.base.errors import CheckFailed
from swathe.base.paths import WORKLOADS, scratch
from swathe.guest import environment, initramfs, sections, session, settings, vm
from swathe.kernel import build, compiler, mainline
from swathe.kernel.arch import Arch
from swathe.measure import allocators, benches, memory, plugin, rows
from swathe.measure.rows import Row, Series

SWITCHED = {"stock": "0", "swathe": "y"}
GIB = 1024
# Without address randomisation, a mapping's place does not change the counts, and the plugin
# finds the kernel's functions where System.map has them.
BOOT = "quiet norandmaps nokaslr"
READ_AHEAD = 128  # kB: the default of Linux 6.12


@dataclass(frozen=True)
class BenchRequest:
    kernel: build.KernelRequest
    choices: tuple[benches.Choice, ...] = ()
    full: bool = False
    against: str | None = None
    repeats: int = 1
    cpus: int = 1
    timeout: float = 0
    boot: str = ""
    json: Path | None = None
    jobs: int = 1
    lru_gen: str = ""  # what to write to lru_gen/enabled; nothing if empty
    model: memory.Processor | None = None  # count accesses to memory, and misses of its caches

    @property
    def mode(self) -> str:
        """What the plugin counts."""
        return plugin.memory_mode(self.model) if self.model else "count"


@dataclass(frozen=True)
class BenchResult:
    rows: tuple[Row, ...]
    series: tuple[Series, ...]
    environment: environment.Environment
    skipped: tuple[str, ...]
    remarks: dict[tuple[str, str], str]  # what programs say of their cases


@dataclass(frozen=True)
class Guest:
    """One boot of a kernel: cases of one bench, in each config in turn."""

    bench: benches.Bench
    cases: tuple[str, ...]
    configs: tuple[str, ...]
    built: build.BuiltKernel

    @property
    def title(self) -> str:
        return f"{self.bench.name} ({' and '.join(self.configs)})"


def measure(request: BenchRequest) -> BenchResult:
    """Build the kernels, then run all benches in guests, as many at once as fit in memory."""
    ours = build.build(request.kernel)
    kernels: list[tuple[build.BuiltKernel, tuple[str, ...]]] = [(ours, ("stock", "swathe"))]
    if request.against:
        other = build.build(other_kernel(request.kernel, request.against))
        kernels.insert(0, (other, (request.against,)))
    guests = plan(request, kernels)
    for guest in guests:  # compile everything before the first guest boots
        guest_job(request, guest)
        plugin.plugin(guest.built.target)
    found = measure_all(request, guests)
    told = [each for guest, some in zip(guests, found, strict=True) if guest.built is ours
            for each in some]  # fmt: skip
    reports = in_order(request.choices, settings.others(chain.from_iterable(found)))
    memory = max(machine_mib(request, guest) for guest in guests)
    return BenchResult(
        tuple(rows.summarise(rows.collect(reports))),
        tuple(rows.series(reports)),
        environment.look(ours, request.cpus, f"{memory // GIB}G", settings.read(told)),
        tuple(rows.skipped(reports)),
        rows.remarks(reports),
    )


def in_order(
    choices: Sequence[benches.Choice], reports: Sequence[sections.Section]
) -> list[sections.Section]:
    """Sort by bench and case as requested, not by guest."""
    asked = [(choice.bench.name, case) for choice in choices for case in choice.cases]
    return sorted(reports, key=lambda report: asked.index((report.words[0], report.words[1])))


def other_kernel(ours: build.KernelRequest, against: str) -> build.KernelRequest:
    """Return the request for the third column: the pristine tree, that tree with a series of
    patches for mainline, or another kernel version.
    """
    if against == "pristine":
        return replace(ours, pristine=True)
    if against in mainline.load().letters:
        return replace(ours, pristine=True, patches=(against,))
    return replace(ours, kernel=against, source=None, pristine=True)


def plan(
    request: BenchRequest, kernels: Sequence[tuple[build.BuiltKernel, tuple[str, ...]]]
) -> list[Guest]:
    """Return all boots, in the order in which their rows are shown."""
    return [
        Guest(choice.bench, cases, configs, built)
        for choice in request.choices
        for built, configs in kernels
        for cases in choice.bench.groups(choice.cases)
    ]


def machine_mib(request: BenchRequest, guest: Guest) -> int:
    """Return the guest's memory: room for the largest size and its copy in zram."""
    usual = guest.bench.full_memory if request.full else guest.bench.memory
    return max(vm.mebibytes(usual), 2 * max(map(benches.mib, guest.cases)) + 2 * GIB)


def disk_mib(request: BenchRequest, guest: Guest) -> int:
    usual = guest.bench.full_disk if request.full else guest.bench.disk
    return max(vm.mebibytes(usual), max(map(benches.mib, guest.cases)) + GIB)


def turns(request: BenchRequest, guest: Guest) -> int:
    return len(guest.cases) * len(runs(guest.bench, guest.configs, request.repeats))


def runs(bench: benches.Bench, configs: Sequence[str], count: int) -> list[tuple[int, str]]:
    """The runs of each case: repeat 0 is the warm-up."""
    if bench.drawn:  # its program has warm rounds of its own
        return [(1, config) for config in configs]
    every = [(repeat, config) for repeat in range(1, count + 1) for config in configs]
    return [(0, configs[0]), *every]


def measure_all(request: BenchRequest, guests: Sequence[Guest]) -> list[list[sections.Section]]:
    """Run every guest, with a progress bar each; return their reports in the guests' order."""
    tasks = [
        parallel.Task(
            partial(watched, request, guest),
            cost=turns(request, guest) * guest.bench.seconds,
            memory=machine_mib(request, guest) << 20,
        )
        for guest in guests
    ]
    return parallel.run(tasks, request.jobs)


def watched(request: BenchRequest, guest: Guest, stop: threading.Event) -> list[sections.Section]:
    """Measure one guest, which can be stopped."""
    with ui.progress(guest.title, turns(request, guest)) as bar:
        return measure_in(request, guest, bar.update, stop)


def measure_in(
    request: BenchRequest, guest: Guest, show_count: Callable[[int], object], stop: threading.Event
) -> list[sections.Section]:
    """Boot once; return what the guest said of itself, and the programs' reports with events."""
    name = "-".join(["bench", guest.bench.name, *guest.configs, *guest.cases[:1]])
    reader = sections.Reader(ends=lambda _: show_count(len(settings.others(reader.ended))))
    with scratch("events") as home:
        boots = machine(request, guest, home, request.mode)
        heard = session.run(boots, guest_job(request, guest), name, reader, stop).whole()
        counted = plugin.parse(plugin.written(home))
        reports = plugin.attach(settings.others(heard.sections), counted)
        return [*heard.of(*settings.WORDS), *reports]


def machine(request: BenchRequest, guest: Guest, home: Path, mode: str) -> vm.Machine:
    """Return the guest's machine; the plugin writes its counts in home."""
    built, target = guest.built, guest.built.target
    return vm.Machine(
        built, max(request.cpus, guest.bench.cpus),
        f"{machine_mib(request, guest)}M", f"{disk_mib(request, guest)}M",
        boot=" ".join(filter(None, (BOOT, guest.bench.boot, request.boot))),
        timeout=request.timeout,
        cpu=processor(guest.bench, target),
        options=plugin.option(home, built.out, target, mode),
    )  # fmt: skip


def processor(bench: benches.Bench, target: Arch) -> str:
    """Return the CPU model that runs this bench fastest."""
    return target.long_strings if bench.clears else target.short_strings


def guest_job(request: BenchRequest, guest: Guest) -> initramfs.Job:
    """Return the guest's script and the bench's program."""
    name, target = guest.bench.name, guest.built.target
    program = compiler.programs(WORKLOADS, compiler=target.compiler).get(name)
    if program is None:
        raise CheckFailed(f"workloads/{name}.c is missing")
    lines = guest_lines(
        name, guest.cases, runs(guest.bench, guest.configs, request.repeats), request.full
    )
    files = {f"/bin/{name}": program, **allocators.files(name, target)}
    swap = (2 * max(map(benches.mib, guest.cases)) + 2) << 20
    lines = [*settings.choose_lru(request.lru_gen), *settings.LINES, *lines]
    return session.job(lines, files, swap=max(initramfs.Job.swap, swap))


def guest_lines(
    name: str, cases: Sequence[str], turns: Sequence[tuple[int, str]], full: bool
) -> list[str]:
    """Return the commands of the guest's script.

    stat_interval: the periodic vmstat work would drain the per-CPU page lists whenever
    the guest idles; then the number of pages freed to the buddy allocator, 14
    instructions each, would vary.
    read_ahead_kb: read-ahead determines the size of a file's folios. Linux 7.3 would read
    8 MiB ahead; it would split the PMD-sized folios instead of unmapping them.
    """
    lines = [
        "echo 3600 >/proc/sys/vm/stat_interval",
        f"echo {READ_AHEAD} >/sys/block/vda/queue/read_ahead_kb || exit 9",
    ]
    extra = " --full" if full else ""
    for case in cases:
        call = benches.arguments(case)
        for repeat, config in turns:
            if config in SWITCHED:
                lines.append(f"echo {SWITCHED[config]} >$SWITCH || exit 9")
            lines.append("settle")
            lines.append(f"report {name} {case} {config} {repeat} -- {name} {call}{extra}")
    return lines


def save(result: BenchResult, wanted: Path | None) -> Path:
    """Write the result below build/, and to the requested file if there is one."""
    data = {"rows": result.rows, "series": result.series, "environment": result.environment}
    if wanted:
        results.write_json(wanted, data)
    return results.write_json(results.HERE / f"{results.stamped('bench')}.json", data)
