# SPDX-License-Identifier: GPL-2.0-only
"""The pages: their links lead somewhere, and what they name is there."""

import re
from pathlib import Path

import pytest

from swathe.base.paths import OVERLAY, ROOT
from swathe.cli import test_parts
from swathe.kernel import hooks

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
TESTS = OVERLAY / "tools/testing/selftests/unmap"
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
NAMED_TEST = re.compile(r"`(\w+) -t (\w+)`")
COUNTER = re.compile(r"`((?:evict|put_back|discard|flushes|tables|run_order)_\w+)`")
BUG = re.compile(r"\bbug (\d+)")
HOOK = re.compile(r"`([a-z]\w*?__\w+__\w+)`")


def anchors(page: Path) -> set[str]:
    """How GitHub names the headings of a page."""
    titles = HEADING.findall(page.read_text())
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link}"


def test_the_readme_is_read_in_a_minute() -> None:
    assert len((ROOT / "README.md").read_text().split()) < 900


def test_operators_are_told_of_counters_that_there_are() -> None:
    page = (ROOT / "docs/operate.md").read_text()
    guide = (OVERLAY / "Documentation/admin-guide/mm/unmap.rst").read_text()
    named = set(COUNTER.findall(page))
    assert {"evict_runs", "tables_freed"} <= named
    assert all(f"``{name}``" in guide for name in named)
    assert len(page.splitlines()) <= 150


def test_contributors_are_told_of_the_parts_that_there_are() -> None:
    assert f"\n\n{test_parts.told()}\n\n" in (ROOT / "CONTRIBUTING.md").read_text()


def test_every_hook_is_told_of_once() -> None:
    told = (ROOT / "docs/apply.md").read_text()
    rules = {hook.rule.stem for hook in hooks.load()}
    assert [name for name in sorted(rules) if told.count(f"`{name}`") != 1] == []
    assert f"There are {len(rules)}." in told


def test_every_bug_is_listed_with_tests_that_exist() -> None:
    page = (ROOT / "docs/bugs.md").read_text()
    listed = [int(number) for number in re.findall(r"^(\d+)\. \*\*", page, re.MULTILINE)]
    assert listed == list(range(1, len(listed) + 1))
    sources = {path.stem: path.read_text() for path in TESTS.rglob("*.c")}
    said = {int(number) for text in sources.values() for number in BUG.findall(text)}
    assert said <= set(listed)
    for program, test in NAMED_TEST.findall(page):
        assert re.search(rf"\b{test}", sources[program]), f"{program} -t {test}"


@pytest.mark.parametrize("name", ["stock-bugs.md", "upstream.md"])
def test_pages_name_tests_and_hooks_that_exist(name: str) -> None:
    page = (ROOT / "docs" / name).read_text()
    sources = {path.stem: path.read_text() for path in TESTS.glob("*.c")}
    for program, test in NAMED_TEST.findall(page):
        assert re.search(rf"\b{test}\b", sources[program]), f"{program} -t {test}"
    assert HOOK.findall(page)
    assert set(HOOK.findall(page)) <= {hook.name for hook in hooks.load()}
