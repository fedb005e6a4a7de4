# SPDX-License-Identifier: GPL-2.0-only
"""Check a model of time against a published table of munmap() on a real machine.

The model's costs are fitted on three rows of it; the others are predicted. What stock 6.12 does in
a row is counted by "profile zap SIZE --memory --mib 1024", and measured here if it is not yet in
build/results: three minutes a row. docs/time.md says what the model is, and what it leaves out.

    ./swathe time               the table, and the costs
    ./swathe time --record      keep it in docs/results
"""

import argparse
from pathlib import Path

from swathe.base import results, table, ui
from swathe.base.paths import write_atomically
from swathe.guest import environment
from swathe.kernel import build
from swathe.kernel.build import BuiltKernel, KernelRequest
from swathe.measure import benches, functions, memory, memory_profile, timing
from swathe.measure.timing import Published, TimeCheck
from swathe.reporting import plots, time_page

CONFIG = "stock"
TIMEOUT, MEMORY = 3600, "4G"


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--record", action="store_true", help="keep the result in docs/results")


def measured(built: BuiltKernel, request: KernelRequest, told: Published, case: str) -> Path:
    """Return the file of one row's counts; measure it if there is none of this kernel."""
    (choice,) = benches.choose([f"{told.bench}:{case}"])
    (sized,) = choice.sized((told.mib,)).cases
    asked = functions.ProfileRequest(request, choice.bench, sized, None, 0, TIMEOUT)
    path = memory_profile.path_of(asked)
    if memory_profile.is_of(path, built, told.processor):
        return path
    ui.note(f"counting what {choice.bench.name} {sized} does to memory")
    processor = memory.processors()[told.processor]
    return memory_profile.save(asked, memory_profile.measure(asked, processor))


def main(args: argparse.Namespace) -> int:
    request, told = KernelRequest(), timing.published()
    built = build.build(request)
    works = {
        case: told.as_it_was(case, timing.read(measured(built, request, told, case), CONFIG))
        for case in told.seconds
    }
    check = timing.check(works, told)
    ui.out.print(table.terminal(time_page.rows(check)))
    for line in time_page.remarks(check, told):
        ui.out.print(line, soft_wrap=True)
    save(check, told, environment.look(built, 1, MEMORY), args.record)
    return 0


def save(check: TimeCheck, told: Published, about: environment.Environment, keep: bool) -> None:
    name = f"time-{about.kernel}"
    data = {"environment": about, "costs": check.costs, "rows": check.rows}
    for home in (results.HERE, results.KEPT) if keep else (results.HERE,):
        drawn = plots.draw(time_page.plot(check), next(iter(plots.themes().values())))
        write_atomically(home / f"{name}.svg", drawn.encode())
        text = time_page.markdown(check, told, name, about.line())
        ui.remark(f"written: {results.write_both(home, name, data, text)}")
