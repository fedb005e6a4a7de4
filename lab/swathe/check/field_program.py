# SPDX-License-Identifier: GPL-2.0-only
"""swathe-proof, the program that is for real machines: all of field/, linked statically."""

from pathlib import Path

from swathe.base.paths import BUILD, ROOT, write_atomically
from swathe.kernel import compiler
from swathe.kernel.arch import Arch

SOURCES = ROOT / "field"
PROOF = BUILD / "field" / "swathe-proof"


def compile_proof(target: Arch) -> Path:
    """The static program, from all of field/."""
    first = SOURCES / "proof.c"
    rest = sorted(path for path in SOURCES.glob("proof_*.c"))
    return compiler.compile_program(
        [first, *rest], ["-pthread"], sorted(SOURCES.glob("*.h")), target.compiler
    )


def install(target: Arch) -> Path:
    """Where people find it."""
    write_atomically(PROOF, compile_proof(target).read_bytes(), 0o755)
    return PROOF
