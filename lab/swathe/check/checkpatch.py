# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own scripts/checkpatch.pl over kernel/: checkpatch.toml has the exceptions.

A finding that no exception is for is a failure, and so is an exception for what is no longer
found. The script is that of the kernel's source. It takes a millisecond for a line, so that what
it says of a file is kept until the file or the script changes.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from msgspec import Struct, json

from swathe.base import parallel, process, processors, reading, ui
from swathe.base.errors import CheckFailed
from swathe.base.paths import BUILD, OVERLAY, scratch, write_atomically
from swathe.base.verdicts import Test, Verdict
from swathe.kernel import source
from swathe.kernel.build import KernelRequest
from swathe.kernel.version import Version, in_range

PART = "checkpatch"
FILE = Path(__file__).with_name("checkpatch.toml")
CACHE = BUILD / "cache" / PART
SCRIPT = Path("scripts/checkpatch.pl")
# What it reads beside the files that it is given.
READ = (SCRIPT, SCRIPT.with_name("spelling.txt"), SCRIPT.with_name("const_structs.checkpatch"))
OPTIONS = ("--strict", "--no-tree", "--terse", "--show-types", "-f")
TIME_LIMIT = 1800
# It would read a configuration at home, and ask git.
ALONE = {"HOME": ".", "GIT_DIR": "none"}
FOUND = re.compile(r"(?P<path>\S+):(?P<line>\d+): [A-Z]+:(?P<kind>\w+): (?P<said>.*)")
TOTAL = re.compile(r"^total: (\d+) errors, (\d+) warnings, (\d+) checks,")


class StyleFinding(Struct, frozen=True, forbid_unknown_fields=True):
    """What the script says of a line; kind is what it calls a type."""

    line: int
    kind: str
    said: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.kind}: {self.said}"


class StyleException(Struct, frozen=True, forbid_unknown_fields=True):
    """Findings that stay, and why.

    files: a pattern of paths below kernel/; min: the first kernel whose script finds them
    """

    files: str
    kinds: tuple[str, ...]
    reason: str
    min: str = ""

    def covers(self, path: str, finding: StyleFinding) -> bool:
        return finding.kind in self.kinds and fnmatch(path, self.files)


# By the path of each file.
StyleFindings = dict[str, list[StyleFinding]]


def exceptions(kernel: Version) -> list[StyleException]:
    """The exceptions for what the script of a kernel finds."""
    found = reading.toml(FILE.read_text(), FILE.name)
    every = reading.convert(found, dict[str, list[StyleException]], FILE.name)["exception"]
    return [exception for exception in every if in_range(kernel, exception.min, "")]


def run(kernel: KernelRequest) -> list[Test]:
    """Check every C file and header that a kernel tree gains."""
    found = source.get(kernel.kernel, kernel.source)
    return list(judge(findings(found.tree, paths()), exceptions(found.version)))


def paths() -> list[str]:
    return sorted(str(path.relative_to(OVERLAY)) for path in OVERLAY.rglob("*.[ch]"))


def judge(found: StyleFindings, allowed: Sequence[StyleException]) -> Iterator[Test]:
    """A test for each file, and one for each exception."""
    for path, every in found.items():
        new = [each for each in every if not any(one.covers(path, each) for one in allowed)]
        yield verdict(path, "; ".join(map(str, new)))
    for exception in allowed:
        gone = ", ".join(unused(exception, found))
        complaint = f"no longer found: {gone}" if gone else ""
        yield verdict(f"exception for {exception.files}", complaint)


def verdict(name: str, complaint: str) -> Test:
    return Test(f"{PART}: {name}", Verdict.FAILED if complaint else Verdict.PASSED, complaint)


def unused(exception: StyleException, found: StyleFindings) -> Iterator[str]:
    """The kinds of an exception that the script does not find in its files."""
    fitting = [every for path, every in found.items() if fnmatch(path, exception.files)]
    kinds = {each.kind for every in fitting for each in every}
    yield from (kind for kind in exception.kinds if kind not in kinds)


def findings(tree: Path, names: Sequence[str]) -> StyleFindings:
    """What the script of a kernel tree says of files; only those that are not known are read."""
    script = b"".join((tree / path).read_bytes() for path in READ)
    kept = {name: CACHE / f"{checksum(script, name)}.json" for name in names}
    new = [name for name in names if not kept[name].is_file()]
    if new:
        ui.note(f"{SCRIPT.name} reads {ui.plural(len(new), 'file')}")
        for name, every in read(tree, new):
            write_atomically(kept[name], json.encode(every))
    return {name: recall(path) for name, path in kept.items()}


def recall(path: Path) -> list[StyleFinding]:
    return reading.json(path.read_text(), list[StyleFinding], path.name)


def checksum(script: bytes, name: str) -> str:
    digest = hashlib.sha256(script)
    digest.update(f"{OPTIONS} {name}\n".encode() + (OVERLAY / name).read_bytes())
    return digest.hexdigest()[:20]


def read(tree: Path, names: Sequence[str]) -> Iterator[tuple[str, list[StyleFinding]]]:
    """Have the script read files, on all processors; each call gets some of every size."""
    ordered = sorted(names, key=lambda name: (OVERLAY / name).stat().st_size)
    count = parallel.processors()
    shares = [share for first in range(count) if (share := ordered[first::count])]
    for found in parallel.each(partial(call, tree), shares):
        yield from found.items()


def call(tree: Path, names: Sequence[str]) -> StyleFindings:
    """Call the script where files have the paths that they have in a kernel tree."""
    argv = ["perl", str(tree / SCRIPT), *OPTIONS, *names]
    with scratch(PART) as stage, processors.one():
        for path in OVERLAY.iterdir():
            (stage / path.name).symlink_to(path)
        done = process.run(argv, cwd=stage, env=ALONE, quiet=True, timeout=TIME_LIMIT)
    found, count = parse(done.output)
    if done.status != bool(count) or count != sum(map(len, found.values())):
        raise CheckFailed(f"{SCRIPT.name} was not understood: {process.last_line(done.output)}")
    return {name: found.get(name, []) for name in names}


def parse(output: str) -> tuple[StyleFindings, int]:
    """Return the findings of each file that has any, and how many the script has counted."""
    found, count = StyleFindings(), 0
    for line in output.splitlines():
        if match := FOUND.fullmatch(line):
            finding = StyleFinding(int(match["line"]), match["kind"], match["said"])
            found.setdefault(match["path"], []).append(finding)
        elif match := TOTAL.search(line):
            count += sum(map(int, match.groups()))
    return found, count
