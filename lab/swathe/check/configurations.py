# SPDX-License-Identifier: GPL-2.0-only
"""In which configurations mm/unmap compiles without a warning, and its tests pass.

configurations.toml lists them. Some are only compiled: distributions', other architectures,
with and without page tables given back. Others are debug kernels with one thing otherwise,
which are built and booted, and all tests are run in them. A flavor that claims to have a
distribution's options is compared with that distribution's file.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec import Struct, field

from swathe.base import reading, release, results, table, ui, verdicts
from swathe.base.errors import CheckFailed, VmLost
from swathe.base.table import Table
from swathe.base.verdicts import Test, Verdict
from swathe.check import compared, compile_warnings, selftest_guests, selftests
from swathe.check.compared import ComparedEntry
from swathe.check.compile_warnings import Compilation, Cross
from swathe.kernel import build, config, debian_config, hooks, source, tree
from swathe.kernel.hooks import Hook
from swathe.kernel.source import Source
from swathe.kernel.version import in_range

PART = "configs"
FILE = Path(__file__).with_name("configurations.toml")
COMPARED, COMPILED, BOOTED = "compared", "compiled", "booted"
KINDS = (COMPARED, COMPILED, BOOTED)
OLDEST = "6.12"
BOTH = "both"
HEADER = ("configuration", "was", "verdict", "seconds", "what it has", "swathe")
# What is said about a configuration, and the tests that it was.
Outcome = tuple[str, list[Test]]


class CompiledEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A configuration that is compiled in, as configurations.toml has it."""

    name: str
    arch: str
    start: str
    why: str
    options: tuple[str, ...] = ()
    tables: str = ""
    targets: tuple[str, ...] = ()


class Variant(Struct, frozen=True, forbid_unknown_fields=True):
    """A configuration that is booted: its fragment is configs/variants/NAME.config.

    max: the kernels below it can be configured like this.
    arch: the architecture that has it, if that is another one than was asked for.
    programs: the system-call tests that can run there, if not all.
    """

    name: str
    why: str
    cpus: int = 0
    max: str = ""
    arch: str = ""
    programs: tuple[str, ...] | None = None


