# SPDX-License-Identifier: GPL-2.0-only
"""A kernel tree with overlay and hooks: what changes in it, and how it is kept up to date."""

import filecmp
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from swathe.base import ui
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import BUILD, OVERLAY, locked, write_atomically, write_if_changed
from swathe.kernel import hooks, mutants
from swathe.kernel.source import Source
from swathe.kernel.version import Version

TREES = BUILD / "tree"
CACHE = BUILD / "cache" / "hooked"
KCONFIG_LINE = 'source "mm/unmap/Kconfig"\n'
MAKEFILE_LINE = "obj-$(CONFIG_UNMAP) += unmap/\n"
NOT_COMPILED = ("Documentation/", "tools/")
BUILT_IN_PLACE = (".config", "include/config", "include/generated")


@dataclass(frozen=True)
class Plan:
    """New content for files of a tree: those it has, and those it gains."""

    changed: dict[str, bytes]
    added: dict[str, bytes]

    @property
    def all(self) -> dict[str, bytes]:
        return {**self.changed, **self.added}


def overlay() -> dict[str, bytes]:
    """The files a tree gains, by their path in it."""
    found = {}
    for path in sorted(OVERLAY.rglob("*")):
        if path.is_file() and not path.name.startswith(".") and not path.name.endswith("~"):
            found[str(path.relative_to(OVERLAY))] = path.read_bytes()
    return found


def add_to_kconfig(text: str) -> str:
    """mm/Kconfig with our menu before its final endmenu."""
    head, found, tail = text.rpartition("\nendmenu")
    if not found:
        raise CheckFailed("mm/Kconfig has no final endmenu to put the menu of mm/unmap before")
    return f"{head}\n{KCONFIG_LINE}{found}{tail}"


def add_to_makefile(text: str) -> str:
    """mm/Makefile with our directory as its last line."""
    return text + ("" if text.endswith("\n") else "\n") + MAKEFILE_LINE


def plan(tree: Path, kernel: Version, without: str = "") -> Plan:
    """Everything that applying means for this tree, but for one hook; nothing is written to it."""
    if already_applied(tree):
        raise CheckFailed(f"{tree} already has overlay and hooks: they are applied only once")
    chosen = [hook for hook in hooks.fitting(hooks.load(), kernel) if hook.name != without]
    changed = {
        path: text.encode() for path, text in hooks.hooked(tree, chosen, kernel, CACHE).items()
    }
    added = overlay()
    if "mm/unmap/Kconfig" in added:
        kconfig, makefile = tree / "mm/Kconfig", tree / "mm/Makefile"
        changed["mm/Kconfig"] = add_to_kconfig(kconfig.read_text()).encode()
        changed["mm/Makefile"] = add_to_makefile(makefile.read_text()).encode()
    return Plan(changed, added)


def already_applied(tree: Path) -> bool:
    """Whether any part of the overlay's directory or its two lines is there."""
    return (
        (tree / "mm" / "unmap").exists()
        or MAKEFILE_LINE in (tree / "mm" / "Makefile").read_text()
        or KCONFIG_LINE in (tree / "mm" / "Kconfig").read_text()
    )


def write(tree: Path, files: dict[str, bytes]) -> list[str]:
    """Bring files up to date; returns those that had to be written."""
    written = []
    for path, data in files.items():
        target = tree / path
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        if write_if_changed(target, data, mode):
            written.append(path)
    return written


def walk(top: Path, below: str = "") -> Iterator[os.DirEntry[str]]:
    """All files of a tree; version control's own directory is not one of them."""
    with os.scandir(top / below) as entries:
        for entry in entries:
            if entry.name == ".git" and not below:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from walk(top, os.path.relpath(entry.path, top))
            else:
                yield entry


