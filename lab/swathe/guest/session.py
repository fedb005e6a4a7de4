# SPDX-License-Identifier: GPL-2.0-only
"""Run a script in a guest and return its transcript. All guests are run through this module.

If a guest is lost or stopped, the transcript still holds its output up to then; reading
Transcript.status raises the error that ended the guest.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from swathe.base.errors import CheckFailed, VmLost
from swathe.guest import sections, vm
from swathe.guest.initramfs import Job
from swathe.guest.sections import Section

SCRIPT = "/guest.sh"


@dataclass(frozen=True)
class Transcript:
    """The output of a guest's programs, its console, and how it ended."""

    text: str
    console: str
    ending: vm.Exit | VmLost | vm.Stopped

    @cached_property
    def sections(self) -> list[Section]:
        return sections.parse(self.text)

    def of(self, *words: str) -> list[Section]:
        """The sections whose first words are these."""
        return [section for section in self.sections if section.words[: len(words)] == words]

    @property
    def lost(self) -> VmLost | None:
        return self.ending if isinstance(self.ending, VmLost) else None

    @property
    def panic(self) -> str:
        """The first line of the console that tells of a panic; empty if there was none."""
        return vm.panic(self.console)

    @property
    def unfinished(self) -> Section | None:
        """The program that was running when the guest ended."""
        return next((section for section in self.sections if section.status is None), None)

    @property
    def status(self) -> int:
        """The script's exit status; raises the error if the guest ended before the script."""
        if isinstance(self.ending, vm.Exit):
            return self.ending.shell_status
        raise self.ending

    def not_stopped(self) -> "Transcript":
        """Return self, unless the host stopped the guest: then raise."""
        if isinstance(self.ending, vm.Stopped):
            raise self.ending
        return self

    def whole(self) -> "Transcript":
        """Return self if the script succeeded, else raise."""
        if self.status:
            last = " ".join(self.sections[-1].words) if self.sections else "no program at all"
            raise CheckFailed(f"the guest's script ended with status {self.status} after {last}")
        return self


def job(
    lines: Iterable[str],
    files: Mapping[str, Path],
    texts: Mapping[str, str] | None = None,
    swap: int = Job.swap,
) -> Job:
    """Return a job that runs these shell lines as a script that reports in sections."""
    written = {SCRIPT: sections.script(lines), **(texts or {})}
    return Job(["/bin/sh", SCRIPT], files, written, swap=swap)


def run(
    machine: vm.Machine,
    work: Job,
    name: str,
    on_text: vm.OnText = sections.ignore,
    stop: vm.Signal | None = None,
) -> Transcript:
    """Boot the guest and wait until it ends or stop is set; on_text gets the output meanwhile.

    An exception from on_text ends the guest, too. Log files get the name.
    """
    text: list[str] = []
    console: list[str] = []

    def hear(more: str) -> None:
        text.append(more)
        on_text(more)

    ending: vm.Exit | VmLost | vm.Stopped
    try:
        ending = vm.boot(machine, work, name, hear, stop, console.append)
    except (VmLost, vm.Stopped) as error:
        ending = error
    return Transcript("".join(text), "".join(console), ending)
