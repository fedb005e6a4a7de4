# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own tests, unchanged, with Swathe on: the verdicts must be those with Swathe off.

Stock's verdicts are recorded (stock.py), so one guest with Swathe on runs all. Programs whose
verdicts are not those of the record run in two guests side by side, off and on; without a record
for this kernel, all do. These two boot from one initramfs and run the same programs in the same
order. Many of these tests depend on timing, so programs whose verdicts differ there run again in
two more guests: only a difference that shows twice is a failure. A case that fails in stock, too,
must have its reason in kselftests.toml.

All guests count instructions: no load of the host changes a verdict. Processors take turns then,
and before QEMU 8.1 one that is never idle leaves nothing of a turn to those after it. So a
program that polls has the last processor: anywhere else it could wait forever for the others.
"""

import shlex
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from msgspec import structs

from swathe.base import parallel, ui, verdicts
from swathe.base.errors import VmLost
from swathe.base.verdicts import Test, Verdict
from swathe.guest import environment, foreign, initramfs, sections, session, vm
from swathe.guest.clock import Clock
from swathe.guest.session import Transcript
from swathe.kernel import build
from swathe.kernel.arch import Arch
from swathe.kselftests import builds, cases, judge, listing, stock
from swathe.kselftests.cases import ProgramRun
from swathe.kselftests.judge import Comparison
from swathe.kselftests.listing import PART, Catalogue, Entry
from swathe.kselftests.stock import StockRecord

MEMORY = "4G"
BOOT_TIME = 300
SWITCH = "/sys/kernel/mm/unmap"
# The guests' names, and the kernel parameter of each.
SWITCHES = {"off": "n", "on": "y"}
# Where the tests are, and their temporary files: on the disk. Pages of an initramfs
# can be neither reclaimed nor accounted as files.
DISK = Path("/mnt")

# What stdbuf preloads: with whole lines, a program that is ended, or forks, says everything once.
# The kernel's own runner does the same.
STDBUF = Path("/usr/libexec/coreutils/libstdbuf.so")
BY_LINES = f"BY_LINES='LD_PRELOAD={STDBUF} _STDBUF_O=L'"
# What pthread_cancel() loads, beside the C library.
UNWINDER = "libgcc_s.so.1"
# What the tests for a foreign architecture are linked and run with.
PACKAGES = ("coreutils", "libc6-dev", "libcap-dev", "libgcc-s1", "libnuma-dev")

# mm/protection_keys_64 reads it.
USERS = "mkdir -p /etc && echo root:x:0:0:root:/root:/bin/sh >/etc/passwd"

# Every program runs in a cgroup of its own: whatever it leaves behind is ended with it. What
# programs and preparations set is set back. Huge pages: what run_vmtests.sh asks for.
FUNCTIONS = """\
GROUP=/sys/fs/cgroup/kselftest
fresh() {
	echo 3 >/proc/sys/vm/drop_caches
	echo 1 >/proc/sys/vm/compact_memory
	echo 128 >/proc/sys/vm/nr_hugepages
	echo 0 >/proc/sys/vm/overcommit_memory
	echo always >/sys/kernel/mm/transparent_hugepage/enabled
	echo 1 >/sys/kernel/mm/ksm/smart_scan
}
attempt() { # LIMIT PREPARATION DIRECTORY COMMAND
	limit=$1 prepare=$2 directory=$3; shift 3
	mkdir -p $GROUP
	fresh
	eval "$prepare"
	read before rest </proc/uptime
	(
		echo 0 >$GROUP/cgroup.procs
		cd "$directory" && exec env $BY_LINES timeout -k 5 "$limit" "$@"
	) </dev/null
	status=$?
	read after rest </proc/uptime
	echo 1 >$GROUP/cgroup.kill
	while ! rmdir $GROUP 2>/dev/null; do sleep 0.1; done
	printf '\\n# swathe: seconds %s %s\\n' $before $after
	return $status
}
"""


# The job of guests that run these entries.
Work = Callable[[Sequence[Entry]], initramfs.Job]


@dataclass(frozen=True)
class KselftestRequest:
    kernel: build.KernelRequest
    entries: tuple[Entry, ...]
    cpus: int
    boot: str
    whole: bool = True
    keep: bool = False
    clock: Clock = Clock.COUNTED

    @property
    def processors(self) -> int:
        """mm/migration wants two threads beside its own, each on a processor."""
        return max(self.cpus, 3)


def system(target: Arch) -> foreign.Root | None:
    """Where the libraries of a foreign architecture are; None: those of the host serve."""
    return foreign.root(target, PACKAGES) if target.foreign else None


def build_programs(built: build.BuiltKernel, root: foreign.Root | None) -> dict[str, Path]:
    """All programs of the targets that any entry wants: they are built together."""
    entries = listing.load().entries
    targets = tuple(dict.fromkeys(builds.target(entry.program) for entry in entries))
    extra = {entry.program: entry.include for entry in entries if entry.include}
    headers = build.user_headers(built)
    top = root.path if root else Path("/")
    return builds.build(builds.Tree(built.tree, headers, targets, built.target, top), extra)


def line(number: int, entry: Entry, processors: int) -> str:
    """What the guest's script does for one entry; sections are named by number."""
    path = DISK / entry.program
    last = ["taskset", f"{1 << (processors - 1):x}"] if entry.polls else []
    command = shlex.join([*last, f"./{path.name}", *entry.args])
    where = f"{entry.limit} {shlex.quote(entry.prepare)} {path.parent}"
    return f"report {PART} {number} {entry.program} -- attempt {where} {command}"