class Configurations(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of configurations.toml."""

    arches: dict[str, Cross] = field(name="arch")
    compiled: tuple[CompiledEntry, ...]
    booted: tuple[Variant, ...]
    compared: tuple[ComparedEntry, ...] = ()

    def names(self) -> list[str]:
        """What can be named on the command line beside the part itself."""
        return [f"{PART}/{name}" for name in (*KINDS, *self.single())]

    def single(self) -> list[str]:
        """The name of each configuration."""
        return [
            item.name for items in (self.compared, self.compiled, self.booted) for item in items
        ]

    def chosen(self, names: Iterable[str]) -> "Configurations":
        """What names mean: the part, one of its lists, or single configurations."""
        wanted = set(names)

        def of(kind: str, name: str) -> bool:
            return bool(wanted & {PART, f"{PART}/{kind}", f"{PART}/{name}"})

        return Configurations(
            self.arches,
            tuple(item for item in self.compiled if of(COMPILED, item.name)),
            tuple(item for item in self.booted if of(BOOTED, item.name)),
            tuple(item for item in self.compared if of(COMPARED, item.name)),
        )


@dataclass(frozen=True)
class ConfigurationsRequest:
    """guest: how what is booted is booted, all its tests included."""

    catalogue: Configurations
    guest: selftests.SelftestRequest
    keep: bool = False

    @property
    def wanted(self) -> bool:
        return bool(self.catalogue.single())


@dataclass(frozen=True)
class ConfigurationRow:
    """How one configuration fared. commit: which swathe that was."""

    name: str
    kind: str
    why: str
    good: bool
    said: str
    seconds: float
    commit: str = ""

    def cells(self) -> tuple[str, ...]:
        verdict = self.said if self.good else f"FAILED: {self.said}"
        seconds = f"{self.seconds:.0f}"
        return (self.name, self.kind, verdict, seconds, self.why, self.commit)


Rows = list[ConfigurationRow]


def parse(text: str) -> Configurations:
    """Unknown keys are errors: a misspelt one would do nothing."""
    found = reading.convert(reading.toml(text, FILE.name), Configurations, FILE.name)
    names = found.single()
    for name in names:
        if names.count(name) != 1 or name in KINDS:
            raise CheckFailed(f"{FILE.name}: the name {name!r} is taken")
    if missing := {entry.name for entry in found.compared} - set(config.FLAVORS):
        raise CheckFailed(f"{FILE.name}: there is no flavor {', '.join(sorted(missing))}")
    for entry in found.compiled:
        if entry.arch not in found.arches or entry.tables not in ("", BOTH):
            raise CheckFailed(f"{FILE.name}: {entry.name}: no such arch, or tables is not {BOTH!r}")
    if missing := {item.name for item in found.booted} - set(config.variants()):
        raise CheckFailed(f"{FILE.name}: configs/variants has no {', '.join(sorted(missing))}")
    return found


def load() -> Configurations:
    return parse(FILE.read_text())


def jobs(entry: CompiledEntry, cross: Cross) -> list[Compilation]:
    """One configuration, or two: with page tables given back and without."""
    job = Compilation(entry.name, cross, entry.start, entry.options, None, entry.targets)
    if entry.tables != BOTH:
        return [job]
    return [replace(job, tables=True), replace(job, tables=False)]


def run(request: ConfigurationsRequest) -> list[Test]:
    """What is compared, then what is compiled, then what is booted; recorded one by one."""
    kernel = request.guest.kernel
    got = source.get(kernel.kernel, kernel.source)
    rows: list[ConfigurationRow] = []
    found: list[Test] = []
    every = chain(compare_all(request, got), compile_all(request, got), boot_all(request, got))
    for row, tests in every:
        path = record(str(got.version), [row], request.keep)
        rows.append(row)
        found += tests
    ui.out.print(table.terminal(summary(rows), wrap=True))
    ui.note(f"results: {path}")
    return found


def timed(
    name: str, kind: str, why: str, attempt: Callable[[], Outcome]
) -> tuple[ConfigurationRow, list[Test]]:
    """One configuration; that one fails is no reason not to try the others."""
    ui.note(f"{kind}: {name}")
    began = time.monotonic()
    try:
        said, tests = attempt()
    except (CheckFailed, VmLost) as error:
        said = str(error).split(";")[0]  # then comes a path, which is nobody else's
        tests = [Test(f"{PART} {name}", Verdict.FAILED, str(error))]
    good = all(test.verdict is not Verdict.FAILED for test in tests)
    return ConfigurationRow(
        name, kind, why, good, said, time.monotonic() - began, release.commit()
    ), tests


def compare_all(
    request: ConfigurationsRequest, got: Source
) -> Iterator[tuple[ConfigurationRow, list[Test]]]:
    for entry in request.catalogue.compared:
        attempt = partial(compare_one, request, entry, got)
        yield timed(entry.name, COMPARED, entry.why, attempt)


def compare_one(request: ConfigurationsRequest, entry: ComparedEntry, got: Source) -> Outcome:
    """Compare the options of a flavor with a distribution's file; nothing is compiled."""
    kernel = replace(request.guest.kernel, flavor=entry.name, arch=entry.arch, variant="")
    cross = request.catalogue.arches[entry.arch]
    ours = build.options(kernel, got)
    file = entry.start.removeprefix(compile_warnings.DEBIAN)
    theirs = debian_config.read(file, cross.debian, got, kernel.kernel)
    found = compared.compare(entry, got.tree, ours, config.parse(theirs.decode()))
    name = f"{PART} {entry.name}"
    same = f"{found.compared - found.exempt} of {found.compared} options are the same"
    if not found.wrong:
        return same, [Test(name, Verdict.PASSED)]
    tests = [Test(name, Verdict.FAILED, text) for text in found.wrong]
    return f"{len(tests)} options are not as they should be", tests


def compile_all(
    request: ConfigurationsRequest, got: Source
) -> Iterator[tuple[ConfigurationRow, list[Test]]]:
    """All of them in one tree, with its hooks."""
    entries = request.catalogue.compiled
    if not entries:
        return
    prepared = tree.prepare(got)
    chosen = hooks.fitting(hooks.load(), got.version)
    kernel = request.guest.kernel.kernel
    for entry in entries:
        for job in jobs(entry, request.catalogue.arches[entry.arch]):
            attempt = partial(compile_one, job, prepared.path, got, kernel, chosen)
            yield timed(job.label, COMPILED, entry.why, attempt)


def compile_one(
    job: Compilation, prepared: Path, got: Source, kernel: str, chosen: Sequence[Hook]
) -> Outcome:
    warnings = compile_warnings.compile_in(job, prepared, got, kernel, chosen)
    name = f"{PART} {job.label}"
    if not warnings:
        return "no warning", [Test(name, Verdict.PASSED)]
    plural = "" if len(warnings) == 1 else "s"
    return f"{len(warnings)} warning{plural}", [
        Test(name, Verdict.FAILED, text) for text in warnings
    ]


def boot_all(
    request: ConfigurationsRequest, got: Source
) -> Iterator[tuple[ConfigurationRow, list[Test]]]:
    for variant in request.catalogue.booted:
        attempt = partial(boot, request, variant, got)
        yield timed(variant.name, BOOTED, variant.why, attempt)


def guest(usual: selftests.SelftestRequest, variant: Variant) -> selftests.SelftestRequest:
    """How it is booted."""
    arch = variant.arch or usual.kernel.arch
    return replace(
        usual.in_kernel(replace(usual.kernel, variant=variant.name, arch=arch)),
        programs=usual.programs if variant.programs is None else variant.programs,
        cpus=variant.cpus or usual.cpus,
    )


def boot(request: ConfigurationsRequest, variant: Variant, got: Source) -> Outcome:
    """Build that kernel, and run all there is in it."""
    if not in_range(got.version, OLDEST, variant.max):
        said = f"Linux {got.version} cannot be configured like this"
        return said, [Test(f"{PART} {variant.name}", Verdict.SKIPPED, said)]
    tests = selftest_guests.run(guest(request.guest, variant))
    named = [replace(test, name=f"{PART} {variant.name}: {test.name}") for test in tests]
    return str(verdicts.count(tests)), named


def summary(rows: Sequence[ConfigurationRow]) -> Table:
    """What was compiled and booted, and how that went."""
    body = [row.cells()[:-1] for row in rows]
    return table.of_text(HEADER[:-1], body)


def order(catalogue: Configurations) -> list[tuple[str, str]]:
    """Kind and name of every row there can be."""
    labels = [
        job.label for entry in catalogue.compiled
        for job in jobs(entry, catalogue.arches[entry.arch])
    ]  # fmt: skip
    return [
        *((COMPARED, entry.name) for entry in catalogue.compared),
        *((COMPILED, label) for label in labels),
        *((BOOTED, variant.name) for variant in catalogue.booted),
    ]


def record(version: str, rows: Sequence[ConfigurationRow], keep: bool) -> Path:
    """What was not tried now stays as it was found earlier."""

    def make(before: Rows | None) -> tuple[Rows, str]:
        known = {(row.kind, row.name): row for row in [*(before or ()), *rows]}
        kept = [known[key] for key in order(load()) if key in known]
        return kept, markdown(version, kept)

    return results.record(f"{PART}-{version}", keep, Rows, make)[-1]


def markdown(version: str, rows: Sequence[ConfigurationRow]) -> str:
    shown = table.markdown(table.of_text(HEADER, [row.cells() for row in rows]), table.as_it_is)
    head = (
        f"{results.SPDX}\n# Configurations, Linux {version}\n\n"
        "`./swathe test configs`: in which configurations mm/unmap, and the stock files that\n"
        "hooks change, compile at W=1 without a warning that is ours, and in which debug kernels\n"
        "KUnit and the system-call tests pass (all, if the column does not say which); and which\n"
        "flavors have the options of a distribution's file (compared). Seconds on a machine that\n"
        "did other things, too.\n"
    )
    return f"{head}\n{shown}\n"
