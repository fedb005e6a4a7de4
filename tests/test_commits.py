# SPDX-License-Identifier: GPL-2.0-only
"""The subjects of commits: lists of them, and mails, show no more than 72 characters."""

from collections.abc import Sequence
from itertools import takewhile

import pytest

from swathe.base import process
from swathe.base.errors import EnvironmentLacks
from swathe.base.paths import ROOT

LONGEST = 72
# The last commit that had a longer one. It is named by it, since an id is another one where history
# was rewritten.
LAST_LONGER = "results: arm64: all benches again, with none entries looked at by plain loads"


def history() -> list[str]:
    """The subjects of all commits that this clone has, the newest first."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone: it has no commits")
    argv = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "log", "--format=%s"]
    try:
        done = process.run(argv, quiet=True)
    except EnvironmentLacks as error:
        pytest.skip(str(error))
    assert done.ok, done.output
    return done.output.splitlines()


def since(subjects: Sequence[str], last: str) -> list[str]:
    """The subjects that are newer than one; skips if that is not among them."""
    if last not in subjects:
        pytest.skip("this clone is shallow: where subjects began to be short is not in it")
    return list(takewhile(lambda subject: subject != last, subjects))


def too_long(subjects: Sequence[str]) -> list[str]:
    return [subject for subject in subjects if len(subject) > LONGEST]


def test_subjects_are_short() -> None:
    assert too_long(since(history(), LAST_LONGER)) == []


def test_a_long_subject_is_seen() -> None:
    longer = "lab: " + "x" * (LONGEST - 4)
    subjects = [longer[:-1], longer, LAST_LONGER, "docs: older than the rule" + longer]
    assert too_long(since(subjects, LAST_LONGER)) == [longer]


def test_what_a_shallow_clone_lacks_is_not_judged() -> None:
    with pytest.raises(pytest.skip.Exception, match="shallow"):
        since(["lab: the only commit"], LAST_LONGER)
