# SPDX-License-Identifier: GPL-2.0-only
"""What is read from a search of the model, and what counts as a failure."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from swathe.base import verdicts
from swathe.base.errors import EnvironmentLacks
from swathe.base.verdicts import Verdict
from swathe.check import spin

QUIET = """\
Full statespace search for:
	assertion violations	+
	invalid end states	+

State-vector 112 byte, depth reached 101, errors: 0
  2809915 states, stored
  4036058 states, matched

unreached in proctype rcu
	../tables.pml:133, state 28, "-end-"
	(1 of 28 states)
unreached in proctype do_fault
	(0 of 103 states)
unreached in proctype do_gup
	../tables.pml:258, state 10, "index = 0"
	../tables.pml:454, state 19, "else"
	(2 of 58 states)
pan: elapsed time 3.03 seconds
"""
LOUD = """\
pan:1: assertion violated (( !(entry[2])&& !(entry[3]))&& !(pte_lock[1])) (at depth 63)
pan: wrote tables.pml.trail
Warning: Search not completed
State-vector 112 byte, depth reached 79, errors: 1
     1533 states, stored
pan: elapsed time 0 seconds
"""
STUCK = LOUD.replace(
    "assertion violated (( !(entry[2])&& !(entry[3]))&& !(pte_lock[1]))", "invalid end state"
)
SHALLOW = "error: max search depth too small\n" + QUIET
FULL = "pan: reached -DMEMLIM bound\n" + QUIET
SCAN = next(rule for rule in spin.RULES if rule.name == "scan")
ORDER = next(rule for rule in spin.RULES if rule.name == "lock_order")


def test_a_search_without_errors() -> None:
    outcome = spin.parse(QUIET)
    assert (outcome.errors, outcome.states, outcome.seconds) == (0, 2809915, 3.03)
    assert spin.found(outcome) == ""
    assert outcome.unreached == {
        "tables.pml:258, do_gup, state 10: index = 0",
        "tables.pml:454, do_gup, state 19: else",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LOUD, "assertion violated"),
        (STUCK, "invalid end state"),
        (SHALLOW, "cut short: depth too small"),
        (FULL, "cut short: MEMLIM bound"),
        ("pan: killed\n", "did not end: pan: killed"),
        ("", "did not end"),
    ],
)
def test_with_all_rules_nothing_may_be_found_and_nothing_left_out(text: str, said: str) -> None:
    assert said in spin.found(spin.parse(text))


@pytest.mark.parametrize(
    ("rule", "text", "said"),
    [
        (SCAN, LOUD, ""),
        (SCAN, STUCK, "another error: invalid end state"),
        (SCAN, QUIET, "no error without the rule in 2809915 states"),
        (SCAN, SHALLOW, "cut short"),
        (SCAN, "", "did not end"),
        (ORDER, STUCK, ""),
        (ORDER, LOUD, "another error"),
    ],
)
def test_without_a_rule_what_it_prevents_must_be_found(
    rule: spin.Rule, text: str, said: str
) -> None:
    complaint = spin.missed(rule, spin.parse(text))
    assert (said in complaint) if said else not complaint


def test_what_no_search_reached_is_a_failure() -> None:
    first = spin.SearchOutcome(unreached=frozenset({"a", "b"}))
    second = spin.SearchOutcome(unreached=frozenset({"b"}))
    lost = spin.SearchOutcome(incomplete="it did not end")
    assert spin.never_reached([first, second, lost]) == "b"
    assert spin.never_reached([first, spin.SearchOutcome()]) == ""
    assert spin.never_reached([lost]) == "no search was completed"


def test_names_and_verdicts() -> None:
    assert spin.judge("fault+free", "").name == "model.fault+free"
    assert spin.judge("fault+free", "").verdict is Verdict.PASSED
    assert spin.judge("fault+free", "lost").verdict is Verdict.FAILED


def test_actors_have_the_numbers_of_the_model_and_rules_its_macros() -> None:
    text = spin.MODEL.read_text()
    for number, actor in enumerate(spin.ACTORS):
        assert f":: actor == {number} -> run do_{actor}()" in text
    for rule in spin.RULES:
        assert re.search(rf"^#ifn?def {rule.macro}$", text, re.MULTILINE)
        assert re.search(rf"^ \*   {rule.macro}\t", text, re.MULTILINE)
        assert set(rule.pair) <= set(spin.ACTORS)


def test_a_search_that_takes_too_long_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pan").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "pan").chmod(0o755)
    monkeypatch.setattr(spin, "LIMIT", 0.1)
    outcome = spin.explore(tmp_path / "pan", ("fault", "free"))
    assert "did not end within" in spin.found(outcome)


def test_without_spin_the_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match="spin is not installed"):
        spin.make("", tmp_path)


# The record


PASSING = [
    *(spin.SearchOutcome(states=10) for _ in spin.PAIRS),
    *(spin.SearchOutcome(1, 1, said=rule.sign) for rule in spin.RULES),
]
STATES = 10 * len(spin.PAIRS) + len(spin.RULES)


@pytest.fixture
def searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: Callable[[str, str], Path]
) -> list[str]:
    """A copy of the model whose searches pass; the checksums of what was searched."""
    done: list[str] = []

    def search() -> list[spin.SearchOutcome]:
        done.append(spin.digest())
        return PASSING

    fake("spin", "echo 'Spin Version 6.5.2 -- 6 December 2019'")
    (tmp_path / "tables.pml").write_bytes(spin.MODEL.read_bytes())
    monkeypatch.setattr(spin, "ROOT", tmp_path)
    monkeypatch.setattr(spin, "MODEL", tmp_path / "tables.pml")
    monkeypatch.setattr(spin, "CHECKED", tmp_path / "checked")
    monkeypatch.setattr(spin, "search", search)
    return done


def only(tests: list[verdicts.Test]) -> verdicts.Test:
    (single,) = tests
    return single


def test_the_same_model_is_not_searched_again(searched: list[str]) -> None:
    assert len(spin.run_unless_recorded()) == len(PASSING) + 1
    assert not spin.CHECKED.exists()
    assert len(spin.run()) == len(PASSING) + 1
    text = spin.CHECKED.read_text()
    assert f"sha256 {searched[0]}\nspin Version 6.5.2" in text and f"states {STATES}\n" in text
    assert len(searched) == 2
    found = only(spin.run_unless_recorded())
    assert found.name.startswith(
        f"model: unchanged since it was checked (sha256 {searched[0][:12]}"
    )
    assert found.verdict is Verdict.PASSED
    assert len(searched) == 2
    assert len(spin.run()) == len(PASSING) + 1


def change_model(_: pytest.MonkeyPatch) -> None:
    with spin.MODEL.open("a") as file:
        file.write("/* changed */\n")


def change_rule(change: pytest.MonkeyPatch) -> None:
    first, *others = spin.RULES
    change.setattr(spin, "RULES", (replace(first, sign="another error"), *others))


def leave_a_rule_out(change: pytest.MonkeyPatch) -> None:
    change.setattr(spin, "RULES", spin.RULES[1:])


def leave_a_pair_out(change: pytest.MonkeyPatch) -> None:
    change.setattr(spin, "PAIRS", spin.PAIRS[1:])


def change_depth(change: pytest.MonkeyPatch) -> None:
    change.setattr(spin, "DEPTH", 100)


def change_memory(change: pytest.MonkeyPatch) -> None:
    change.setattr(spin, "MEGABYTES", 100)


def change_order(change: pytest.MonkeyPatch) -> None:
    change.setattr(spin, "ACTORS", spin.ACTORS[::-1])


@pytest.mark.parametrize(
    "change",
    [change_model, change_rule, leave_a_rule_out, leave_a_pair_out, change_depth, change_memory,
     change_order],
)  # fmt: skip
def test_a_changed_model_or_search_is_searched_again(
    searched: list[str],
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[pytest.MonkeyPatch], None],
) -> None:
    spin.run()
    change(monkeypatch)
    monkeypatch.setattr(spin, "judged", lambda _: [verdicts.Test("searched", Verdict.FAILED)])
    assert only(spin.run_unless_recorded()).name == "searched"
    assert len(searched) == 2 and len(set(searched)) == 2


def test_a_complaint_is_not_recorded(searched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cut = [*PASSING[:-1], spin.SearchOutcome(incomplete="it did not end")]
    monkeypatch.setattr(spin, "search", lambda: cut)
    assert [test.verdict for test in spin.run()].count(Verdict.FAILED) == 1
    assert not spin.CHECKED.exists()


def test_what_is_searched_is_what_the_checksum_is_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pair with all rules, and every rule."""
    made: list[str] = []
    explored: list[tuple[Path, tuple[str, str]]] = []

    def make(macro: str, _: Path) -> Path:
        made.append(macro)
        return Path(macro)

    def explore(program: Path, pair: tuple[str, str]) -> spin.SearchOutcome:
        explored.append((program, pair))
        return spin.SearchOutcome()

    monkeypatch.setattr(spin, "make", make)
    monkeypatch.setattr(spin, "explore", explore)
    assert len(spin.search()) == len(spin.PAIRS) + len(spin.RULES)
    wanted = [(Path(macro), pair) for macro, pair, _ in spin.searches()]
    assert sorted(explored) == sorted(wanted)
    assert sorted(made) == sorted({macro for macro, _, _ in spin.searches()})
