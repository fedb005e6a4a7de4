# SPDX-License-Identifier: GPL-2.0-only
"""Patches in the form that git writes: "git am" takes them as mails, "patch -p1" as they are."""

import datetime
import email.utils
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from swathe.base import ui
from swathe.base.release import Release
from swathe.kernel import changes

STOCK_MODE = 0o644
EXECUTABLE = 0o111
SIGNATURE = "-- "
NO_BLOB = "0" * 40
# The first line of a mail in a mailbox, as git writes it: no commit, and a date without meaning.
MAILBOX = f"From {NO_BLOB} Mon Sep 17 00:00:00 2001"


@dataclass(frozen=True)
class FileChange:
    """A file before and after; before is None for a new file."""

    path: str
    before: str | None
    after: str
    mode: int = STOCK_MODE


@dataclass(frozen=True)
class Patch:
    """One commit: the name of its file, its message, and what it changes."""

    name: str
    subject: str
    message: str
    files: tuple[FileChange, ...]


@dataclass(frozen=True)
class PatchOrigin:
    """What a series is made from: of Swathe, and of Linux."""

    release: Release
    swathe: str
    kernel: str
    base: str


def blob(text: str) -> str:
    """Return the name that git gives to a file with this text."""
    data = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def of_file(change: FileChange) -> str:
    """Return one file's part of a patch; "git am -3" finds the file before by its blob."""
    mode = "100755" if change.mode & EXECUTABLE else "100644"
    lines = [f"diff --git a/{change.path} b/{change.path}"]
    if change.before is None:
        lines += [f"new file mode {mode}", f"index {NO_BLOB}..{blob(change.after)}"]
        old = "/dev/null"
    else:
        lines += [f"index {blob(change.before)}..{blob(change.after)} {mode}"]
        old = f"a/{change.path}"
    hunks = changes.hunks(change.before or "", change.after)
    if hunks:
        lines += [f"--- {old}", f"+++ b/{change.path}"]
    return "\n".join(lines) + "\n" + hunks


def count(diff: str, mark: str) -> int:
    """Count the lines that a file's part of a patch adds or removes."""
    _, _, hunks = diff.partition("\n@@")
    return sum(line.startswith(mark) for line in hunks.split("\n"))


def summary(diffs: Sequence[str]) -> str:
    """Return what git says about these diffs."""
    added, removed = (sum(count(diff, mark) for diff in diffs) for mark in "+-")
    parts = [f"{ui.plural(len(diffs), 'file')} changed"]
    if added or not removed:
        parts.append(ui.plural(added, "insertion(+)", "insertions(+)"))
    if removed or not added:
        parts.append(ui.plural(removed, "deletion(-)", "deletions(-)"))
    return ", ".join(parts)


def date(release: Release, number: int) -> str:
    """Return the day of the release, a second later for each patch: the order stays visible."""
    day = datetime.datetime.combine(release.released, datetime.time(), datetime.UTC)
    return email.utils.format_datetime(day + datetime.timedelta(seconds=number))


def tag(number: int, total: int) -> str:
    return "[PATCH]" if total == 1 else f"[PATCH {number:0{len(str(total))}}/{total}]"


def mail(patch: Patch, origin: PatchOrigin, number: int = 1, total: int = 1) -> str:
    """Return a patch as a mail. The same input gives the same bytes."""
    author = str(origin.release.authors[0])
    diffs = [of_file(change) for change in patch.files]
    base = f"base-commit: {origin.base}\n" if number == 1 else ""
    return f"""\
{MAILBOX}
From: {author}
Date: {date(origin.release, number)}
Subject: {tag(number, total)} {patch.subject}
MIME-Version: 1.0
Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: 8bit

{patch.message}

From Swathe {origin.swathe}, for Linux {origin.kernel}.

Signed-off-by: {author}
---
 {summary(diffs)}

{"".join(diffs)}
{base}{SIGNATURE}
swathe {origin.release.version}
"""


def mails(patches: Sequence[Patch], origin: PatchOrigin) -> Iterator[tuple[str, str]]:
    """Yield the mails of a series, and the names of their files."""
    for number, patch in enumerate(patches, 1):
        yield f"{number:04}-{patch.name}.patch", mail(patch, origin, number, len(patches))