def job(
    entries: Sequence[Entry], built: dict[str, Path], processors: int,
    root: foreign.Root | None = None,
) -> initramfs.Job:  # fmt: skip
    """The initramfs of all guests that run these entries."""
    wanted = {entry.program: built[entry.program] for entry in entries}
    lines = [
        USERS,
        *(f"cp -r /{target} {DISK}" for target in dict.fromkeys(map(builds.target, wanted))),
        f"report switch -- cat {SWITCH}/enabled",
        *(line(number, entry, processors) for number, entry in enumerate(entries)),
        f"report switch -- cat {SWITCH}/enabled",
        f"report stat -- cat {SWITCH}/stat",
    ]
    files = {f"/{name}": path for name, path in wanted.items()}
    loaded = foreign_libraries(wanted.values(), root) if root else libraries(wanted.values())
    return session.job([BY_LINES, FUNCTIONS, *lines], {**loaded, **files})


def foreign_libraries(programs: Iterable[Path], root: foreign.Root) -> dict[str, Path]:
    """The same as libraries(), of a foreign architecture."""
    unwinder = root.find(UNWINDER)
    found = {str(STDBUF): root.path / STDBUF.relative_to("/"), f"/lib/{UNWINDER}": unwinder}
    for path in programs:
        found |= root.libraries(path)
    return found


def libraries(programs: Iterable[Path]) -> dict[str, Path]:
    """What the programs are loaded with, and what the C library loads later."""
    found = {str(STDBUF): STDBUF}
    for path in programs:
        found |= initramfs.libraries(path)
    for name in [Path(name) for name in found]:
        if name.name == "libc.so.6" and (unwinder := name.with_name(UNWINDER)).exists():
            found[str(unwinder)] = unwinder.resolve()
    return found


def processor(target: Arch) -> str:
    """Return QEMU's -cpu: x86-64 clears memory in less time with short strings."""
    return target.cpu if target.foreign else target.short_strings


def boot(
    request: KselftestRequest, built: build.BuiltKernel, work: initramfs.Job, name: str,
    stop: threading.Event,
) -> Transcript:  # fmt: skip
    """Boot a guest with swathe off or on. What a lost one had said is kept."""

    def begins(words: sections.Words) -> None:
        if words[0] == PART:
            ui.note(f"  {name}: {request.entries[int(words[1])].name}")

    limit = BOOT_TIME + sum(entry.limit + 30 for entry in request.entries)
    words = f"unmap={SWITCHES[name]} {vm.TWO_NODES} {request.boot}".strip()
    machine = replace(
        vm.checking(built, request.processors, limit, words, clock=request.clock),
        memory=MEMORY, cpu=processor(built.target),
    )  # fmt: skip
    heard = session.run(machine, work, f"{PART}-{name}", sections.Reader(begins=begins), stop)
    if heard.lost:
        stop.set()
    return heard.whole() if isinstance(heard.ending, vm.Exit) else heard


