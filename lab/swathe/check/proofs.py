# SPDX-License-Identifier: GPL-2.0-only
"""What was proven, of which code: a ledger that names the digest of what each run covered.

A digest is made from git's ids of the files that a run proves something of: the subsystem, the
hooks that fit the kernel, the configurations, and what proofs.toml adds. Neither the lab nor
documentation is among them. A proof is stale when the digest of today's commit differs.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from swathe.base import process, reading, release, results
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import ROOT, locked
from swathe.kernel import hooks
from swathe.kernel.arch import ARCHES
from swathe.kernel.source import KERNELS
from swathe.kernel.version import Version, in_range

CLAIMS = Path(__file__).with_name("proofs.toml")
LEDGER = "proofs"
HEAD = "HEAD"
# The last release of a series, for hooks that say from which one on they fit.
LAST = "999"
CODE = "kernel"
# These parts of it are proven, or prove, apart.
APART = ("kernel/Documentation/", "kernel/tools/")
ALWAYS = ("configs",)


class Claim(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A part of the proof, and the command that runs it; empty names: it needs no kernel."""

    part: str
    command: tuple[str, ...]
    kernels: tuple[str, ...] = KERNELS
    arches: tuple[str, ...] = tuple(ARCHES)
    covers: tuple[str, ...] = ()
    code: bool = True


class Proof(msgspec.Struct, frozen=True):
    """A part that was run to its end, and passed; digest: of what it covered, if that is known."""

    part: str
    kernel: str
    arch: str
    commit: str
    date: str
    digest: str = ""
    seconds: int = 0


class Standing(msgspec.Struct, frozen=True):
    """A part for one kernel and architecture, its last proof, and today's digest."""

    claim: Claim
    kernel: str
    arch: str
    digest: str
    proof: Proof | None

    @property
    def stale(self) -> bool:
        return not self.proof or self.proof.digest != self.digest

    @property
    def state(self) -> str:
        if not self.proof:
            return "never"
        if not self.proof.digest:
            return "stale: its code is not known"
        return "stale" if self.stale else "today's code"

    @property
    def command(self) -> list[str]:
        words = [*self.claim.command]
        words += ["--kernel", self.kernel] if self.kernel else []
        return [*words, "--arch", self.arch] if self.arch else words


def claims() -> list[Claim]:
    data = reading.toml(CLAIMS.read_text(), CLAIMS.name)
    return reading.convert(data["claim"], list[Claim], CLAIMS.name)


def git(*words: str) -> str:
    done = process.run(["git", "-C", str(ROOT), *words], quiet=True)
    if not done.ok:
        raise UsageError(
            f"proofs belong to commits, and git says: {process.last_line(done.output)}"
        )
    return done.output


def files(commit: str, *paths: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the id of each file that a commit has there."""
    for line in git("ls-tree", "-r", commit, "--", *paths).splitlines():
        about, _, path = line.partition("\t")
        yield path, about.split()[2]


def covered(claim: Claim, kernel: str, commit: str) -> Iterator[str]:
    """Yield what a run of the claim proves something of."""
    paths = [*claim.covers, *(ALWAYS if claim.code else ())]
    for path, blob in files(commit, *paths):
        yield f"{path} {blob}"
    if not claim.code:
        return
    for path, blob in files(commit, CODE):
        if not path.startswith(APART):
            yield f"{path} {blob}"
    rules = dict(files(commit, "hooks"))
    for hook in hooks.parse_series(git("show", f"{commit}:hooks/series")):
        if in_range(Version.parse(f"{kernel}.{LAST}"), hook.min, hook.max):
            yield f"{hook} {rules[f'hooks/{hook.rule.name}']}"


def digest(claim: Claim, kernel: str, commit: str = HEAD) -> str:
    return hashlib.sha256("\n".join(covered(claim, kernel, commit)).encode()).hexdigest()[:16]


def load() -> list[Proof]:
    path = results.KEPT / f"{LEDGER}.json"
    return reading.json(path.read_text(), list[Proof], path.name) if path.is_file() else []


def rows() -> list[Standing]:
    """Return all parts: those of one claim together."""
    last = {(proof.part, proof.kernel, proof.arch): proof for proof in load()}
    return [
        Standing(claim, kernel, arch, digest(claim, kernel), last.get((claim.part, kernel, arch)))
        for claim in claims()
        for kernel in claim.kernels
        for arch in claim.arches
    ]


def due(found: Sequence[Standing]) -> list[Standing]:
    """Return what is stale: what was never proven first, then the oldest."""
    return sorted(
        (row for row in found if row.stale), key=lambda row: row.proof.date if row.proof else ""
    )


def record(proof: Proof) -> None:
    """Write a proof in place of the last one of its part."""
    key = (proof.part, proof.kernel, proof.arch)
    with locked(LEDGER):
        kept = [old for old in load() if (old.part, old.kernel, old.arch) != key]
        order = sorted([*kept, proof], key=lambda one: (one.part, one.kernel, one.arch))
        results.write_json(results.KEPT / f"{LEDGER}.json", order)


def require_clean() -> str:
    """Return the commit; raise if the tree holds something else than it and the ledger."""
    commit = release.commit()
    changed = git("status", "--porcelain", "--", ".", f":!docs/results/{LEDGER}.json").strip()
    if changed or commit == release.UNKNOWN:
        raise CheckFailed("a record names its commit: commit what you have changed first")
    return commit.removesuffix(release.DIRTY)
