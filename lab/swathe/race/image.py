# SPDX-License-Identifier: GPL-2.0-only
"""A kernel image that was not built here: its functions' addresses are read in a guest."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from swathe.base import ui
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import BUILD, write_atomically
from swathe.guest import session, vm
from swathe.guest.clock import Clock
from swathe.kernel.arch import Arch
from swathe.kernel.build import BuiltKernel
from swathe.race import places
from swathe.race.places import PLACE, PROGRAM, Symbols
from swathe.race.scene import Scene

# Places are addresses.
BOOT = "nokaslr norandmaps"
# Of an image: its functions end in plain returns.
IMAGE_BOOT = f"{BOOT} mitigations=off quiet rdinit=/init"
LIMIT = 600
CPUS = 2
KALLSYMS = "/proc/kallsyms"
# Prints the wanted functions, and what follows each.
FIND = (
    "BEGIN { split(names, word); for (i in word) want[word[i]] } "
    '{ if (last && $1 != last) { print; last = "" } if ($3 in want) { print; last = $1 } }'
)


def built(image: Path, target: Arch) -> BuiltKernel:
    """Return the image as a kernel; it has no tree, and no configuration that is known."""
    if not image.is_file():
        raise UsageError(f"--image {image}: there is no such file")
    return BuiltKernel(f"image {image.name}", image, Path(), Path(), "", target)


def machine(kernel: BuiltKernel, boot: str, timeout: float) -> vm.Machine:
    words = " ".join(filter(None, (vm.FOUR_LEVELS, IMAGE_BOOT, boot)))
    return vm.Machine(
        kernel, CPUS, wanted_clock=Clock.HOST, boot=words, timeout=timeout, bare=True
    )  # fmt: skip


def names(scenes: Iterable[Scene]) -> list[str]:
    """Return the kernel's functions that the scenes' gates name."""
    texts = {
        text
        for scene in scenes
        for gate in scene.gate
        for places in (gate.stop, gate.since, *gate.until)
        for text in places.split("|")
    }
    matches = (PLACE.fullmatch(text) for text in texts if not text.startswith(PROGRAM))
    return sorted({match["name"] for match in matches if match})


def symbols(kernel: BuiltKernel, given: Path | None, scenes: Iterable[Scene]) -> Symbols:
    """Return the functions that the scenes name: from a System.map, or the guest's own list."""
    if given:
        if not given.is_file():
            raise UsageError(f"--symbols {given}: there is no such file")
        return places.parse(given.read_text(), given.name)
    wanted = names(scenes)
    digest = hashlib.sha256(kernel.image.read_bytes() + " ".join(wanted).encode()).hexdigest()
    kept = BUILD / "race" / f"{digest[:16]}.symbols"
    if not kept.is_file():
        write_atomically(kept, look(kernel, wanted).encode())
    return places.parse(kept.read_text(), kernel.version)


def look(kernel: BuiltKernel, wanted: list[str]) -> str:
    """Boot the image, and return the lines of its list of symbols about these functions."""
    ui.note(f"reading the addresses of functions in {KALLSYMS} of {kernel.image.name}")
    lines = [f"report symbols -- awk -v names='{' '.join(wanted)}' '{FIND}' {KALLSYMS}"]
    heard = session.run(machine(kernel, "", LIMIT), session.job(lines, {}), "race-symbols")
    found = heard.whole().of("symbols")
    text = "\n".join(line for section in found for line in section.lines) + "\n"
    if not text.strip():
        raise CheckFailed(
            f"{kernel.image.name} lists no symbol named {', '.join(wanted)} in {KALLSYMS}: "
            f"give its System.map with --symbols"
        )
    return text
