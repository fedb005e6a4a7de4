# SPDX-License-Identifier: GPL-2.0-only
"""What "./swathe apply" does to a tree, as a series of patches and as one patch.

The order lets each step compile: new files come first, which nothing builds yet; then the hooks,
with which stock code stays as it is while CONFIG_UNMAP does not exist; at last the lines in
mm/Kconfig and mm/Makefile.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from swathe.kernel import tree
from swathe.kernel.hooks import HookStep
from swathe.kernel.patches import Patch

WIDTH = 75
FIELD = re.compile(r"^(Target|Why here|Missing): +")
# Each field of a rule's header that a message repeats, and what it is called there.
REPEATED = {"Why here": "Why here", "Missing": "Without it"}


@dataclass(frozen=True)
class OverlayPart:
    """Added files that make one patch: those that match a pattern and are in no part before."""

    name: str
    patterns: tuple[str, ...]
    subject: str
    message: str


PARTS = (
    OverlayPart(
        "evict",
        (
            "mm/unmap/evict/*",
            "mm/unmap/ahead/*",
        ),
        "mm/unmap: evict folios in runs",
        "Reclaim takes a folio from a process a run of entries at a time: one TLB invalidation, "
        "one rmap update and one reference update for all of them.",
    ),
    OverlayPart(
        "discard",
        (
            "mm/unmap/discard/*",
            "mm/unmap/linux_6_12/shadows.c",
        ),
        "mm/unmap: discard memory in runs",
        "munmap(), exit, MADV_DONTNEED and truncation clear a page table in one pass.",
    ),
    OverlayPart(
        "tables",
        ("mm/unmap/tables/*", "mm/unmap/drop/*"),
        "mm/unmap: free page tables that have become empty",
        "Stock keeps a page table until its memory is unmapped. These files notice that a table "
        "has become empty, and free it.",
    ),
    OverlayPart(
        "tests",
        ("mm/unmap/tests/*",),
        "mm/unmap: add KUnit tests, and what tests need in a kernel",
        "KUnit suites, wider race windows, and a device that uses user memory as drivers do. "
        "None of it is for production kernels.",
    ),
    OverlayPart(
        "documentation",
        ("Documentation/*",),
        "Documentation: describe mm/unmap",
        "What the administrator can set and read, and the design.",
    ),
    OverlayPart(
        "selftests",
        ("tools/*",),
        "selftests/unmap: add tests of mm/unmap",
        "System-call tests: make -C tools/testing/selftests TARGETS=unmap run_tests",
    ),
    OverlayPart(
        "core",
        ("*",),
        "mm/unmap: add runs, flushes, the switch and the counters",
        "mm/unmap/ takes over unmapping from stock code, a run of page-table entries at a time. "
        "The laws that its code keeps are at the top of mm/unmap/internal.h. Nothing builds "
        "these files yet: a later patch adds them to mm/Kconfig and mm/Makefile.",
    ),
)
FIRST = "core"


def parted(added: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Group the paths of the added files by the part that they are in."""
    found: dict[str, list[str]] = {part.name: [] for part in PARTS}
    for path in sorted(added):
        chosen = next(p for p in PARTS if any(fnmatchcase(path, one) for one in p.patterns))
        found[chosen.name].append(path)
    return found


def overlay(added: Mapping[str, bytes]) -> Iterator[Patch]:
    """Yield the patches that add files; the first has what the others include."""
    paths = parted(added)
    for part in sorted(PARTS, key=lambda part: part.name != FIRST):
        if files := {path: added[path] for path in paths[part.name]}:
            yield Patch(f"unmap-{part.name}", part.subject, fill(part.message), files)


def fill(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def header(rule: str) -> dict[str, str]:
    """Return the header of a rule by field; the summary at its top has no name."""
    fields: dict[str, str] = {}
    name = ""
    for line in (line[3:].strip() for line in rule.splitlines() if line.startswith("///")):
        match = FIELD.match(line)
        name = match[1] if match else name
        text = line[match.end() :] if match else line
        fields[name] = f"{fields.get(name, '')} {text}".strip()
    return fields


def of_hook(step: HookStep) -> Patch:
    """Return the patch of one hook; its message is the rule's header and reason."""
    hook = step.hook
    fields = header(hook.rule.read_text())
    title = fields.get("", hook.why).rstrip(".")
    message = [f"Purpose: {hook.why}."]
    message += [f"{said}: {fields[name]}" for name, said in REPEATED.items() if name in fields]
    message.append(f"Made by the semantic patch hooks/{hook.rule.name}.")
    return Patch(
        hook.name,
        f"{hook.file.removesuffix('.c')}: {title[:1].lower()}{title[1:]}",
        "\n\n".join(fill(text) for text in message),
        {hook.file: step.after.encode()},
    )


def build_lines(wanted: tree.Plan) -> Iterator[Patch]:
    """Yield the patch that lets the kernel be built with mm/unmap."""
    hooked = {step.hook.file for step in wanted.steps}
    lines = {path: data for path, data in wanted.changed.items() if path not in hooked}
    if lines:
        message = "With this the kernel can be configured with CONFIG_UNMAP, and builds mm/unmap/."
        yield Patch("unmap-build", "mm: build mm/unmap", fill(message), lines)


def series(wanted: tree.Plan) -> list[Patch]:
    """Return the patches that together do what "./swathe apply" does."""
    return [*overlay(wanted.added), *map(of_hook, wanted.steps), *build_lines(wanted)]


def flat(wanted: tree.Plan, name: str) -> Patch:
    """Return everything as one patch."""
    message = (
        "Unmap page-table entries in runs, and free page tables that have become empty. "
        "See Documentation/admin-guide/mm/unmap.rst."
    )
    return Patch("flat", f"mm: add Swathe {name}", fill(message), wanted.all)