def both(
    request: KselftestRequest, built: build.BuiltKernel, work: initramfs.Job
) -> tuple[Transcript, Transcript]:
    """The two guests, side by side. A lost one ends the other."""
    tasks = [parallel.Task(partial(boot, request, built, work, name)) for name in SWITCHES]
    off, on = parallel.run(tasks, len(tasks))
    return off, on


def outcomes(heard: Transcript, entries: Sequence[Entry]) -> dict[int, ProgramRun]:
    """The programs that ended, by number."""
    ended = [item for item in heard.of(PART) if item.status is not None]
    return {
        int(item.words[1]): cases.read(item, entries[int(item.words[1])].limit) for item in ended
    }


def pairs(entries: Sequence[Entry], off: Transcript, on: Transcript) -> list[Comparison]:
    a, b = outcomes(off, entries), outcomes(on, entries)
    return [Comparison(entry.name, a.get(n), b.get(n)) for n, entry in enumerate(entries)]


def counters(heard: Transcript) -> dict[str, int]:
    """mm/unmap's own counters at the guest's end."""
    lines = [line for item in heard.of("stat") for line in item.lines]
    words = [line.split() for line in lines]
    return {item[0]: int(item[1]) for item in words if len(item) == 2 and item[1].isdigit()}


def switched(name: str, heard: Transcript, whole: bool = True) -> Test:
    """That a guest was what its name says, all the way: else nothing was compared.

    Not every single program makes anything be evicted, but all together do.
    """
    zero = name == "off"
    masks = [int(item.text, 0) for item in heard.of("switch")]
    right = len(masks) == 2 and all((mask == 0) is zero for mask in masks)
    runs = counters(heard).get("evict_runs", -1)
    right = right and (runs == 0 if zero else runs >= whole)
    verdict = Verdict.PASSED if right else Verdict.FAILED
    return Test(f"{PART}: swathe was {name}", verdict, f"masks {masks}, evict_runs {runs}")


def switches(off: Transcript, on: Transcript, whole: bool = True) -> list[Test]:
    return [switched("off", off), switched("on", on, whole)]


def missing(
    entries: Sequence[Entry], built: build.BuiltKernel, made: dict[str, Path]
) -> list[Test]:
    """Entries that do not run: not for this kernel, not in it, or they do not compile."""
    found = []
    for entry in entries:
        source = built.tree / builds.SELFTESTS / f"{entry.program}.c"
        name = f"{PART} {entry.name}"
        if not entry.is_for(built.version):
            text = f"not on Linux {built.version}: {listing.FILE.name} says why"
            found.append(Test(name, Verdict.SKIPPED, text))
        elif entry.program in made:
            continue
        elif source.is_file():
            found.append(Test(name, Verdict.FAILED, "it does not compile"))
        else:
            text = f"Linux {built.version} does not have it"
            found.append(Test(name, Verdict.SKIPPED, text))
    return found


def run(request: KselftestRequest) -> list[Test]:
    """Build, run all with swathe on, and what is not as recorded with swathe off, too."""
    built = build.build(request.kernel)
    root = system(built.target)
    made = build_programs(built, root)
    absent = missing(request.entries, built, made)
    out = {test.name for test in absent}
    entries = tuple(
        entry.given(built.target.patience)
        for entry in request.entries if f"{PART} {entry.name}" not in out
    )  # fmt: skip
    ran = replace(request, entries=entries)
    work = partial(job, built=made, processors=request.processors, root=root)
    known = stock.load(request.kernel, built)
    if request.keep or not known.tests:
        return [*absent, *side_by_side(ran, built, work, known)]
    tests, left = against_record(ran, built, work, known)
    if left:
        ran = replace(ran, entries=left, whole=False)
        tests += side_by_side(ran, built, work, known)
    return [*absent, *tests]


