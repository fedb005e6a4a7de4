# SPDX-License-Identifier: GPL-2.0-only
"""Judge what a scene's program and its gates have seen."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from swathe.base.verdicts import Test, Verdict
from swathe.check import broken
from swathe.guest import kernel_log
from swathe.guest.sections import Section
from swathe.guest.session import Transcript
from swathe.kernel import mutants
from swathe.kernel.arch import X86_64
from swathe.kernel.build import BuiltKernel
from swathe.race import gates
from swathe.race.gates import Report, Seen
from swathe.race.scene import BEGINS, Scene

ROUNDS = re.compile(r"rounds (\d+) wrong (\d+)")


@dataclass(frozen=True)
class Witness:
    """What a guest and the plugin have said; report: None without gates."""

    transcript: Transcript
    report: Report | None
    built: BuiltKernel


@dataclass(frozen=True)
class Outcome:
    """How often a program saw what must not be; said: the first time."""

    way: str
    rounds: int
    wrong: int
    said: str = ""


@dataclass(frozen=True)
class Played:
    """What came of a scene: of the kernel as it is, and with each mutant.

    report: of the kernel as it is
    mutants: those that were to be tried
    again: what came of more guests, because gates were not opened in each round
    blamed: the kernel's first error message names mm/unmap, or says what the last mutant must cause
    """

    name: str
    scene: Scene
    wanted: int
    outcomes: tuple[Outcome, ...]
    report: Report | None
    complaint: str
    lost: str
    arch: str = X86_64.name
    mutants: tuple[str, ...] = ()
    blamed: bool = False
    again: "tuple[Played, ...]" = ()

    @property
    def plain(self) -> Outcome | None:
        """What came of the kernel as it is."""
        return next((found for found in self.outcomes if not found.way), None)

    @property
    def gates(self) -> tuple[Seen, ...]:
        """What the gates have seen in all guests."""
        reports = [one.report for one in (self, *self.again) if one.report]
        return tuple(map(gates.together, zip(*(report.gates for report in reports), strict=True)))


def judged(name: str, scene: Scene, rounds: int, heard: Witness) -> Played:
    complaints = kernel_log.find(heard.transcript.console)
    return Played(
        name, scene, rounds, tuple(map(outcome, heard.transcript.sections)), heard.report,
        complaints[0] if complaints else "", str(heard.transcript.lost or ""),
        heard.built.target.name, blamed=is_blamed(heard),
    )  # fmt: skip


def is_blamed(heard: Witness) -> bool:
    """An untouched kernel has no mm/unmap that could be blamed, nor one that was not built here."""
    if not heard.built.config_hash or heard.built.options.get("CONFIG_UNMAP") != "y":
        return False
    report = kernel_log.first_report(heard.transcript.console)
    last = heard.transcript.sections[-1].words[-1] if heard.transcript.sections else ""
    says = next((one.says for one in mutants.load() if one.name == last), "")
    return bool(report) and broken.blames(report, says, heard.built)


def outcome(section: Section) -> Outcome:
    """Return what a program said in the end; nothing if it did not come to that."""
    way = section.words[1] if section.words[0] == "mutant" else ""
    ends = [match for line in section.lines if (match := ROUNDS.fullmatch(line))]
    said = next((line[2:] for line in section.lines if line.startswith("# ")), "")
    if not ends and section.status is None:
        return Outcome(way, 0, 0, said or "the guest ended")
    if not ends:
        return Outcome(way, 0, 0, said or f"the program ended with status {section.status}")
    return Outcome(way, int(ends[0][1]), int(ends[0][2]), said)


def tests(played: Played) -> Iterator[Test]:
    """Judge the kernel as it is, the gates, and each mutant that was tried."""
    name = f"race {played.name}"
    tried = [found for found in played.outcomes if found.way]
    failed = [fault for one in (played, *played.again) for fault in faults(one)]
    failed += missed(played)
    verdict = Verdict.FAILED if failed else Verdict.PASSED
    yield Test(name, verdict, "; ".join(failed))
    for found in tried:
        yield judge_mutant(name, found, played)
    for way in sorted({*played.mutants} - {found.way for found in tried}):
        yield Test(f"{name} {way}", Verdict.FAILED, "not tried: the guest had ended")


def faults(played: Played) -> Iterator[str]:
    """What is wrong with the kernel as it is, in one guest."""
    plain = played.plain
    if plain is None:
        yield f"the program did not run: {played.lost or played.complaint}"
    elif plain.rounds != played.wanted:
        yield f"{plain.rounds} of {played.wanted} rounds: {played.complaint or plain.said}"
    elif plain.wrong:
        yield f"{plain.wrong} of {plain.rounds} rounds came out wrong: {plain.said}"
    elif played.complaint and len(played.outcomes) == 1:
        yield played.complaint


def missed(played: Played) -> Iterator[str]:
    """Gates that did not do what they are for in as many rounds as were wanted."""
    for seen in played.gates:
        gates_there = played.scene.gates(played.arch)
        gate = next(gate for gate in gates_there if gate.name == seen.name)
        if seen.misplaced:
            yield f"gate {seen.name}: an offset of {gate.stop} or {gate.until} is no instruction"
        elif not seen.hits:
            yield f"gate {seen.name}: processor {gate.cpu} never came to {gate.stop}"
        elif not seen.openings:
            yield f"gate {seen.name}: nobody opened it: {', '.join(gate.until)} was not executed"
        elif seen.rounds < played.wanted:
            yield (
                f"gate {seen.name}: opened in {seen.rounds} rounds instead of {played.wanted} "
                f"({seen.hits} hits, {seen.late} late)"
            )
        elif seen.standing:
            yield f"the guest ended while a processor stood at gate {seen.name}"


def is_short(played: Played) -> bool:
    """Whether all that is missed is a gate that was opened in some rounds, but not in enough."""
    short = [seen for seen in played.gates if seen.rounds < played.wanted]
    if any(fault for one in (played, *played.again) for fault in faults(one)):
        return False
    return bool(short) and all(seen.openings and not seen.standing for seen in short)


def with_more(played: Played, more: Played) -> Played:
    """Return what came of one guest more."""
    return replace(played, again=(*played.again, more))


def judge_mutant(name: str, found: Outcome, played: Played) -> Test:
    """A mutant is found if a round came out wrong, or the kernel complained of mm/unmap."""
    seen = found.wrong or (not found.rounds and played.blamed)
    verdict = Verdict.PASSED if seen else Verdict.FAILED
    return Test(f"{name} {found.way}", verdict, "" if seen else "not found")


def hits(played: Played) -> str:
    """Return how many rounds met their window, for a message."""
    if not played.report:
        return "without gates"
    reports = [one.report for one in (played, *played.again) if one.report]
    rounds = sum(report.rounds for report in reports)
    seen = [gate for gate in played.gates if gate.name != BEGINS]
    return ", ".join(
        f"gate {gate.name}: {gate.hits} hits, {gate.openings} openings, "
        f"in {gate.rounds} of {rounds} rounds"
        for gate in seen
    )
