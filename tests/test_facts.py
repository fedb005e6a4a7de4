# SPDX-License-Identifier: GPL-2.0-only
"""What several pages say of kernels, architectures, bits and counts is the same, and true."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from swathe.base.paths import HOOKS, OVERLAY, ROOT
from swathe.kernel import hooks, mutants
from swathe.kernel.arch import ARCHES
from swathe.kernel.source import KERNELS
from swathe.kernel.version import Version
from swathe.race import scene

DOCS = ROOT / "docs"
README, STATUS, GAPS = ROOT / "README.md", DOCS / "status.md", DOCS / "gaps.md"
OPERATE, VERSIONS = DOCS / "operate.md", DOCS / "versions.md"
SHARED = (README, STATUS, OPERATE, VERSIONS)
# Said in the same words wherever it is said.
TESTED = (
    "Linux 6.12 with Swathe is tested on x86_64 and arm64, Linux 7.3 on x86_64 and in part on "
    "arm64, Linux 6.18 in part on x86_64"
)
FEATURE = re.compile(r"(0x[0-9a-f]{4}) ")
BIT = re.compile(r"^(0x[0-9a-f]{4})  [A-Z]", re.MULTILINE)
NAMED_RELEASE = re.compile(r"\b(?:6\.12|6\.18|7\.3)\.\d+\b")
COUNTED = re.compile(r"\b(\d+)\s+(hooks|semantic patches|scenes|mutants)\b")
DATE = re.compile(r"20\d\d-\d\d-\d\d")
SYSTEMS = [(kernel, arch) for kernel in KERNELS for arch in ARCHES]
Count = Callable[[str, str], int]


def plain(page: Path) -> str:
    return " ".join(page.read_text().split())


def rows(page: Path) -> Iterator[list[str]]:
    """Yield the cells of each row of a page's tables."""
    for line in page.read_text().splitlines():
        if line.startswith("|") and not line.startswith("|--"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def matrix() -> dict[str, list[str]]:
    """What status.md says of each feature on each kernel and architecture."""
    return {cells[0]: cells[1:] for cells in rows(STATUS) if len(cells) == 1 + len(SYSTEMS)}


def fitting_hooks(kernel: str, _: str = "") -> int:
    return len(hooks.fitting(hooks.load(), Version.parse(kernel)))


def findable_mutants(kernel: str, arch: str) -> int:
    return len(mutants.meant_for(mutants.load(), Version.parse(kernel), arch))


def playable_scenes(kernel: str, arch: str) -> int:
    found = map(scene.load, scene.names())
    return sum(kernel in (one.kernels or KERNELS) and arch in one.arches for one in found)


COUNTS: dict[str, tuple[str, Count]] = {
    "hooks": ("hooks", fitting_hooks),
    "semantic patches": ("hooks", fitting_hooks),
    "mutants": ("mutants that a test must find", findable_mutants),
    "scenes": ("scenes (races that are arranged)", playable_scenes),
}


def test_the_matrix_has_a_column_for_each_kernel_and_architecture() -> None:
    assert matrix()["feature"] == [f"{kernel} {arch}" for kernel, arch in SYSTEMS]


@pytest.mark.parametrize("what", COUNTS)
def test_the_matrix_counts_the_files(what: str) -> None:
    row, count = COUNTS[what]
    assert matrix()[row] == [str(count(*system)) for system in SYSTEMS]


def test_everything_counts_somewhere() -> None:
    """The first column has all scenes; each mutant is in one of them."""
    assert playable_scenes("6.12", "x86_64") == len(list((ROOT / "scenes").glob("*.toml")))
    found = {
        mutant.name for kernel, arch in SYSTEMS
        for mutant in mutants.meant_for(mutants.load(), Version.parse(kernel), arch)
    }  # fmt: skip
    assert found == {path.stem for path in (ROOT / "mutants").glob("*.cocci")}
    rules = {hook.rule for hook in hooks.load()}
    assert len(rules) == len(list(HOOKS.glob("*.cocci")))


@pytest.mark.parametrize("page", [*SHARED, GAPS], ids=lambda page: page.name)
def test_a_page_counts_as_the_matrix_does(page: Path) -> None:
    for number, what in COUNTED.findall(page.read_text()):
        assert number in matrix()[COUNTS[what][0]], f"{page.name}: {number} {what}"


@pytest.mark.parametrize("page", SHARED, ids=lambda page: page.name)
def test_pages_agree_on_what_is_tested(page: Path) -> None:
    assert plain(page).count(TESTED) == 1
    assert set(NAMED_RELEASE.findall(page.read_text())) <= {*NAMED_RELEASE.findall(plain(STATUS))}


# The pages say that it is tested in part only.
NEW_BIT = "0x0004 "


def test_what_is_tested_is_what_the_matrix_says() -> None:
    bits = {name: cells for name, cells in matrix().items() if FEATURE.match(name)}
    assert bits
    for name, cells in bits.items():
        if name.startswith(NEW_BIT):
            continue
        assert cells == ["tested", "tested", "in part", "untested", "tested", "in part"], name


def test_pages_know_the_bits_that_there_are() -> None:
    guide = (OVERLAY / "Documentation/admin-guide/mm/unmap.rst").read_text()
    bits = BIT.findall(guide)
    assert [found[1] for name in matrix() if (found := FEATURE.match(name))] == bits
    every = sum(int(bit, 16) for bit in bits)
    steps = [
        int(mask, 16) for mask in re.findall(r"^\| \d \| `(0x\w+)`", OPERATE.read_text(), re.M)
    ]
    assert steps[-1] == every
    assert all(before & after == before for before, after in pairwise(steps))
    assert f"    0x{every:04x}\n" in guide


def test_pages_know_the_default_policy() -> None:
    guide = (OVERLAY / "Documentation/admin-guide/mm/unmap.rst").read_text()
    (default,) = re.findall(r"^``(\w+)`` .*\(default\)", guide, re.MULTILINE)
    (step,) = [cells for cells in rows(OPERATE) if "The default." in cells[-1]]
    assert f"`echo {default} >" in step[1]


def test_the_status_is_read_at_a_glance() -> None:
    lines = STATUS.read_text().splitlines()
    assert len(lines) <= 80
    assert max(map(len, lines)) <= 400


@pytest.mark.parametrize("page", [STATUS, GAPS], ids=lambda page: page.name)
def test_every_gap_has_its_evidence_and_date(page: Path) -> None:
    gaps = [cells for cells in rows(page) if DATE.fullmatch(cells[-1])]
    assert len(gaps) >= 20
    named = [cells for cells in rows(page) if cells[-1] != "date" and len(cells) < len(SYSTEMS) + 1]
    assert named == gaps
    assert all(all(cells) for cells in gaps)
