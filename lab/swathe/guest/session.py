# SPDX-License-Identifier: GPL-2.0-only
"""Run a script in a guest, and get all that the guest said: the one way to use a machine.

A guest that is lost, or stopped from outside, has said something as well. Its transcript
says so too, and whoever asks it for the script's status gets the error that ended it.
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
    """What a guest's programs printed, what its kernel did, and how it ended."""

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
    def unfinished(self) -> Section | None:
        """What was running when the guest ended."""
        return next((section for section in self.sections if section.status is None), None)

    @property
    def status(self) -> int:
        """The script's; raises what ended the guest before it."""
        if isinstance(self.ending, vm.Exit):
            return self.ending.shell_status
        raise self.ending

    def whole(self) -> "Transcript":
        """This, if the script came to its end."""
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
    """What runs these lines of shell, which report in sections; paths are the guest's."""
    written = {SCRIPT: sections.script(lines), **(texts or {})}
    return Job(["/bin/sh", SCRIPT], files, written, swap=swap)


def run(
    machine: vm.Machine,
    work: Job,
    name: str,
    on_text: vm.OnText = sections.ignore,
    stop: vm.Signal | None = None,
) -> Transcript:
    """From boot to end, or until stop is set; on_text hears the programs meanwhile.

    What on_text raises ends the guest, too. The name is for logs.
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
