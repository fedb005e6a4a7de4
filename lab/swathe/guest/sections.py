# SPDX-License-Identifier: GPL-2.0-only
"""The form in which a guest's script reports several programs' outputs in one stream.

@ WORD WORD…     a program begins; the words say which
…                what it printed, stdout and stderr
? N              it ended with status N
"""

from collections.abc import Iterable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Section:
    """One program's output; a status of None means that it never ended.

    What was counted from outside while it ran is added to it later.
    """

    words: tuple[str, ...]
    lines: tuple[str, ...]
    status: int | None
    counted: tuple[tuple[str, float, str], ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def parse(text: str) -> list[Section]:
    """The sections of a report, the unfinished last one included."""
    found: list[Section] = []
    words: tuple[str, ...] | None = None
    lines: list[str] = []
    for line in text.splitlines():
        if words is None and line.startswith("@ "):
            words, lines = tuple(line.split()[1:]), []
        elif words is not None and line.startswith("? ") and line[2:].isdigit():
            found.append(Section(words, tuple(lines), int(line[2:])))
            words = None
        elif words is not None and line:
            lines.append(line)
    if words is not None:
        found.append(Section(words, tuple(lines), None))
    return found


def script(lines: Iterable[str]) -> str:
    """A shell script of the guest that reports in this form."""
    return PREAMBLE + "\n".join(lines) + "\n"
