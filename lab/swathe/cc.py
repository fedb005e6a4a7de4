# SPDX-License-Identifier: GPL-2.0-only
"""Compile the programs that go into a guest, once for each content."""

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

from swathe import proc
from swathe.errors import CheckFailed
from swathe.paths import BUILD

FLAGS = ("-static", "-O2", "-Wall", "-Wextra")


@functools.cache
def compiler() -> str:
    """The compiler's own first line about itself."""
    return proc.run(["gcc", "--version"], quiet=True).output.splitlines()[0]


def compile_program(source: Path, flags: Sequence[str] = (), depends: Sequence[Path] = ()) -> Path:
    """The static program made from one C file; depends are the headers it includes."""
    digest = hashlib.sha256(" ".join([compiler(), *FLAGS, *flags]).encode())
    for path in [source, *sorted(depends)]:
        digest.update(path.read_bytes())
    program = BUILD / "bin" / digest.hexdigest()[:16] / source.stem
    if program.is_file():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    partial = program.with_suffix(".tmp")
    argv = ["gcc", *FLAGS, *flags, "-o", str(partial), str(source)]
    done = proc.run(argv, timeout=120)
    if not done.ok:
        errors = [line for line in done.output.splitlines() if "error" in line]
        raise CheckFailed(f"{source.name} does not compile: {(errors or [done.output])[0]}")
    partial.rename(program)
    return program
