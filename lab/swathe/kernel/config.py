# SPDX-License-Identifier: GPL-2.0-only
"""Kernel configuration: fragments merged over tinyconfig, and every request checked."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from swathe.base import process
from swathe.base.errors import CheckFailed
from swathe.base.paths import CONFIGS, write_atomically

SET = re.compile(r"^(CONFIG_\w+)=(.*)$")
UNSET = re.compile(r"^# (CONFIG_\w+) is not set$")


# The fragments of each flavor, and whether the overlay's own tests are built in.
FLAVORS = {"bench": (("bench",), False), "debug": (("debug",), True),
           "kcsan": (("debug", "kcsan"), True)}  # fmt: skip
VARIANTS = CONFIGS / "variants"


def variants() -> list[str]:
    """The names of configs/variants/*.config: what can be laid over any flavor."""
    return sorted(path.stem for path in VARIANTS.glob("*.config"))


@dataclass(frozen=True)
class Flavor:
    """Which fragments make up a configuration; a variant's is the last."""

    name: str
    arch: str
    pristine: bool
    variant: str = ""

    @property
    def tested(self) -> bool:
        """Whether it is for tests: with the overlay's own ones, and to be broken on purpose."""
        return FLAVORS[self.name][1]

    def fragments(self) -> list[Path]:
        own, _ = FLAVORS[self.name]
        names = ["base", self.arch]
        for name in own:
            names += [name, f"{self.arch}-{name}"]
        if not self.pristine:
            names += ["swathe"] + (["swathe-debug"] if self.tested else [])
        if self.variant:
            names.append(f"variants/{self.variant}")
        paths = [CONFIGS / f"{name}.config" for name in names]
        return [path for path in paths if path.is_file()]


def parse(text: str) -> dict[str, str]:
    """Options of a fragment or .config; one that is not set has the value "n"."""
    options = {}
    for line in text.splitlines():
        if match := SET.match(line):
            options[match[1]] = match[2]
        elif match := UNSET.match(line):
            options[match[1]] = "n"
    return options


def unmet(requested: dict[str, str], final: dict[str, str]) -> list[str]:
    """The requests the final configuration does not fulfil, as one would write them."""
    return [f"{name}={value}" for name, value in requested.items() if final.get(name, "n") != value]


def request(fragments: list[Path]) -> dict[str, str]:
    """What all fragments ask for together; a later one overrides."""
    options: dict[str, str] = {}
    for path in fragments:
        options |= parse(path.read_text())
    return options


def checksum(out: Path) -> str:
    """Twelve digits that name a configuration in every report."""
    return hashlib.sha256((out / ".config").read_bytes()).hexdigest()[:12]


def stamp(tree: Path, fragments: list[Path]) -> str:
    """What a configuration depends on: the fragments, and the Kconfig files that are ours."""
    digest = hashlib.sha256()
    for path in [*fragments, tree / "mm/Kconfig", tree / "mm/unmap/Kconfig"]:
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def configure(make: list[str], tree: Path, out: Path, flavor: Flavor) -> None:
    """Make out/.config unless it is up to date, and name every request it does not meet."""
    fragments = flavor.fragments()
    done, want = out / ".swathe-config", stamp(tree, fragments)
    if (out / ".config").is_file() and done.is_file() and done.read_text() == want:
        return
    out.mkdir(parents=True, exist_ok=True)
    done.unlink(missing_ok=True)
    process.check([*make, "tinyconfig"], "make tinyconfig")
    settle(make, tree, out, fragments)
    write_atomically(done, want.encode())


def settle(make: list[str], tree: Path, out: Path, fragments: list[Path]) -> None:
    """Merge fragments into out/.config, and name every request that is not met."""
    merge = [str(tree / "scripts/kconfig/merge_config.sh"), "-m", "-O", str(out)]
    names = [str(path) for path in fragments]
    process.check(
        [*merge, str(out / ".config"), *names], "merging configuration fragments", cwd=out
    )
    process.check([*make, "olddefconfig"], "make olddefconfig")
    missed = unmet(request(fragments), parse((out / ".config").read_text()))
    if missed:
        raise CheckFailed(
            f"this kernel's Kconfig does not grant {', '.join(missed)} "
            f"(asked for in {', '.join(path.name for path in fragments)})"
        )
