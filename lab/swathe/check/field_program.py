# SPDX-License-Identifier: GPL-2.0-only
"""Compile swathe-proof, the test program for real machines: all of field/, linked statically."""

from pathlib import Path

from swathe.base.paths import BUILD, ROOT, write_atomically
from swathe.kernel import compiler
from swathe.kernel.arch import Arch

SOURCES = ROOT / "field"
PROOF = BUILD / "field" / "swathe-proof"


def compile_proof(target: Arch) -> Path:
    """Compile all of field/ into the static program."""
    first = SOURCES / "proof.c"
    rest = sorted(path for path in SOURCES.glob("proof_*.c"))
    return compiler.compile_program(
        [first, *rest], ["-pthread"], sorted(SOURCES.glob("*.h")), target.compiler
    )


def install(target: Arch) -> Path:
    """Copy the program to the directory where users find it; return its path."""
    write_atomically(PROOF, compile_proof(target).read_bytes(), 0o755)
    return PROOF
