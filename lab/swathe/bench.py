# SPDX-License-Identifier: GPL-2.0-only
"""Measure reclaim in exact instruction counts, stock beside swathe.

Every case runs in one boot with the switch off (stock) and on (swathe) in
turn, as often as --repeat says, after one run to warm up. QEMU executes one
instruction per nanosecond of guest time, so the same run gives the same
figure, whatever else this machine does. The first time, a kernel is fetched
and built.

    ./swathe bench                            everything
    ./swathe bench lazyfree filemap:pageout   one bench, and one case of another
    ./swathe bench --against pristine         also a kernel without mm/unmap
    ./swathe bench --against 7.3              also the newest stable kernel
    ./swathe bench --json out.json            the figures for other programs
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich import box
from rich.table import Table

from swathe import benches, build, cc, environment, initramfs, rows, run, sections, source, ui, vm
from swathe.arch import Arch
from swathe.errors import CheckFailed, UsageError
from swathe.paths import BUILD, WORKLOADS, write_atomically

RESULTS = BUILD / "results"
TIMEOUT, TIMEOUT_FULL = 1200, 7200
SWITCHED = {"stock": "0", "swathe": "y"}
MILLION = 1_000_000
# No address randomisation: it must not matter where a mapping lies.
BOOT = "quiet norandmaps"


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


@dataclass(frozen=True)
class Result:
    rows: tuple[rows.Row, ...]
    environment: environment.Environment
    skipped: tuple[str, ...]


def repeats(text: str) -> int:
    number = run.positive(text)
    if number < 3:
        raise argparse.ArgumentTypeError("a median needs at least 3 repeats")
    return number


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="a bench, or BENCH:CASE (default: all)"
    )
    parser.add_argument("--full", action="store_true", help="the sizes of the original threads")
    parser.add_argument(
        "--against",
        choices=("pristine", *source.KERNELS[1:]),
        help="also measure a kernel from the untouched tree, or another, newer one",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write rows and environment")
    parser.add_argument("--repeat", type=repeats, default=3, metavar="N", help="3 or more")
    run.add_machine_arguments(parser, TIMEOUT)
    build.add_kernel_arguments(parser)
    build.add_flavor_argument(parser, "bench")
    parser.epilog = f"benches and their cases:\n{benches.listing()}\n\n{parser.epilog}"


def request_from(args: argparse.Namespace) -> Request:
    choices = benches.choose(args.names)
    timeout = TIMEOUT_FULL if args.full and args.timeout == TIMEOUT else args.timeout
    if args.json and not args.json.resolve().parent.is_dir():
        raise UsageError(f"--json {args.json}: there is no directory {args.json.parent}")
    return Request(
        build.request_from(args, pristine=False), tuple(choices), args.full,
        args.against, args.repeat, args.cpus, timeout, args.boot, args.json,
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
    """Build the kernels, then boot them for one bench after the other."""
    ours = build.build(request.kernel)
    kernels: list[tuple[build.Result, tuple[str, ...]]] = [(ours, ("stock", "swathe"))]
    if request.against:
        kernels.insert(
            0, (build.build(other_kernel(request.kernel, request.against)), (request.against,))
        )
    reports: list[sections.Section] = []
    for choice in request.choices:
        for built, configs in kernels:
            reports += measure_in(request, choice, built, configs)
    memory = max(machine_memory(request, choice) for choice in request.choices)
    found = rows.summarise(rows.collect(reports))
    about = environment.look(ours, request.cpus, memory)
    return Result(tuple(found), about, tuple(rows.skipped(reports)))


def other_kernel(ours: build.Request, against: str) -> build.Request:
    """The third column: the same tree untouched, or another version's."""
    if against == "pristine":
        return replace(ours, pristine=True)
    return replace(ours, kernel=against, source=None, pristine=True)


def machine_memory(request: Request, choice: benches.Choice) -> str:
    return choice.bench.full_memory if request.full else choice.bench.memory


