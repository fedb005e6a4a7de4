# SPDX-License-Identifier: GPL-2.0-only
"""Plan, write and update a kernel tree with the overlay and the hooks."""

import filecmp
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from swathe.base import ui
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import (
    BUILD,
    OVERLAY,
    locked,
    uninterrupted,
    write_atomically,
    write_if_changed,
)
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
    """New content for files of a tree: changed stock files and added files.

    The steps are the hooks' share of changed, one by one.
    """

    changed: dict[str, bytes]
    added: dict[str, bytes]
    steps: tuple[hooks.HookStep, ...] = ()

    @property
    def all(self) -> dict[str, bytes]:
        return {**self.changed, **self.added}


def overlay() -> dict[str, bytes]:
    """Return the files to add to a tree, by their path in the tree."""
    found = {}
    for path in sorted(OVERLAY.rglob("*")):
        if path.is_file() and not path.name.startswith(".") and not path.name.endswith("~"):
            found[str(path.relative_to(OVERLAY))] = path.read_bytes()
    return found


def add_to_kconfig(text: str) -> str:
    """Return mm/Kconfig with our menu before its final endmenu."""
    head, found, tail = text.rpartition("\nendmenu")
    if not found:
        raise CheckFailed("mm/Kconfig has no endmenu: the menu of mm/unmap goes before it")
    return f"{head}\n{KCONFIG_LINE}{found}{tail}"


def add_to_makefile(text: str) -> str:
    """Return mm/Makefile with our directory as its last line."""
    return text + ("" if text.endswith("\n") else "\n") + MAKEFILE_LINE


def plan(tree: Path, kernel: Version, without: str = "") -> Plan:
    """Return all changes to this tree, without writing any; without names a hook to leave out."""
    if already_applied(tree):
        raise CheckFailed(f"{tree} already contains Swathe: apply it to a stock tree")
    chosen = [hook for hook in hooks.fitting(hooks.load(), kernel) if hook.name != without]
    steps = tuple(hooks.steps(tree, chosen, kernel, CACHE))
    changed = {step.hook.file: step.after.encode() for step in steps}
    added = overlay()
    if "mm/unmap/Kconfig" in added:
        kconfig, makefile = tree / "mm/Kconfig", tree / "mm/Makefile"
        changed["mm/Kconfig"] = add_to_kconfig(kconfig.read_text()).encode()
        changed["mm/Makefile"] = add_to_makefile(makefile.read_text()).encode()
    return Plan(changed, added, steps)


def already_applied(tree: Path) -> bool:
    """Whether the tree has mm/unmap, or our line in mm/Makefile or mm/Kconfig."""
    return (
        (tree / "mm" / "unmap").exists()
        or MAKEFILE_LINE in (tree / "mm" / "Makefile").read_text()
        or KCONFIG_LINE in (tree / "mm" / "Kconfig").read_text()
    )


def write(tree: Path, files: dict[str, bytes]) -> list[str]:
    """Update the files; return the paths that had to be written."""
    written = []
    for path, data in files.items():
        target = tree / path
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        if write_if_changed(target, data, mode):
            written.append(path)
    return written


def install(tree: Path, files: Mapping[str, bytes]) -> None:
    """Write the files into a user's tree, all or none: all are written before one is renamed."""
    with tempfile.TemporaryDirectory(prefix=".swathe.", dir=tree) as stage:
        for path, data in files.items():
            new, target = Path(stage, path), tree / path
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(data)
            new.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        with uninterrupted():
            for path in files:
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                Path(stage, path).rename(tree / path)


def walk(top: Path, below: str = "") -> Iterator[os.DirEntry[str]]:
    """Yield all files of a tree except those in .git."""
    with os.scandir(top / below) as entries:
        for entry in entries:
            if entry.name == ".git" and not below:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from walk(top, os.path.relpath(entry.path, top))
            else:
                yield entry


