# SPDX-License-Identifier: GPL-2.0-only
"""Check that a program can run in a guest, which has no shared libraries."""

import struct
from pathlib import Path

from swathe.base.errors import UsageError
from swathe.kernel.arch import ARCHES, Arch

NAMES = {arch.elf_machine: name for name, arch in ARCHES.items()}
MAGIC = b"\x7fELF"
PT_INTERP = 3


def wants_interpreter(image: bytes) -> bool:
    """Whether a 64-bit little-endian ELF image has a PT_INTERP header."""
    try:
        (offset,) = struct.unpack_from("<Q", image, 32)
        size, count = struct.unpack_from("<HH", image, 54)
        types = [struct.unpack_from("<I", image, offset + i * size)[0] for i in range(count)]
    except struct.error as error:
        raise UsageError("the program's ELF headers are damaged") from error
    return PT_INTERP in types


def machine(image: bytes) -> int:
    """Return the e_machine field of an ELF image."""
    return int.from_bytes(image[18:20], "little")


def is_program(path: Path, target: Arch) -> bool:
    """Whether the file is an ELF program or library for target."""
    with path.open("rb") as file:
        head = file.read(20)
    return head.startswith(MAGIC) and machine(head) == target.elf_machine


def require_runnable(program: Path, target: Arch) -> None:
    """Accept scripts (the guest has busybox's sh) and static programs built for target."""
    if not program.is_file():
        raise UsageError(f"{program}: there is no such program")
    image = program.read_bytes()
    if image.startswith(b"#!"):
        return
    if not image.startswith(MAGIC):
        raise UsageError(f"{program} is neither an ELF program nor a script")
    dynamic = wants_interpreter(image)
    if machine(image) != target.elf_machine:
        built = NAMES.get(machine(image), "another machine")
        raise UsageError(f"{program} is built for {built}, not for {target.name}")
    if dynamic:
        raise UsageError(f"{program} is linked dynamically: link it with {target.compiler} -static")
