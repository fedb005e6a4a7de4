# SPDX-License-Identifier: GPL-2.0-only
"""Compile the programs for real machines, swathe-field and swathe-proof, linked statically."""

from dataclasses import dataclass
from pathlib import Path

from swathe.base.paths import BUILD, ROOT, WORKLOADS, write_atomically
from swathe.kernel import compiler
from swathe.kernel.arch import Arch

SOURCES = ROOT / "field"
# swathe-field has its own note_counters() in place of the one in report.c.
WORKLOAD_PARTS = (
    "anon", "census", "child", "datafile", "measure", "nodes", "request", "tables", "text",
    "workers",
)  # fmt: skip


@dataclass(frozen=True)
class FieldProgram:
    """A program of field/: NAME.c, all NAME_*.c, machine.c, and files of workloads/lib."""

    name: str
    source: str
    parts: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    @property
    def installed(self) -> Path:
        return BUILD / "field" / self.name

    def compile(self, target: Arch, flags: tuple[str, ...] = ()) -> Path:
        first, *rest = (SOURCES / f"{self.source}.c", *sorted(SOURCES.glob(f"{self.source}_*.c")))
        shared = [SOURCES / "machine.c", *(library(f"{part}.c") for part in self.parts)]
        headers = [*SOURCES.glob("*.h"), *library("").glob("*.h")]
        return compiler.compile_program(
            [first, *rest, *shared],
            ["-pthread", *flags],
            sorted(headers),
            target.compiler,
            self.libraries,
        )

    def install(self, target: Arch) -> Path:
        """Copy the program to the directory where users find it; return its path."""
        write_atomically(self.installed, self.compile(target).read_bytes(), 0o755)
        return self.installed


def library(name: str) -> Path:
    return WORKLOADS / "lib" / name


MEASURE = FieldProgram("swathe-field", "measure", WORKLOAD_PARTS, ("-lm",))
PROOF = FieldProgram("swathe-proof", "proof")
