# SPDX-License-Identifier: GPL-2.0-only
"""Paths of the repository. All generated files are below build/."""

import contextlib
import fcntl
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from swathe.base.errors import UsageError

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SWATHE_BUILD", ROOT / "build"))

OVERLAY = ROOT / "kernel"
HOOKS = ROOT / "hooks"
MAINLINE = ROOT / "mainline"
MUTANTS = ROOT / "mutants"
CONFIGS = ROOT / "configs"
WORKLOADS = ROOT / "workloads"
SCENES = ROOT / "scenes"
GUEST_INIT = ROOT / "lab" / "guest" / "init.c"
GUEST_POWERCUT = ROOT / "lab" / "guest" / "powercut.c"
HOST_TSC = ROOT / "lab" / "host" / "tsc.c"
SELFTESTS = Path("tools/testing/selftests/unmap")


def write_atomically(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write under a temporary name, then rename: a hard link to the old file keeps its content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        Path(name).chmod(mode)
        Path(name).rename(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_if_changed(path: Path, data: bytes, mode: int = 0o644) -> bool:
    """Write the file only if its content differs, so that make does not rebuild needlessly."""
    if path.is_file() and path.read_bytes() == data:
        return False
    write_atomically(path, data, mode)
    return True


def require_new(directory: Path) -> None:
    """Raise unless the directory is empty, or does not exist and its parent does."""
    if not directory.parent.is_dir():
        raise UsageError(f"there is no directory {directory.parent}: make it first")
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file: name a new or an empty directory")
    if directory.is_dir() and any(directory.iterdir()):
        raise UsageError(f"{directory} is not empty: name a new or an empty directory")


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let SIGINT and SIGTERM wait for the end of a block that must be done as a whole."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def new_directory(directory: Path) -> Iterator[Path]:
    """Fill a directory under a temporary name, then rename it; errors leave nothing behind.

    A directory that exists stays, since a shell may be in it: its entries are moved there.
    """
    require_new(directory)
    exists = directory.is_dir()
    parent = directory if exists else directory.parent
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}.", dir=parent) as name:
        made = Path(name) / directory.name
        made.mkdir()
        yield made
        if not exists:
            made.rename(directory)
            return
        with uninterrupted():
            for entry in list(made.iterdir()):
                entry.rename(directory / entry.name)


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock called name: other swathe processes that want it wait."""
    path = BUILD / "lock" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for {name}, which is in use", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """Make a temporary directory below build/: files can be renamed from there into build/."""
    parent = BUILD / "tmp"
    parent.mkdir(parents=True, exist_ok=True)
    sweep(parent)
    with tempfile.TemporaryDirectory(prefix=f"{prefix}.{os.getpid()}.", dir=parent) as name:
        yield Path(name)


def sweep(parent: Path) -> None:
    """Remove the directories of killed processes; a directory's name holds the process ID."""
    for path in parent.iterdir():
        owner = path.name.split(".")[1] if path.name.count(".") >= 2 else ""
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(path, ignore_errors=True)
