# SPDX-License-Identifier: GPL-2.0-only
"""Patches that git writes: "git am" takes them as mails, "patch -p1" as they are."""

import datetime
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from swathe.base import process
from swathe.base.errors import CheckFailed
from swathe.base.paths import scratch
from swathe.base.release import Release
from swathe.kernel import apt, tree

PROGRAM = "git"
# The user's own configuration of git must not change the outcome, nor a repository that is around.
PLAIN = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "XDG_CONFIG_HOME": "/dev/null",
    "GIT_DIR": ".git",
    "GIT_WORK_TREE": ".",
    "GIT_INDEX_FILE": ".git/index",
}
SIGNATURE = "\n-- \n"


@dataclass(frozen=True)
class Patch:
    """One commit: the name of its file, its message, and the files that it writes."""

    name: str
    subject: str
    message: str
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class PatchOrigin:
    """What a series is made from: of Swathe, and of Linux."""

    release: Release
    swathe: str
    kernel: str
    base: str

    @property
    def signature(self) -> str:
        """The last line of each mail."""
        return f"swathe {self.release.version}"

    def message(self, patch: Patch) -> str:
        made = f"From Swathe {self.swathe}, for Linux {self.kernel}."
        signed = f"Signed-off-by: {self.release.authors[0]}"
        return f"{patch.subject}\n\n{patch.message}\n\n{made}\n\n{signed}\n"

    def environment(self, number: int) -> dict[str, str]:
        """The author, and the day of the release, a second later for each patch."""
        author = self.release.authors[0]
        day = datetime.datetime.combine(self.release.released, datetime.time(), datetime.UTC)
        about = {"NAME": author.name, "EMAIL": author.email}
        about["DATE"] = f"{int(day.timestamp()) + number} +0000"
        who = ("AUTHOR", "COMMITTER")
        return {f"GIT_{each}_{key}": text for each in who for key, text in about.items()}


def copy(where: Path, paths: Iterable[str], target: Path) -> Path:
    """Copy some files of a tree, with their modes."""
    target.mkdir(parents=True)
    for path in paths:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(where / path, target / path)
    return target


def git(where: Path, words: Sequence[str], env: Mapping[str, str] | None = None) -> None:
    argv = [PROGRAM, *words]
    done = process.run(argv, cwd=where, env={**PLAIN, **(env or {})}, quiet=True)
    if not done.ok:
        raise CheckFailed(f"git {words[0]}: {process.last_line(done.output)}")


def commit(where: Path, message: str, env: Mapping[str, str]) -> None:
    git(where, ["add", "--all", "--force"])
    git(where, ["commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message], env)


@contextmanager
def repository(stock: Path, paths: Iterable[str]) -> Iterator[Path]:
    """A scratch repository that has added those of the files that the stock tree has."""
    apt.need([PROGRAM])
    with scratch("patches") as stage:
        where = copy(stock, (path for path in paths if (stock / path).exists()), stage / "tree")
        git(where, ["init", "-q", "--template="])
        git(where, ["add", "--all", "--force"])
        yield where


def diff(stock: Path, files: Mapping[str, bytes]) -> str:
    """What changes in files of a tree."""
    with repository(stock, files) as where:
        tree.install(where, files)
        git(where, ["diff", "--no-ext-diff", "--full-index", "--output=../diff"])
        return (where.parent / "diff").read_text()


def mails(stock: Path, patches: Sequence[Patch], origin: PatchOrigin) -> dict[str, bytes]:
    """The mails of a series, by the names of their files; the same input gives the same bytes."""
    with repository(stock, {path for patch in patches for path in patch.files}) as where:
        commit(where, "stock", origin.environment(0))
        for number, patch in enumerate(patches, 1):
            tree.install(where, patch.files)
            commit(where, origin.message(patch), origin.environment(number))
        git(where, [
            "format-patch", "-q", "--full-index", "--zero-commit", "--numbered-files",
            f"--signature={origin.signature}", "-o", "../mails", f"-{len(patches)}",
        ])  # fmt: skip
        made = where.parent / "mails"
        found = [(made / str(number)).read_bytes() for number in range(1, len(patches) + 1)]
    before, mark, rest = found[0].rpartition(SIGNATURE.encode())
    found[0] = before + f"\nbase-commit: {origin.base}".encode() + mark + rest
    names = (f"{number:04}-{patch.name}.patch" for number, patch in enumerate(patches, 1))
    return dict(zip(names, found, strict=True))