def link(source: Path, target: Path) -> None:
    """A hard link, or a copy where the file system does not allow one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise
        shutil.copy2(source, target, follow_symlinks=False)


def link_tree(pristine: Path, target: Path, managed: set[str]) -> str:
    """Make target mirror pristine but for the managed files; returns a checksum of its state."""
    digest = hashlib.sha256()
    for entry in walk(pristine):
        path = os.path.relpath(entry.path, pristine)
        stat = entry.stat(follow_symlinks=False)
        digest.update(f"{path} {stat.st_mtime_ns} {stat.st_size}\n".encode())
        if path in managed:
            continue
        if not is_same(Path(entry.path), stat, target / path):
            link(Path(entry.path), target / path)
    return digest.hexdigest()


def is_same(source: Path, stat: os.stat_result, target: Path) -> bool:
    """A link or a copy of it, perhaps with a later time: see retire()."""
    try:
        now = target.lstat()
    except FileNotFoundError:
        return False
    if now.st_ino == stat.st_ino:
        return True
    if now.st_size != stat.st_size:
        return False
    if now.st_mtime_ns == stat.st_mtime_ns:
        return True
    return source.is_file() and filecmp.cmp(source, target, shallow=False)


def require_clean(pristine: Path) -> None:
    """make O= refuses a tree that was built in place; say so before it does."""
    for name in BUILT_IN_PLACE:
        if (pristine / name).exists():
            raise UsageError(
                f"{pristine} was built in place ({name} is there): "
                f"run make mrproper in it, or give a clean tree"
            )


def read_manifest(path: Path) -> set[str]:
    return set(json.loads(path.read_text())) if path.is_file() else set()


def retire(pristine: Path, tree: Path, paths: set[str]) -> None:
    """Files that are no longer ours become what they are in the pristine tree, or go.

    As copies: make goes by the time, and the pristine file is older than what was made of ours.
    """
    for path in paths:
        if (pristine / path).is_file():
            mode = (pristine / path).stat().st_mode & 0o777
            write_atomically(tree / path, (pristine / path).read_bytes(), mode)
        else:
            (tree / path).unlink(missing_ok=True)


@dataclass(frozen=True)
class Prepared:
    """A tree that make can be pointed at, and a checksum of what the image is made from."""

    path: Path
    stamp: str


def prepare(source: Source, without: str = "", mutated: bool = False) -> Prepared:
    """The lab's own tree: pristine files by hard link, ours beside them, all up to date.

    The tree of kernels that tests boot is one of its own, with the mutants in it.
    """
    require_clean(source.tree)
    key = f"{source.key}-mutants" if mutated else source.key
    with locked(f"tree-{key}"):
        wanted = plan(source.tree, source.version, without)
        if mutated:
            wanted = replace(wanted, added=mutants.mutate(wanted.added, CACHE))
        tree = TREES / key
        manifest = TREES / f"{key}.json"
        managed = set(wanted.all)
        retire(source.tree, tree, read_manifest(manifest) - managed)
        state = mirror(source, tree, managed)
        write_atomically(manifest, json.dumps(sorted(managed)).encode())
        written = write(tree, wanted.all)
    if written:
        shown = ", ".join(written[:3]) + (", …" if len(written) > 3 else "")
        ui.note(f"{len(written)} files of the tree brought up to date: {shown}")
    digest = hashlib.sha256(state.encode())
    for path in sorted(path for path in managed if not path.startswith(NOT_COMPILED)):
        digest.update(path.encode() + b"\0" + wanted.all[path])
    return Prepared(tree, digest.hexdigest())


def mirror(source: Source, tree: Path, managed: set[str]) -> str:
    """Fetched source never changes: it is mirrored once. A user's own may change at any time."""
    complete = tree.with_name(f"{tree.name}.mirrored")
    if source.ours and complete.is_file():
        return complete.read_text()
    if not tree.exists():
        ui.note(f"mirroring {source.tree.name}")
    state = link_tree(source.tree, tree, managed)
    write_atomically(complete, state.encode())
    return state


def untouched(source: Source) -> Prepared:
    """The pristine tree itself, for the kernel that everything is compared with."""
    require_clean(source.tree)
    if source.ours:
        return Prepared(source.tree, str(source.version))
    entries = sorted((entry.path, entry.stat(follow_symlinks=False)) for entry in walk(source.tree))
    digest = hashlib.sha256()
    for path, stat in entries:
        digest.update(f"{path} {stat.st_mtime_ns} {stat.st_size}\n".encode())
    return Prepared(source.tree, digest.hexdigest())
