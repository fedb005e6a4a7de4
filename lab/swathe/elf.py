# SPDX-License-Identifier: GPL-2.0-only
"""Whether a program can run in a guest that has no shared libraries."""

import struct
from pathlib import Path

from swathe.errors import UsageError

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


def require_static(program: Path) -> None:
    """A script is fine (the guest has busybox's sh), a dynamic program is not."""
    if not program.is_file():
        raise UsageError(f"{program}: there is no such program")
    image = program.read_bytes()
    if image.startswith(b"#!"):
        return
    if not image.startswith(MAGIC):
        raise UsageError(f"{program} is neither an ELF program nor a script")
    if wants_interpreter(image):
        raise UsageError(f"{program} is linked dynamically: build it with gcc -static")