def measure_in(
    request: Request, choice: benches.Choice, built: build.Result, configs: Sequence[str]
) -> list[sections.Section]:
    """One boot: every case of one bench, its configs taking turns."""
    bench = choice.bench
    machine = vm.Machine(
        built.image, built.out, request.cpus, machine_memory(request, choice),
        bench.full_disk if request.full else bench.disk,
        boot=f"{BOOT} {request.boot}".strip(), timeout=request.timeout, target=built.target,
        cpu=processor(bench, built.target),
    )  # fmt: skip
    lines = guest_lines(bench.name, choice.cases, configs, request.repeats, request.full)
    text: list[str] = []
    title = f"{bench.name} ({' and '.join(configs)})"
    with ui.progress() as shown:
        task = shown.add_task(title, total=sum("report " in line for line in lines))
        on_text = tally(text, lambda count: shown.update(task, completed=count))
        verdict = vm.boot(
            machine, job(bench.name, lines, built.target), f"bench-{bench.name}", on_text
        )
    found = sections.parse("".join(text))
    if verdict.shell_status:
        last = found[-1].words if found else ("the first program",)
        raise CheckFailed(f"the guest's script stopped after {' '.join(last)}")
    return found


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
        {f"/bin/{name}": program},
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
    instructions each, must not depend on that.
    """
    lines = ["echo 3600 >/proc/sys/vm/stat_interval"]
    extra = " --full" if full else ""
    for case in cases:
        turns = [(0, configs[0])]
        turns += [(repeat, config) for repeat in range(1, count + 1) for config in configs]
        for repeat, config in turns:
            if config in SWITCHED:
                lines.append(f"echo {SWITCHED[config]} >$SWITCH || exit 9")
            lines.append("settle")
            lines.append(f"report {name} {case} {config} {repeat} -- {name} {case}{extra}")
    return lines


def save(result: Result, wanted: Path | None) -> Path:
    """Keep every result below build/, and write the file that was asked for."""
    data = {
        "rows": [row.as_json() for row in result.rows],
        "environment": result.environment.as_json(),
    }
    text = (json.dumps(data, indent=1) + "\n").encode()
    path = RESULTS / f"bench-{time.strftime('%Y%m%d-%H%M%S')}.json"
    write_atomically(path, text)
    if wanted:
        write_atomically(wanted, text)
    return path


def shown_value(row: rows.Row | None) -> str:
    """Instruction counts in millions, everything else as it is."""
    if row is None:
        return ""
    if row.unit == rows.MAIN_METRIC:
        return f"{row.value / MILLION:.2f} M"
    return f"{row.value:g}" if abs(row.value) < MILLION else f"{row.value:.0f}"


def change(before: rows.Row | None, after: rows.Row | None) -> str:
    """Swathe against stock in percent; nothing where there is nothing to compare."""
    if before is None or after is None or not before.value or before.value == after.value:
        return ""
    return f"{100 * (after.value - before.value) / before.value:+.1f} %"


def table(found: Sequence[rows.Row], configs: Sequence[str]) -> Table:
    """One line for each case and metric, one column for each config."""
    made = Table(box=box.SIMPLE_HEAD)
    for head in ("case", "metric"):
        made.add_column(head)
    for head in (*configs, "change"):
        made.add_column(head, justify="right")
    by_key = {(row.case, row.metric, row.config): row for row in found}
    for case, metric in dict.fromkeys((row.case, row.metric) for row in found):
        cells = [by_key.get((case, metric, config)) for config in configs]
        stock, swathe = (by_key.get((case, metric, config)) for config in SWITCHED)
        made.add_row(case, metric, *map(shown_value, cells), change(stock, swathe))
    return made


def show(request: Request, result: Result) -> None:
    """The tables, and under them what they hold for."""
    configs = ([request.against] if request.against else []) + list(SWITCHED)
    for choice in request.choices:
        found = [row for row in result.rows if row.bench == choice.bench.name]
        ui.out.print(f"{choice.bench.name}: {choice.bench.summary}")
        ui.out.print(table(found, configs))
        ui.out.print(
            f"not included: {choice.bench.excludes}, {benches.ALWAYS_EXCLUDED}\n", soft_wrap=True
        )
    for reason in result.skipped:
        ui.out.print(f"skipped: {reason}", markup=False, soft_wrap=True)
    widest = max(
        (
            row.spread / row.value
            for row in result.rows
            if row.value and row.metric == rows.MAIN_METRIC
        ),
        default=0.0,
    )
    ui.out.print(
        f"median of {request.repeats} repeats, largest spread {100 * widest:.3f} %; "
        f"1 instruction = 1 ns of guest time (-icount shift=0)",
        soft_wrap=True,
    )
    ui.out.print(result.environment.line(), markup=False, soft_wrap=True)