def link(source: Path, target: Path) -> None:
    """Make a hard link, or a copy if the file system does not allow a link."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise
        shutil.copy2(source, target, follow_symlinks=False)


def link_tree(pristine: Path, target: Path, managed: set[str]) -> str:
    """Make target mirror pristine except the managed files; return a checksum of pristine."""
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
    """Whether target is a link or copy of source; a copy may be newer: see retire()."""
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
    """Raise if the tree was built in place: make O= would refuse it."""
    for name in BUILT_IN_PLACE:
        if (pristine / name).exists():
            raise UsageError(
                f"{pristine} was built in place (it contains {name}): "
                f"run make mrproper in it, or give a clean tree"
            )


def read_manifest(path: Path) -> set[str]:
    return set(json.loads(path.read_text())) if path.is_file() else set()


def retire(pristine: Path, tree: Path, paths: set[str]) -> None:
    """Replace files that are no longer ours with the pristine ones, or delete them.

    The pristine file is copied, not linked: make compares times, and the original is older
    than the object compiled from our file.
    """
    for path in paths:
        if (pristine / path).is_file():
            mode = (pristine / path).stat().st_mode & 0o777
            write_atomically(tree / path, (pristine / path).read_bytes(), mode)
        else:
            (tree / path).unlink(missing_ok=True)


@dataclass(frozen=True)
class Prepared:
    """A tree ready for make, and a checksum of everything the image is made from."""

    path: Path
    stamp: str


def prepare(source: Source, without: str = "", mutated: bool = False) -> Prepared:
    """Update the lab's own tree: hard links to pristine files, and the changed and added files.

    Kernels that tests boot have a separate tree, which contains the mutants.
    """
    key = f"{source.key}-mutants" if mutated else source.key
    with locked(f"plan-{key}"):
        wanted = plan(source.tree, source.version, without)
        if mutated:
            wanted = replace(wanted, added=mutants.mutate(wanted.added, CACHE))
    return update(source, key, wanted.all)


def update(source: Source, key: str, files: dict[str, bytes]) -> Prepared:
    """Make the lab's tree of this name mirror the source, but for these files."""
    require_clean(source.tree)
    tree, manifest = TREES / key, TREES / f"{key}.json"
    with locked(f"tree-{key}"):
        retire(source.tree, tree, read_manifest(manifest) - set(files))
        state = mirror(source, tree, set(files))
        write_atomically(manifest, json.dumps(sorted(files)).encode())
        written = write(tree, files)
    if written:
        shown = ", ".join(written[:3]) + (", …" if len(written) > 3 else "")
        ui.note(f"{ui.plural(len(written), 'file')} of the tree updated: {shown}")
    digest = hashlib.sha256(state.encode())
    for path in sorted(path for path in files if not path.startswith(NOT_COMPILED)):
        digest.update(path.encode() + b"\0" + files[path])
    return Prepared(tree, digest.hexdigest())


def mirror(source: Source, tree: Path, managed: set[str]) -> str:
    """Mirror the source: a fetched one only once, a user's tree again each time it changes."""
    complete = tree.with_name(f"{tree.name}.mirrored")
    if source.ours and complete.is_file():
        return complete.read_text()
    if not tree.exists():
        ui.note(f"mirroring {source.tree.name}")
    state = link_tree(source.tree, tree, managed)
    write_atomically(complete, state.encode())
    return state


def untouched(source: Source) -> Prepared:
    """Return the pristine tree itself, for a kernel without Swathe."""
    require_clean(source.tree)
    if source.ours:
        return Prepared(source.tree, str(source.version))
    entries = sorted((entry.path, entry.stat(follow_symlinks=False)) for entry in walk(source.tree))
    digest = hashlib.sha256()
    for path, stat in entries:
        digest.update(f"{path} {stat.st_mtime_ns} {stat.st_size}\n".encode())
    return Prepared(source.tree, digest.hexdigest())
