# SPDX-License-Identifier: GPL-2.0-only
"""Check the model of how page tables are freed and dropped (docs/model) with SPIN, in all states.

With all rules in force, no pair of actors may reach an error. Without a rule, a pair that needs
it must reach the error that the rule prevents. A statement that no pair reaches is a mistake in
the model, too: nothing is proved about it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path

from swathe.base import parallel, process, ui
from swathe.base.errors import CheckFailed
from swathe.base.paths import ROOT, scratch
from swathe.base.verdicts import Test, Verdict

PART = "model"
MODEL = ROOT / "docs" / "model" / "tables.pml"
# The actors, in the order of their numbers in the model.
ACTORS = (
    "fault",
    "free",
    "gup",
    "evict",
    "collapse",
    "fork",
    "mremap",
    "collapse_file",
    "drop",
    "munmap",
)
PAIRS = tuple(combinations_with_replacement(ACTORS, 2))
LIMIT = 600
MEGABYTES = 3000
# The maximum search depth in steps, and the size of the hash table of states as a power of two.
DEPTH, STATES = 10_000, 22
# A search that ends at the first error is short: optimising would double the total time.
QUICK, THOROUGH = "-O0", "-O1"

ERRORS = re.compile(r"errors: (\d+)$", re.MULTILINE)
STORED = re.compile(r"^\s*(\d+) states, stored$", re.MULTILINE)
SECONDS = re.compile(r"^pan: elapsed time (\S+) seconds$", re.MULTILINE)
SAID = re.compile(r"^pan:\d+: (.*?)(?: \(at depth \d+\))?$", re.MULTILINE)
# If an incomplete search finds no error, that proves nothing.
CUT = re.compile(r"not completed|depth too small|MEMLIM bound|out of memory", re.IGNORECASE)
PROCESS = re.compile(r"^unreached in proctype (\w+)$")
STATEMENT = re.compile(r':(\d+), state (\d+), "(.*)"$')
# Processes that serve the others never end.
ENDLESS = "-end-"


@dataclass(frozen=True)
class Rule:
    """A rule, the macro that disables it, the pair that needs it, and the error without it.

    If there are several errors, the order of the pair decides which one is found first.
    """

    name: str
    macro: str
    pair: tuple[str, str]
    sign: str


RULES = (
    Rule("recheck.fault", "NO_RECHECK", ("fault", "free"), "!(entry["),
    Rule("rcu.fault", "NO_RCU", ("fault", "free"), "kind[table]"),
    Rule("rcu.gup", "NO_RCU", ("gup", "free"), "kind[table]"),
    Rule("flush", "NO_FLUSH", ("fault", "free"), "walk[0]"),
    Rule("early_flush", "LATE_FLUSH", ("fault", "free"), "walk[0]"),
    Rule("scan", "NO_SCAN", ("free", "fault"), "!(entry["),
    Rule("mmap_lock.mremap", "NO_MMAP_LOCK", ("free", "mremap"), "!(entry["),
    Rule("mmap_lock.rollback", "SECOND_LOOK", ("free", "mremap"), "from==0"),
    Rule("mmap_lock.collapse", "NO_MMAP_LOCK", ("free", "collapse"), "table!=0"),
    Rule("mmap_lock.fork", "NO_MMAP_LOCK", ("free", "fork"), "pmd[slot]==table"),
    Rule("mmap_trylock", "MMAP_WAIT", ("free", "mremap"), "invalid end state"),
    Rule("cleared", "NO_CLEARED", ("fault", "free"), "lost<2"),
    Rule("pmd_lock", "LATE_PMD_LOCK", ("free", "collapse_file"), "pmd[slot]==table"),
    Rule("pmd_reread", "NO_PMD_REREAD", ("gup", "collapse"), "!(gone["),
    Rule("lock_order", "WRONG_ORDER", ("free", "free"), "invalid end state"),
    Rule("pmd_trylock", "PMD_WAIT", ("free", "free"), "invalid end state"),
    Rule("one_hold", "DROPPED_PASS", ("fault", "free"), "!(entry["),
    Rule("entry_reread", "NO_ENTRY_REREAD", ("gup", "drop"), "!(gone["),
    Rule("drop.judge", "JUDGED_BEFORE", ("fault", "drop"), "special"),
    Rule("drop.strays", "NO_STRAYS", ("drop", "munmap"), "special"),
    Rule("drop.flush", "RELEASE_FIRST", ("gup", "drop"), "tlb[0]"),
    Rule("drop.one_hold", "DROPPED_LOCK", ("evict", "drop"), "!=3"),
    Rule("drop.release", "UNHOOK_FIRST", ("free", "drop"), "mapped["),
    Rule("drop.scan", "NO_SCAN", ("fault", "drop"), "!(entry["),
    Rule("drop.mmap_lock", "NO_MMAP_LOCK", ("mremap", "drop"), "!(entry["),
    Rule("drop.mmap_trylock", "MMAP_WAIT", ("mremap", "drop"), "invalid end state"),
)


@dataclass(frozen=True)
class SearchOutcome:
    """The result of a search; incomplete is why it proves nothing, or empty."""

    errors: int = 0
    states: int = 0
    seconds: float = 0
    said: str = ""
    incomplete: str = ""
    unreached: frozenset[str] = frozenset()


def run() -> list[Test]:
    with scratch(PART) as stage:
        macros = sorted({"", *(rule.macro for rule in RULES)})
        made = parallel.each(lambda macro: make(macro, stage), macros)
        programs = dict(zip(macros, made, strict=True))
        wanted = [
            *((programs[""], pair) for pair in PAIRS),
            *((programs[rule.macro], rule.pair) for rule in RULES),
        ]
        outcomes = parallel.each(lambda search: explore(*search), wanted, MEGABYTES << 20)
    return [*with_all(outcomes[: len(PAIRS)]), *without(outcomes[len(PAIRS) :])]


def judge(name: str, complaint: str) -> Test:
    return Test(f"{PART}.{name}", Verdict.FAILED if complaint else Verdict.PASSED, complaint)


def with_all(outcomes: Sequence[SearchOutcome]) -> Iterator[Test]:
    """Test every pair with all rules: no error may be found, every statement must be reached."""
    for pair, outcome in zip(PAIRS, outcomes, strict=True):
        yield judge("+".join(pair), found(outcome))
    yield judge("reached", never_reached(outcomes))


def without(outcomes: Sequence[SearchOutcome]) -> Iterator[Test]:
    """Test each rule: without it, the search must find the error that it prevents."""
    for rule, outcome in zip(RULES, outcomes, strict=True):
        yield judge(f"without.{rule.name}", missed(rule, outcome))


def make(macro: str, stage: Path) -> Path:
    """Compile the search program for the model without the macro's rule, for any pair."""
    place = stage / (macro or "all")
    place.mkdir()
    words = ["spin", "-a", *([f"-D{macro}"] if macro else []), str(MODEL)]
    process.check(words, "reading the model", cwd=place)
    optimise = QUICK if macro else THOROUGH
    options = ["-w", "-DSAFETY", "-DNOCLAIM", f"-DMEMLIM={MEGABYTES}"]
    compiler = ["gcc", optimise, *options, "-o", "pan", "pan.c"]
    process.check(compiler, "compiling the search", cwd=place)
    return place / "pan"


