# SPDX-License-Identifier: GPL-2.0-only
"""What is read from a search of the model, and what counts as a failure."""

import re
from pathlib import Path

import pytest

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
