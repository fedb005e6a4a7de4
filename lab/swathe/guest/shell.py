# SPDX-License-Identifier: GPL-2.0-only
"""A root shell in a guest: its job, the user's files in it, and how it ends.

On a terminal the shell is interactive; otherwise it runs the commands of a script.
"""

import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path

from swathe.base.errors import UsageError
from swathe.guest import initramfs, runnable, vm
from swathe.guest.initramfs import Job
from swathe.kernel.arch import Arch

HOME = initramfs.ENVIRONMENT["HOME"]
SCRIPT, COMMANDS = "/shell.sh", "/commands.sh"
# tracefs exists in kernels with event tracing only.
PROLOGUE = """\
#!/bin/sh
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
cd {home}
"""
WELCOME = """\
echo
echo "Linux $(uname -r), root shell. exit or Ctrl-A X ends it."
cat 2>/dev/null /sys/kernel/mm/unmap/enabled |
	sed 's|^|mm/unmap, /sys/kernel/mm/unmap/enabled: |'
[ -d /sys/kernel/tracing/events/unmap ] &&
	echo 'trace points: /sys/kernel/tracing/events/unmap'
echo "Changes to the files in {home}, and the disk /mnt, are gone at the end."
"""


def interactive(term: str) -> str:
    """Return the script that opens an interactive shell on a terminal of this size."""
    size = shutil.get_terminal_size()
    lines = [
        f"export TERM={shlex.quote(term)}",
        f"stty rows {size.lines} cols {size.columns}",
        WELCOME.format(home=HOME) + "exec sh -i",
    ]
    return PROLOGUE.format(home=HOME) + "\n".join(lines) + "\n"


def job(files: dict[str, Path], commands: str, term: str) -> Job:
    """Return the job: an interactive shell if there are no commands."""
    if commands:
        script = PROLOGUE.format(home=HOME) + f"exec sh {COMMANDS}\n"
        return Job(["/bin/sh", SCRIPT], files, {SCRIPT: script, COMMANDS: commands})
    return Job(["/bin/sh", SCRIPT], files, {SCRIPT: interactive(term)}, tty=vm.TTY)


def below(given: Path) -> dict[str, Path]:
    """Return the files that a path of the user's stands for, by their names in the guest."""
    if given.is_file():
        return {given.name: given}
    if not given.is_dir():
        raise UsageError(f"{given}: there is no such file or directory")
    top = given.resolve()
    paths = [path for path in sorted(top.rglob("*")) if path.is_file()]
    return {str(path.relative_to(top.parent)): path for path in paths}


def libraries(paths: Iterable[Path], target: Arch) -> dict[str, Path]:
    """Return the shared libraries that the programs among these files need."""
    found: dict[str, Path] = {}
    for path in paths:
        if not target.foreign and runnable.is_program(path, target):
            found |= initramfs.libraries(path)
    return found


def files(given: Iterable[Path], target: Arch, memory: str) -> dict[str, Path]:
    """Return all files for the guest by their paths there; raise if they do not fit in it."""
    found: dict[str, Path] = {}
    for path in given:
        for name, file in below(path).items():
            place = f"{HOME}/{name}"
            initramfs.require_plain(place)
            if place in found:
                raise UsageError(f"{path}: another file of yours is called {name}, too")
            found[place] = file
    found |= libraries(list(found.values()), target)
    require_room(found.values(), memory)
    return found


def require_room(paths: Iterable[Path], memory: str) -> None:
    """Raise if the files take more than a quarter of the guest's memory."""
    need = sum(path.stat().st_size for path in paths) >> 20
    if need > vm.mebibytes(memory) // 4:
        raise UsageError(
            f"the files are {need} MiB, too much for a guest with {memory}: see --memory"
        )
