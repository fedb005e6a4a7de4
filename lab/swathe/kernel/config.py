# SPDX-License-Identifier: GPL-2.0-only
"""Configure a kernel: merge fragments over tinyconfig, and check every requested option.

Not every kernel has every option. A fragment says so in a line "# CONFIG_X may be missing": its
request for CONFIG_X is then met, too, by a configuration without a line for CONFIG_X. There is
none if no Kconfig file defines the option, or if what it depends on is not set.
"""

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from swathe.base import process
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import CONFIGS, write_atomically

SET = re.compile(r"^(CONFIG_\w+)=(.*)$")
UNSET = re.compile(r"^# (CONFIG_\w+) is not set$")
OPTIONAL = re.compile(r"^# (CONFIG_\w+) may be missing$", re.MULTILINE)


# For each flavor: its fragments, and whether the tests of mm/unmap are built in.
FLAVORS = {"bench": (("bench",), False), "distro": (("bench", "distro"), False),
           "debug": (("debug",), True),
           "kcsan": (("debug", "kcsan"), True)}  # fmt: skip
# Flavors for one architecture only.
SINGLE = {"distro": "x86_64"}
VARIANTS = CONFIGS / "variants"


def variants() -> list[str]:
    """Return the names of configs/variants/*.config; each can be merged over any flavor."""
    return sorted(path.stem for path in VARIANTS.glob("*.config"))


@dataclass(frozen=True)
class Flavor:
    """Chooses the fragments of a configuration; the variant's fragment is the last."""

    name: str
    arch: str
    pristine: bool
    variant: str = ""

    @property
    def tested(self) -> bool:
        """Whether the kernel contains the tests of mm/unmap and the mutants."""
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


def require_arch(flavor: str, arch: str) -> None:
    """Raise if the flavor is not for this architecture."""
    if arch != SINGLE.get(flavor, arch):
        raise UsageError(f"--flavor {flavor} is for --arch {SINGLE[flavor]} only")


def parse(text: str) -> dict[str, str]:
    """Return the options of a fragment or .config; an option that is not set is "n"."""
    options = {}
    for line in text.splitlines():
        if match := SET.match(line):
            options[match[1]] = match[2]
        elif match := UNSET.match(line):
            options[match[1]] = "n"
    return options


def unmet(
    requested: dict[str, str], final: dict[str, str], optional: Collection[str] = ()
) -> list[str]:
    """Return the requests that the final configuration lacks, as lines of a .config."""
    return [
        f"{name}={value}" for name, value in requested.items()
        if final.get(name, "n") != value and (name in final or name not in optional)
    ]  # fmt: skip


def request(fragments: list[Path]) -> dict[str, str]:
    """Merge the requests of all fragments; a later fragment overrides."""
    options: dict[str, str] = {}
    for path in fragments:
        options |= parse(path.read_text())
    return options


def may_be_missing(fragments: list[Path]) -> set[str]:
    """Return the options that a kernel need not have."""
    return {name for path in fragments for name in OPTIONAL.findall(path.read_text())}


def checksum(out: Path) -> str:
    """Return twelve hex digits that identify the configuration in reports."""
    return hashlib.sha256((out / ".config").read_bytes()).hexdigest()[:12]


def stamp(tree: Path, fragments: list[Path]) -> str:
    """Return a checksum of a configuration's inputs: the fragments and our Kconfig files."""
    digest = hashlib.sha256()
    for path in [*fragments, tree / "mm/Kconfig", tree / "mm/unmap/Kconfig"]:
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def configure(make: list[str], tree: Path, out: Path, flavor: Flavor) -> None:
    """Make out/.config unless it is up to date; raise if it lacks a requested option."""
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
    """Merge fragments into out/.config; raise if a requested option is missing."""
    merge = [str(tree / "scripts/kconfig/merge_config.sh"), "-m", "-O", str(out)]
    names = [str(path) for path in fragments]
    process.check(
        [*merge, str(out / ".config"), *names], "merging configuration fragments", cwd=out
    )
    process.check([*make, "olddefconfig"], "make olddefconfig")
    final = parse((out / ".config").read_text())
    missed = unmet(request(fragments), final, may_be_missing(fragments))
    if missed:
        raise CheckFailed(
            f"this kernel cannot be configured with {', '.join(missed)} "
            f"(requested in {', '.join(path.name for path in fragments)})"
        )
