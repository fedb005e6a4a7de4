# SPDX-License-Identifier: GPL-2.0-only
"""The ledger of proofs: what makes one stale, what runs next, what is recorded."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import process, results
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import ROOT
from swathe.check import proofs
from swathe.check.proofs import Claim, Proof, Standing
from swathe.cli import arguments, proof
from swathe.kernel import hooks

CLAIM = Claim("part", ("test", "part"), covers=("scenes",))
SERIES = (ROOT / "hooks" / "series").read_text()
RULES = {f"hooks/{path.name}": "1" for path in (ROOT / "hooks").glob("*.cocci")}
FILES = {
    "kernel/mm/unmap/run.c": "1",
    "kernel/Documentation/mm/unmap.rst": "1",
    "kernel/tools/testing/selftests/unmap/drop.c": "1",
    "configs/base.config": "1",
    "scenes/purge.c": "1",
    "docs/status.md": "1",
    **RULES,
}


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The ids of the files that every commit has."""
    found = dict(FILES)

    def listed(_: str, *paths: str) -> Iterator[tuple[str, str]]:
        yield from ((name, blob) for name, blob in found.items() if name.startswith(paths))

    monkeypatch.setattr(proofs, "files", listed)
    monkeypatch.setattr(proofs, "git", lambda *_: SERIES)
    return found


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("kernel/mm/unmap/run.c", True),
        ("configs/base.config", True),
        ("scenes/purge.c", True),
        ("kernel/Documentation/mm/unmap.rst", False),
        ("kernel/tools/testing/selftests/unmap/drop.c", False),
        ("docs/status.md", False),
    ],
)
def test_what_makes_a_proof_stale(tree: dict[str, str], path: str, changes: bool) -> None:
    before = proofs.digest(CLAIM, "6.12")
    tree[path] = "2"
    assert (proofs.digest(CLAIM, "6.12") != before) is changes


def test_tests_are_covered_where_the_claim_says_so(tree: dict[str, str]) -> None:
    claim = Claim("part", ("test",), covers=("kernel/tools",))
    before = proofs.digest(claim, "6.12")
    tree["kernel/tools/testing/selftests/unmap/drop.c"] = "2"
    assert proofs.digest(claim, "6.12") != before


def test_a_hook_of_another_kernel_changes_nothing(tree: dict[str, str]) -> None:
    newer = next(
        hook
        for hook in hooks.parse_series(SERIES)
        if hook.min.startswith("7.") and not hook.same_as
    )
    before = proofs.digest(CLAIM, "6.12"), proofs.digest(CLAIM, "7.3")
    tree[f"hooks/{newer.name}.cocci"] = "2"
    assert proofs.digest(CLAIM, "6.12") == before[0]
    assert proofs.digest(CLAIM, "7.3") != before[1]


def test_the_claims_are_whole() -> None:
    found = proofs.claims()
    assert len({claim.part for claim in found}) == len(found)
    assert all((ROOT / path).exists() for claim in found for path in claim.covers)


def row(part: str, date: str, digest: str) -> Standing:
    last = Proof(part, "6.12", "", "abc", date, digest) if date else None
    return Standing(Claim(part, ("test", part)), "6.12", "", "now", last)


FRESH, OLD, OLDER = row("a", "2026-02", "now"), row("b", "2026-02", "x"), row("c", "2026-01", "")
NEVER = row("d", "", "")


def test_what_is_stale_runs_oldest_first() -> None:
    assert proofs.due([FRESH, OLD, OLDER, NEVER]) == [NEVER, OLDER, OLD]
    states = [one.state for one in (FRESH, OLD, OLDER, NEVER)]
    assert states == ["today's code", "stale", "stale: its code is not known", "never"]


def test_a_dirty_tree_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "git", lambda *_: " M kernel/mm/unmap/run.c\n")
    with pytest.raises(CheckFailed, match="commit what you have changed first"):
        proofs.require_clean()


@pytest.mark.parametrize(
    "words", ["test lab --record", "stress --record", "report --record some-run"]
)
def test_no_command_records_from_a_dirty_tree(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(proofs, "git", lambda *_: " M kernel/mm/unmap/run.c\n")
    assert __main__.main(words.split()) == 1
    assert "commit what you have changed first" in capsys.readouterr().err


def test_git_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "run", lambda *_, **__: process.Done(128, "fatal: x\n"))
    with pytest.raises(UsageError, match="proofs belong to commits, and git says: fatal: x"):
        proofs.git("show")


def test_only_what_passes_is_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[list[str]] = []

    def passes(argv: list[str], *, timeout: float) -> bool:
        ran.append(argv[len(proof.SWATHE) :])
        return timeout > 0 and "b" not in argv

    monkeypatch.setattr(results, "KEPT", tmp_path)
    monkeypatch.setattr(process, "passes", passes)
    monkeypatch.setattr(proofs, "require_clean", lambda: "commit")
    assert proof.run([FRESH, OLD, NEVER], 1) == 1
    assert ran == [["test", "d", "--kernel", "6.12"], ["test", "b", "--kernel", "6.12"]]
    (kept,) = proofs.load()
    assert (kept.part, kept.commit, kept.digest) == ("d", "commit", "now")
    proofs.record(Proof("d", "6.12", "", "later", "2027", "now"))
    assert [one.commit for one in proofs.load()] == ["later"]


def test_parts_must_be_known() -> None:
    with pytest.raises(UsageError, match="there is no part 'odd'; there are a, b"):
        arguments.require_known(["odd"], ["a", "b"], "part")


def test_passes_tells_the_status() -> None:
    assert process.passes(["true"], timeout=10)
    assert not process.passes(["false"], timeout=10)


def test_rows_are_those_that_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "rows", lambda: [FRESH, OLD])
    parser = argparse.ArgumentParser()
    proof.set_argparser(parser)

    def parts(*words: str) -> list[str]:
        return [one.claim.part for one in proof.asked(parser.parse_args(words))]

    assert parts() == parts("--kernel", "6.12") == ["a", "b"]
    assert parts("--part", "b") == ["b"]
    assert parts("--kernel", "7.3") == parts("--arch", "arm64") == []
