# SPDX-License-Identifier: GPL-2.0-only
"""The form in which a guest's script reports several programs' outputs in one stream.

@ WORD WORD…     a program begins; the words say which
…                what it printed, stdout and stderr
? N              it ended with status N
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

PREAMBLE = """\
#!/bin/sh
SWITCH=/sys/kernel/mm/unmap/enabled
settle() { sync; sleep 1; } # what the last program left to the background ends
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
    """One program's output; a status of None means that it never ended.

    What was counted from outside while it ran is added to it later.
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
    """Takes in a report as it comes, in whole lines, and tells what it comes to."""

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
        """Those that ended, and the unfinished last one."""
        if self.words is None:
            return list(self.ended)
        return [*self.ended, Section(self.words, tuple(self.lines), None)]


def parse(text: str) -> list[Section]:
    """The sections of a report, the unfinished last one included."""
    reader = Reader()
    reader(text)
    return reader.sections


def script(lines: Iterable[str]) -> str:
    """A shell script of the guest that reports in this form."""
    return PREAMBLE + "\n".join(lines) + "\n"
