# SPDX-License-Identifier: GPL-2.0-only
"""Run other programs: arguments are a list, every call is echoed and logged."""

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from swathe.base import ui
from swathe.base.errors import CheckFailed, EnvironmentLacks
from swathe.base.paths import BUILD

LOG = BUILD / "log" / "swathe.log"
SHORT = 100
# The programs that run now, for end_all().
RUNNING: set[subprocess.Popen[bytes] | subprocess.Popen[str]] = set()
NO_SPACE = "No space left on device"


@dataclass(frozen=True)
class Done:
    """A program's exit status and all its output."""

    status: int
    output: str

    @property
    def ok(self) -> bool:
        return self.status == 0


def echo(argv: Sequence[str]) -> None:
    """Write the whole command to the log, and its beginning to stderr."""
    line = shlex.join(argv)
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open("a") as log:
        log.write(f"$ {line}\n")
    short = line.replace(f"{BUILD}/", "")
    ui.remark("$ " + (short if len(short) <= SHORT else short[: SHORT - 1] + "…"))


def missing(program: str) -> EnvironmentLacks:
    """Return the error for a program that is not installed; the launcher has installed its own."""
    if shutil.which("dpkg-query"):
        return EnvironmentLacks(f"{program} is not installed: install it with apt-get")
    return EnvironmentLacks(
        f"{program} is not installed: install it, or use a container (see the Containerfile)"
    )


@contextlib.contextmanager
def told(program: str) -> Iterator[None]:
    """Turn what can go wrong with a program into the lab's errors."""
    try:
        yield
    except FileNotFoundError as error:
        if error.filename != program:  # the directory
            raise
        raise missing(program) from error
    except subprocess.TimeoutExpired as error:
        raise CheckFailed(f"{program} did not end within {error.timeout:.0f} s") from error


def run(
    argv: Sequence[str],
    *,
    timeout: float = 600,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    quiet: bool = False,
    stdout: IO[bytes] | None = None,
) -> Done:
    """Run a program to its end; a nonzero exit status raises nothing.

    If stdout is a file, the program's stdout goes there, and Done.output is its stderr.
    """
    if not quiet:
        echo(argv)
    errors = subprocess.PIPE if stdout else subprocess.STDOUT
    with told(argv[0]):
        child = subprocess.Popen(
            argv, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
            stdout=stdout or subprocess.PIPE, stderr=errors,
        )  # fmt: skip
        with running(child):
            out, err = child.communicate(timeout=timeout)
    return Done(child.returncode, (err if stdout else out).decode(errors="replace"))


def passes(argv: Sequence[str], *, timeout: float) -> bool:
    """Run a program whose output goes where this one's does; return whether its status is 0."""
    echo(argv)
    with told(argv[0]):
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
        with running(child):
            return child.wait(timeout=timeout) == 0


@contextlib.contextmanager
def running(child: subprocess.Popen[bytes] | subprocess.Popen[str]) -> Iterator[None]:
    """Have end_all() know the program; kill it if the block is left before it has ended."""
    RUNNING.add(child)
    try:
        with child:
            try:
                yield
            except BaseException:
                child.kill()
                raise
    finally:
        RUNNING.discard(child)


def end_all() -> None:
    """End the programs that other threads run: nobody will read what they say."""
    for child in list(RUNNING):
        child.terminate()


def check(argv: Sequence[str], what: str, *, timeout: float = 600, cwd: Path | None = None) -> str:
    """Run a program that must succeed; the error holds what and the program's last line."""
    done = run(argv, timeout=timeout, cwd=cwd)
    if done.ok:
        return done.output
    if NO_SPACE in done.output:
        raise EnvironmentLacks(f"the disk is full: {what}")
    raise CheckFailed(f"{what} failed: {last_line(done.output) or f'status {done.status}'}")


def last_line(text: str) -> str:
    """Return the last line that is not blank."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def stream(
    argv: Sequence[str], log: Path, on_line: Callable[[str], None], env: Mapping[str, str]
) -> int:
    """Run a long program; pass each line of its output to the log and to on_line at once."""
    echo(argv)
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w", buffering=1) as file,
        subprocess.Popen(
            argv,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as child,
        running(child),
    ):
        assert child.stdout is not None
        for line in child.stdout:
            file.write(line)
            on_line(line)
        return child.wait()
