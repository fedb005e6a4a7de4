# SPDX-License-Identifier: GPL-2.0-only
"""Judge what a scene's program and its gates have seen."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from swathe.base.verdicts import Test, Verdict
from swathe.check import broken
from swathe.guest import kernel_log
from swathe.guest.sections import Section
from swathe.guest.session import Transcript
from swathe.kernel import mutants
from swathe.kernel.arch import X86_64
from swathe.kernel.build import BuiltKernel
from swathe.race.gates import Report
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


def judged(name: str, scene: Scene, rounds: int, heard: Witness) -> Played:
    complaints = kernel_log.find(heard.transcript.console)
    return Played(
        name, scene, rounds, tuple(map(outcome, heard.transcript.sections)), heard.report,
        complaints[0] if complaints else "", str(heard.transcript.lost or ""),
        heard.built.target.name, blamed=is_blamed(heard),
    )  # fmt: skip


def is_blamed(heard: Witness) -> bool:
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
    plain = next((found for found in played.outcomes if not found.way), None)
    tried = [found for found in played.outcomes if found.way]
    failed = [] if plain is None else list(faults(played, plain, bool(tried)))
    if plain is None:
        failed = [f"the program did not run: {played.lost or played.complaint}"]
    failed += missed(played)
    verdict = Verdict.FAILED if failed else Verdict.PASSED
    yield Test(name, verdict, "; ".join(failed))
    for found in tried:
        yield judge_mutant(name, found, played)
    for way in sorted({*played.mutants} - {found.way for found in tried}):
        yield Test(f"{name} {way}", Verdict.FAILED, "not tried: the guest had ended")


def faults(played: Played, plain: Outcome, tried: bool) -> Iterator[str]:
    """What is wrong with the kernel as it is. tried: mutants ran behind."""
    if plain.rounds != played.wanted:
        yield f"{plain.rounds} of {played.wanted} rounds: {played.complaint or plain.said}"
    elif plain.wrong:
        yield f"{plain.wrong} of {plain.rounds} rounds came out wrong: {plain.said}"
    elif played.complaint and not tried:
        yield played.complaint


def missed(played: Played) -> Iterator[str]:
    """Gates that did not do what they are for in each round."""
    for seen in played.report.gates if played.report else ():
        gates_there = played.scene.gates(played.arch)
        gate = next(gate for gate in gates_there if gate.name == seen.name)
        if seen.misplaced:
            yield f"gate {seen.name}: an offset of {gate.stop} or {gate.until} is no instruction"
        elif not seen.hits:
            yield f"gate {seen.name}: processor {gate.cpu} never came to {gate.stop}"
        elif not seen.openings:
            yield f"gate {seen.name}: nobody opened it: {', '.join(gate.until)} was not executed"
        elif seen.rounds < played.wanted:
            yield f"gate {seen.name}: opened in {seen.rounds} of {played.wanted} rounds"
        elif seen.standing:
            yield f"the guest ended while a processor stood at gate {seen.name}"


def judge_mutant(name: str, found: Outcome, played: Played) -> Test:
    """A mutant is found if a round came out wrong, or the kernel complained of mm/unmap."""
    seen = found.wrong or (not found.rounds and played.blamed)
    verdict = Verdict.PASSED if seen else Verdict.FAILED
    return Test(f"{name} {found.way}", verdict, "" if seen else "not found")


def hits(played: Played) -> str:
    """Return how many rounds met their window, for a message."""
    if not played.report:
        return "without gates"
    seen = [gate for gate in played.report.gates if gate.name != BEGINS]
    return ", ".join(
        f"gate {gate.name}: {gate.hits} hits, {gate.openings} openings, "
        f"in {gate.rounds} of {played.report.rounds} rounds"
        for gate in seen
    )
