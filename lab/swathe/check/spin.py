# SPDX-License-Identifier: GPL-2.0-only
"""Check the model of how page tables are freed and dropped (docs/model) with SPIN, in all states.

With all rules in force, no pair of actors may reach an error. Without a rule, a pair that needs
it must reach the error that the rule prevents. A statement that no pair reaches is a mistake in
the model, too: nothing is proved about it.

The model rarely changes, so docs/model/checked records what was searched without a complaint, as
a checksum of the model and of every command. While the checksum stays the same, so does the
result, and CI need not search again.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path

from swathe.base import parallel, process, ui
from swathe.base.errors import CheckFailed
from swathe.base.paths import ROOT, scratch, write_if_changed
from swathe.base.verdicts import Test, Verdict

PART = "model"
MODEL = ROOT / "docs" / "model" / "tables.pml"
CHECKED = MODEL.with_name("checked")
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
    "wait",
)
PAIRS = tuple(combinations_with_replacement(ACTORS, 2))
LIMIT = 3600
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
DIGEST = re.compile(r"^sha256 ([0-9a-f]{64})$", re.MULTILINE)
RECORD = """\
# SPDX-License-Identifier: GPL-2.0-only
# What "./swathe test model" has searched without a complaint, and writes here: a checksum of
# tables.pml and of all searches.
sha256 {digest}
spin {version}
states {states}
"""


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
    Rule("wait.leave", "NO_LEAVE", ("munmap", "wait"), "kind[2]==1"),
    Rule("wait.leave.free", "LATE_LEAVE", ("free", "wait"), "kind[2]==1"),
    Rule("wait.leave.collapse", "NO_LEAVE", ("collapse", "wait"), "kind[2]==1"),
    Rule("wait.place", "LIST_DROPPED", ("free", "wait"), "kind[picked]"),
    Rule("wait.scan", "NO_SCAN", ("fault", "wait"), "!(entry["),
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
    """Search everything; if there is no complaint, record that."""
    wanted = digest()
    outcomes = search()
    tests = judged(outcomes)
    if all(test.verdict is Verdict.PASSED for test in tests):
        record(wanted, sum(outcome.states for outcome in outcomes))
    return tests


def run_unless_recorded() -> list[Test]:
    """Search everything, unless the same was searched before without a complaint.

    Nothing is recorded here: results of CI name the commit, which must stay what it is.
    """
    wanted = digest()
    if recorded() == wanted:
        name = f"{PART}: unchanged since it was checked (sha256 {wanted[:12]})"
        return [Test(name, Verdict.PASSED)]
    ui.note(
        f"{CHECKED.name} is about another model: all is searched (./swathe test {PART} records)"
    )
    return judged(search())


def judged(outcomes: Sequence[SearchOutcome]) -> list[Test]:
    return [*with_all(outcomes[: len(PAIRS)]), *without(outcomes[len(PAIRS) :])]


def search() -> list[SearchOutcome]:
    """Return the outcomes of all pairs with all rules, then those of each rule."""
    with scratch(PART) as stage:
        macros = sorted({"", *(rule.macro for rule in RULES)})
        made = parallel.each(lambda macro: make(macro, stage), macros)
        programs = dict(zip(macros, made, strict=True))
        wanted = [(programs[macro], pair) for macro, pair, _ in searches()]
        return parallel.each(lambda each: explore(*each), wanted, MEGABYTES << 20)


def searches() -> Iterator[tuple[str, tuple[str, str], str]]:
    """Yield each search: the macro without whose rule, the pair, and the error to be found."""
    yield from (("", pair, "") for pair in PAIRS)
    yield from ((rule.macro, rule.pair, rule.sign) for rule in RULES)


def digest() -> str:
    """Return a checksum of the model, and of all that is done with it.

    The version of SPIN is left out: it is a tool, as the compiler is, and the lab takes what the
    host has.
    """
    found = hashlib.sha256(MODEL.read_bytes())
    for macro, pair, sign in searches():
        steps = [*commands(macro), explorer(Path("pan")), sorted(numbers(pair).items()), sign]
        found.update(f"{steps}\n".encode())
    return found.hexdigest()


def recorded() -> str:
    """Return the checksum in the record; an empty string if there is none."""
    match = DIGEST.search(CHECKED.read_text()) if CHECKED.is_file() else None
    return match[1] if match else ""


def record(wanted: str, states: int) -> None:
    """Write the record: what was searched, by which SPIN, and in how many states."""
    version = process.check(["spin", "-V"], "asking for SPIN's version").strip()
    text = RECORD.format(digest=wanted, version=version.removeprefix("Spin "), states=states)
    if write_if_changed(CHECKED, text.encode()):
        ui.note(f"recorded in {CHECKED.relative_to(ROOT)}: commit it")


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


def commands(macro: str) -> list[list[str]]:
    """Return how the search program for the model without the macro's rule is made."""
    optimise = QUICK if macro else THOROUGH
    options = ["-w", "-DSAFETY", "-DNOCLAIM", f"-DMEMLIM={MEGABYTES}"]
    return [
        ["spin", "-a", *([f"-D{macro}"] if macro else [])],
        ["gcc", optimise, *options, "-o", "pan", "pan.c"],
    ]


def make(macro: str, stage: Path) -> Path:
    """Compile the search program for the model without the macro's rule, for any pair."""
    place = stage / (macro or "all")
    place.mkdir()
    spin, compiler = commands(macro)
    process.check([*spin, str(MODEL)], "reading the model", cwd=place)
    process.check(compiler, "compiling the search", cwd=place)
    return place / "pan"


def explorer(program: Path) -> list[str]:
    return [str(program), f"-m{DEPTH}", f"-w{STATES}"]


def numbers(pair: tuple[str, str]) -> dict[str, str]:
    """Return the environment that tells a search program its actors."""
    return {
        name: str(ACTORS.index(actor))
        for name, actor in zip(("FIRST", "SECOND"), pair, strict=True)
    }


def explore(program: Path, pair: tuple[str, str]) -> SearchOutcome:
    """Search all states, or up to the first error."""
    words, env = explorer(program), numbers(pair)
    try:
        outcome = parse(process.run(words, cwd=program.parent, env=env, timeout=LIMIT).output)
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