def against_record(
    request: KselftestRequest, built: build.BuiltKernel, work: Work, known: StockRecord
) -> tuple[list[Test], tuple[Entry, ...]]:
    """Run all with swathe on; return the verdicts, and the entries that are not as recorded."""
    ui.note(f"booting Linux {built.version} for {len(request.entries)} of the kernel's own tests")
    task = parallel.Task(partial(boot, request, built, work(request.entries), "on"))
    (on,) = parallel.run([task], 1)
    catalogue = listing.load().on(built.target.name)
    heard = outcomes(on, request.entries)
    found = [
        Comparison(entry.name, known.run_of(entry), heard.get(number))
        for number, entry in enumerate(request.entries)
    ]
    odd = {pair.name for pair in found if not pair.off or judge.differing(pair, catalogue)}
    tests = [
        test for pair in found if pair.name not in odd for test in judge.judge(pair, catalogue)
    ]
    if on.lost:
        raise which(on.lost, {"on": on}, tests)
    left = tuple(entry for entry in request.entries if entry.name in odd)
    return [*tests, switched("on", on, request.whole)], left


def side_by_side(
    request: KselftestRequest, built: build.BuiltKernel, work: Work, known: StockRecord
) -> list[Test]:
    """Run the entries with swathe off and on, and compare."""
    entries = request.entries
    ui.note(f"booting Linux {built.version} twice for {len(entries)} of the kernel's own tests")
    off, on = both(request, built, work(entries))
    catalogue = listing.load().on(built.target.name)
    found = confirm(request, built, work, pairs(entries, off, on), catalogue)
    where = environment.look(built, request.processors, MEMORY)
    # docs/results has the usual kernel.
    judge.record(found, catalogue, where, request.keep and not request.kernel.variant)
    tests = [test for pair in found for test in judge.judge(pair, catalogue)]
    for pair in found:
        judge.tell_passing(pair, catalogue)
    if lost := [heard.lost for heard in (off, on) if heard.lost]:
        raise which(lost[0], {"off": off, "on": on}, tests)
    tests += switches(off, on, request.whole)
    renew(request, built, known, found, verdicts.count(tests).failed)
    return tests


def renew(
    request: KselftestRequest, built: build.BuiltKernel, known: StockRecord,
    found: Sequence[Comparison], failed: int,
) -> None:  # fmt: skip
    """Record what stock said, if asked and if nothing failed; else say where a record is old."""
    every = listing.load()
    if not request.keep:
        if known.tests:
            stock.tell_outdated(known, found, request.entries, every.on(built.target.name))
    elif failed:
        ui.result(f"stock's verdicts are not recorded: {ui.plural(failed, 'test')} failed")
    else:
        record = stock.renewed(known, found, request.entries, every.entries)
        stock.write(stock.path(request.kernel, built), record)


def confirm(
    request: KselftestRequest,
    built: build.BuiltKernel,
    work: Work,
    found: list[Comparison],
    catalogue: Catalogue,
) -> list[Comparison]:
    """Run programs again whose verdicts differ; return the later comparison of each."""
    first = {pair.name: judge.differing(pair, catalogue) for pair in found}
    entries = tuple(entry for entry in request.entries if first[entry.name])
    if not entries:
        return found
    for entry in entries:
        ui.result(f"differs, and runs again: {entry.name} ({first[entry.name]})")
    off, on = both(replace(request, entries=entries), built, work(entries))
    if off.lost or on.lost:
        return found
    again = pairs(entries, off, on)
    later = {pair.name: structs.replace(pair, before=first[pair.name]) for pair in again}
    return [later.get(pair.name, pair) for pair in found]


def which(error: VmLost, guests: Mapping[str, Transcript], tests: list[Test]) -> VmLost:
    """The same error with the program that was running, after the failures known by then."""
    for test in tests:
        if test.verdict is Verdict.FAILED:
            ui.result(f"failed before the end: {test.name} ({test.detail})")
    where = [
        f"swathe {name}, in {' '.join(heard.unfinished.words[2:])}"
        for name, heard in guests.items() if heard.lost and heard.unfinished
    ]  # fmt: skip
    return VmLost(f"{error} ({'; '.join(where) or 'before the first test'})")
