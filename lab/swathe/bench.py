# SPDX-License-Identifier: GPL-2.0-only
"""Measure reclaim in exact instruction counts, stock beside swathe.

Every case runs in one boot with the switch off (stock) and on (swathe) in
turn, as often as --repeat says, after one run to warm up. QEMU executes one
instruction per nanosecond of guest time, so the same run gives the same
figure, whatever else this machine does. The first time, a kernel is fetched
and built.

    ./swathe bench                            everything, but for allocators
    ./swathe bench allocators                 heaps of real allocators (installs two packages)
    ./swathe bench lazyfree filemap:pageout   one bench, and one case of another
    ./swathe bench --against pristine         also a kernel without mm/unmap
    ./swathe bench --against 7.3              also the newest stable kernel
    ./swathe bench zap:64K --mib 256,1024     by the size of memory
    ./swathe bench --json out.json            the figures for other programs
"""

import argparse
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.progress import Progress, TaskID

from swathe import (
    benches,
    build,
    cc,
    environment,
    events,
    heaps,
    initramfs,
    parallel,
    rows,
    run,
    sections,
    source,
    tables,
    ui,
    vm,
)  # fmt: skip
from swathe.arch import Arch
from swathe.errors import CheckFailed, UsageError
from swathe.paths import BUILD, WORKLOADS, scratch, write_atomically
from swathe.rows import Row, Series

RESULTS = BUILD / "results"
TIMEOUT, TIMEOUT_FULL = 1200, 7200
SWITCHED = {"stock": "0", "swathe": "y"}
GIB = 1024
# No address randomisation: it must not matter where a mapping lies.
BOOT = "quiet norandmaps"
READ_AHEAD = 128  # kB: what Linux 6.12 does


@dataclass(frozen=True)
class Request:
    kernel: build.Request
    choices: tuple[benches.Choice, ...]
    full: bool
    against: str | None
    repeats: int
    cpus: int
    timeout: float
    boot: str
    json: Path | None
    jobs: int = 1


@dataclass(frozen=True)
class Result:
    rows: tuple[Row, ...]
    series: tuple[Series, ...]
    environment: environment.Environment
    skipped: tuple[str, ...]


@dataclass(frozen=True)
class Guest:
    """One boot: cases of one bench, their configs taking turns in one kernel."""

    bench: benches.Bench
    cases: tuple[str, ...]
    configs: tuple[str, ...]
    built: build.Result

    @property
    def title(self) -> str:
        return f"{self.bench.name} ({' and '.join(self.configs)})"


def repeats(text: str) -> int:
    number = run.positive(text)
    if number < 3:
        raise argparse.ArgumentTypeError("a median needs at least 3 repeats")
    return number