def explore(program: Path, pair: tuple[str, str]) -> SearchOutcome:
    """Search all states, or up to the first error."""
    words = [str(program), f"-m{DEPTH}", f"-w{STATES}"]
    numbers = {
        name: str(ACTORS.index(actor))
        for name, actor in zip(("FIRST", "SECOND"), pair, strict=True)
    }
    try:
        outcome = parse(process.run(words, cwd=program.parent, env=numbers, timeout=LIMIT).output)
    except CheckFailed as error:
        outcome = SearchOutcome(incomplete=str(error))
    ui.note(f"  {'+'.join(pair)}: {outcome.states} states, {outcome.seconds:.0f} s")
    return outcome


def parse(text: str) -> SearchOutcome:
    """Parse the summary that the search prints at its end."""
    errors, cut = ERRORS.search(text), CUT.search(text)
    if not errors:
        return SearchOutcome(incomplete=f"the search did not end: {process.last_line(text)}")
    said, stored, seconds = SAID.search(text), STORED.search(text), SECONDS.search(text)
    return SearchOutcome(
        int(errors[1]),
        int(stored[1]) if stored else 0,
        float(seconds[1]) if seconds else 0,
        said[1] if said else "",
        "" if not cut or int(errors[1]) else f"the search was cut short: {cut[0]}",
        frozenset(unreached(text)),
    )


def unreached(text: str) -> Iterator[str]:
    """Yield the statements that the search did not reach, with their lines."""
    proctype = ""
    for line in text.splitlines():
        if heading := PROCESS.match(line):
            proctype = heading[1]
        elif (statement := STATEMENT.search(line)) and statement[3] != ENDLESS:
            where, state, what = statement.groups()
            yield f"{MODEL.name}:{where}, {proctype}, state {state}: {what}"


def found(outcome: SearchOutcome) -> str:
    """Return the error found with all rules in force, or an empty string."""
    if outcome.errors:
        return outcome.said or "an error"
    return outcome.incomplete


def missed(rule: Rule, outcome: SearchOutcome) -> str:
    """Return what is wrong with a search without the rule, or an empty string."""
    if outcome.incomplete:
        return outcome.incomplete
    if not outcome.errors:
        return f"no error without the rule in {outcome.states} states"
    return "" if rule.sign in outcome.said else f"found another error: {outcome.said}"


def never_reached(outcomes: Iterable[SearchOutcome]) -> str:
    """Return the statements that no search reached; incomplete searches do not count."""
    made = [outcome.unreached for outcome in outcomes if not outcome.incomplete]
    if not made:
        return "no search was completed"
    return "; ".join(sorted(frozenset.intersection(*made)))
