# SPDX-License-Identifier: GPL-2.0-only
"""The format in which a guest's script reports the output of several programs in one stream.

@ WORD WORD…     a program starts; the words identify it
…                its stdout and stderr
? N              it exited with status N
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

PREAMBLE = """\
#!/bin/sh
SWITCH=/sys/kernel/mm/unmap/enabled
settle() { sync; sleep 1; } # lets background work of the last program end
report() { # WORDS -- COMMAND
	printf '@'
	while [ "$1" != -- ]; do printf ' %s' "$1"; shift; done
	printf '\\n'; shift
	"$@" 2>&1
	printf '\\n? %d\\n' $?
}
"""
Words = tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """One program's output; its status is None if it did not end.

    counted holds metrics that the QEMU plugin counted meanwhile; they are added later.
    """

    words: Words
    lines: tuple[str, ...]
    status: int | None
    counted: tuple[tuple[str, float, str], ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def ignore(_: object) -> None: ...


@dataclass
class Reader:
    """Parses a report as it arrives, in whole lines, and calls back for each event."""

    begins: Callable[[Words], object] = ignore
    says: Callable[[str], object] = ignore
    ends: Callable[[Section], object] = ignore
    ended: list[Section] = field(default_factory=list)
    words: Words | None = None
    lines: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> None:
        for line in text.splitlines():
            self.line(line)

    def line(self, line: str) -> None:
        if self.words is None:
            if line.startswith("@ "):
                self.words, self.lines = tuple(line.split()[1:]), []
                self.begins(self.words)
        elif line.startswith("? ") and line[2:].isdigit():
            self.ended.append(Section(self.words, tuple(self.lines), int(line[2:])))
            self.words = None
            self.ends(self.ended[-1])
        elif line:
            self.lines.append(line)
            self.says(line)

    @property
    def sections(self) -> list[Section]:
        """The finished sections, and the unfinished last one if there is one."""
        if self.words is None:
            return list(self.ended)
        return [*self.ended, Section(self.words, tuple(self.lines), None)]


def parse(text: str) -> list[Section]:
    """Return the sections of a report, including an unfinished last one."""
    reader = Reader()
    reader(text)
    return reader.sections


def script(lines: Iterable[str]) -> str:
    """Return a shell script for the guest that reports in this format."""
    return PREAMBLE + "\n".join(lines) + "\n"