def sizes(text: str) -> tuple[int, ...]:
    """The sizes of --mib, each once."""
    found = tuple(dict.fromkeys(run.positive(word) for word in text.split(",")))
    if odd := [number for number in found if number % 2]:
        raise argparse.ArgumentTypeError(f"{odd[0]} MiB is no whole number of 2 MiB")
    return found


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="a bench, or BENCH:CASE (default: all that need nothing more)",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--full", action="store_true", help="the sizes of the original threads")
    size.add_argument(
        "--mib",
        type=sizes,
        default=(),
        metavar="N[,N…]",
        help="other sizes, in MiB, a row for each",
    )
    parser.add_argument(
        "--against",
        choices=("pristine", *source.KERNELS[1:]),
        help="also measure a kernel from the untouched tree, or another, newer one",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write rows and environment")
    parser.add_argument("--repeat", type=repeats, default=3, metavar="N", help="3 or more")
    parser.add_argument(
        "--jobs", type=run.positive, default=parallel.processors(), metavar="N",
        help="so many machines at once (default: as many as there are processors)",
    )  # fmt: skip
    run.add_machine_arguments(parser, TIMEOUT)
    build.add_kernel_arguments(parser)
    build.add_flavor_argument(parser, "bench")
    parser.epilog = f"benches and their cases:\n{benches.listing()}\n\n{parser.epilog}"


def request_from(args: argparse.Namespace) -> Request:
    choices = [choice.sized(args.mib) for choice in benches.choose(args.names)]
    timeout = TIMEOUT_FULL if args.full and args.timeout == TIMEOUT else args.timeout
    if args.json and not args.json.resolve().parent.is_dir():
        raise UsageError(f"--json {args.json}: there is no directory {args.json.parent}")
    return Request(
        build.request_from(args, pristine=False), tuple(choices), args.full,
        args.against, args.repeat, args.cpus, timeout, args.boot, args.json, args.jobs,
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    result = measure(request)
    path = save(result, request.json)
    show(request, result)
    ui.remark(f"raw figures: {path}")
    if not result.rows:
        raise CheckFailed("every case was skipped: there are no figures")
    return 0


def measure(request: Request) -> Result:
    """Build the kernels, then boot them for all benches, as many at once as there is room for."""
    ours = build.build(request.kernel)
    kernels: list[tuple[build.Result, tuple[str, ...]]] = [(ours, ("stock", "swathe"))]
    if request.against:
        other = build.build(other_kernel(request.kernel, request.against))
        kernels.insert(0, (other, (request.against,)))
    guests = plan(request, kernels)
    for guest in guests:  # what is compiled and packed is ready before any of them boots
        initramfs.make(guest_job(request, guest), guest.built.out, guest.built.target)
        events.plugin(guest.built.target)
    reports = in_order(request.choices, measure_all(request, guests))
    memory = max(machine_mib(request, guest) for guest in guests)
    return Result(
        tuple(rows.summarise(rows.collect(reports))),
        tuple(rows.series(reports)),
        environment.look(ours, request.cpus, f"{memory // GIB}G"),
        tuple(rows.skipped(reports)),
    )


def in_order(
    choices: Sequence[benches.Choice], reports: Sequence[sections.Section]
) -> list[sections.Section]:
    """By bench and case as they were chosen, however they were spread over guests."""
    asked = [(choice.bench.name, case) for choice in choices for case in choice.cases]
    return sorted(reports, key=lambda report: asked.index((report.words[0], report.words[1])))


def other_kernel(ours: build.Request, against: str) -> build.Request:
    """The third column: the same tree untouched, or another version's."""
    if against == "pristine":
        return replace(ours, pristine=True)
    return replace(ours, kernel=against, source=None, pristine=True)


def plan(request: Request, kernels: Sequence[tuple[build.Result, tuple[str, ...]]]) -> list[Guest]:
    """All boots, in the order in which their rows are shown."""
    return [
        Guest(choice.bench, cases, configs, built)
        for choice in request.choices
        for built, configs in kernels
        for cases in choice.bench.groups(choice.cases)
    ]


def machine_mib(request: Request, guest: Guest) -> int:
    """Room for the largest size and its copy in zram."""
    usual = guest.bench.full_memory if request.full else guest.bench.memory
    return max(vm.mebibytes(usual), 2 * max(map(benches.mib, guest.cases)) + 2 * GIB)


def disk_mib(request: Request, guest: Guest) -> int:
    usual = guest.bench.full_disk if request.full else guest.bench.disk
    return max(vm.mebibytes(usual), max(map(benches.mib, guest.cases)) + GIB)


def turns(request: Request, guest: Guest) -> int:
    return len(guest.cases) * (1 + request.repeats * len(guest.configs))


def measure_all(request: Request, guests: Sequence[Guest]) -> list[sections.Section]:
    """Every guest with a line of progress; what they reported, in the guests' order."""
    with ui.progress() as shown:
        tasks = []
        for guest in guests:
            line = shown.add_task(guest.title, total=turns(request, guest), start=False)
            tasks.append(
                parallel.Task(
                    watched(request, guest, shown, line),
                    cost=turns(request, guest) * guest.bench.seconds,
                    memory=machine_mib(request, guest) << 20,
                )
            )
        return [section for found in parallel.run(tasks, request.jobs) for section in found]


def watched(
    request: Request, guest: Guest, shown: Progress, line: TaskID
) -> Callable[[threading.Event], list[sections.Section]]:
    """Measuring one guest, as something that can be done later, and ended early."""

    def begin(stop: threading.Event) -> list[sections.Section]:
        shown.start_task(line)
        return measure_in(request, guest, lambda count: shown.update(line, completed=count), stop)

    return begin


def measure_in(
    request: Request, guest: Guest, show_count: Callable[[int], object], stop: threading.Event
) -> list[sections.Section]:
    """One boot: what its programs reported, and the events that were counted meanwhile."""
    text = list[str]()
    name = "-".join(["bench", guest.bench.name, *guest.configs, *guest.cases[:1]])
    with scratch("events") as home:
        verdict = vm.boot(
            machine(request, guest, home), guest_job(request, guest), name,
            tally(text, show_count), stop,
        )  # fmt: skip
        found = sections.parse("".join(text))
        if verdict.shell_status:
            last = found[-1].words if found else ("the first program",)
            raise CheckFailed(f"the guest's script stopped after {' '.join(last)}")
        return events.attach(found, events.parse(events.written(home)))


def machine(request: Request, guest: Guest, home: Path) -> vm.Machine:
    """What the guest runs on; its events are counted in home."""
    built = guest.built
    return vm.Machine(
        built.image, built.out, request.cpus, f"{machine_mib(request, guest)}M",
        f"{disk_mib(request, guest)}M",
        boot=" ".join(filter(None, (BOOT, guest.bench.boot, request.boot))),
        timeout=request.timeout, target=built.target, cpu=processor(guest.bench, built.target),
        options=events.option(home, built.out, built.target),
    )  # fmt: skip


def guest_job(request: Request, guest: Guest) -> initramfs.Job:
    lines = guest_lines(guest.bench.name, guest.cases, guest.configs, request.repeats, request.full)
    wanted = job(guest.bench.name, lines, guest.built.target)
    return replace(
        wanted, swap=max(wanted.swap, (2 * max(map(benches.mib, guest.cases)) + 2) << 20)
    )


def processor(bench: benches.Bench, target: Arch) -> str:
    """Which CPU gives this bench's figures soonest."""
    return target.long_strings if bench.clears else target.short_strings


def job(name: str, lines: Sequence[str], target: Arch) -> initramfs.Job:
    """A guest that runs these lines, with one bench's program at hand."""
    program = cc.programs(WORKLOADS, compiler=target.compiler).get(name)
    if program is None:
        raise CheckFailed(f"workloads/{name}.c is missing")
    return initramfs.Job(
        ["/bin/sh", "/bench.sh"],
        {f"/bin/{name}": program, **heaps.files(name, target)},
        {"/bench.sh": sections.script(lines)},
    )


def tally(text: list[str], show_count: Callable[[int], object]) -> vm.OnText:
    """Keep all output, and count the programs that have ended in it."""

    def on_text(more: str) -> None:
        text.append(more)
        show_count(sum(part.count("\n? ") for part in text))

    return on_text


def guest_lines(
    name: str, cases: Sequence[str], configs: Sequence[str], count: int, full: bool
) -> list[str]:
    """The commands of the guest's script.

    The periodic vmstat work would shrink the per-CPU page lists whenever the
    guest idles: how many freed pages go on to the buddy allocator, 14
    instructions each, must not depend on that. Read-ahead decides how large a
    file's folios become: Linux 7.3 would read 8 MiB ahead, and folios that are
    as large as a page table make it split them where it should unmap them.
    """
    lines = [
        "echo 3600 >/proc/sys/vm/stat_interval",
        f"echo {READ_AHEAD} >/sys/block/vda/queue/read_ahead_kb || exit 9",
    ]
    extra = " --full" if full else ""
    for case in cases:
        call = benches.arguments(case)
        turns = [(0, configs[0])]
        turns += [(repeat, config) for repeat in range(1, count + 1) for config in configs]
        for repeat, config in turns:
            if config in SWITCHED:
                lines.append(f"echo {SWITCHED[config]} >$SWITCH || exit 9")
            lines.append("settle")
            lines.append(f"report {name} {case} {config} {repeat} -- {name} {call}{extra}")
    return lines


def save(result: Result, wanted: Path | None) -> Path:
    """Keep every result below build/, and write the file that was asked for."""
    data = {
        "rows": [row.as_json() for row in result.rows],
        "series": [one.as_json() for one in result.series],
        "environment": result.environment.as_json(),
    }
    text = (json.dumps(data, indent=1) + "\n").encode()
    path = RESULTS / f"bench-{time.strftime('%Y%m%d-%H%M%S')}.json"
    write_atomically(path, text)
    if wanted:
        write_atomically(wanted, text)
    return path


def show(request: Request, result: Result) -> None:
    """The tables, and under them what they hold for."""
    configs = ([request.against] if request.against else []) + list(SWITCHED)
    judged = with_goals(request)
    for choice in request.choices:
        found = [row for row in result.rows if row.bench == choice.bench.name]
        ui.out.print(f"{choice.bench.name}: {choice.bench.summary}")
        for shown in tables.of_bench(found, configs, judged):
            ui.out.print(shown, soft_wrap=isinstance(shown, str))
        ui.out.print(
            f"not included: {choice.bench.excludes}, {benches.ALWAYS_EXCLUDED}\n", soft_wrap=True
        )
    for reason in result.skipped:
        ui.out.print(f"skipped: {reason}", markup=False, soft_wrap=True)
    ui.out.print(
        f"median of {request.repeats} repeats, largest spread {100 * widest(result):.3f} %; "
        f"1 instruction = 1 ns of guest time (-icount shift=0)",
        soft_wrap=True,
    )
    ui.out.print(result.environment.line(), markup=False, soft_wrap=True)


def with_goals(request: Request) -> bool:
    """Whether this is what the goals were set for."""
    kernel = request.kernel
    return (kernel.kernel, kernel.arch, kernel.source) == ("6.12", "x86_64", None) and (
        not request.full and request.cpus == 1 and not request.boot
    )


def widest(result: Result) -> float:
    """The largest spread of any instruction count, as a part of it."""
    main = [row for row in result.rows if row.metric == rows.MAIN_METRIC and row.value]
    return max((row.spread / row.value for row in main), default=0.0)
