# SPDX-License-Identifier: GPL-2.0-only
"""Does swathe-proof find what it is for? In guests: kernels broken on purpose, and one that is not.

A guest has no caches of upper page tables, so that a missing flush of those (table_flush)
cannot be found here; what would be seen of it is done by the program itself (--spoil).
"""

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe import build, field, guesttests, initramfs, parallel, ui, vm
from swathe.errors import VmLost
from swathe.tap import Test, Verdict

PART = "field"
SECONDS = 10
# A broken kernel is run until it is found.
PATIENCE = 120
BOOT_LIMIT = 300
WRONG = re.compile(r"^verdict: WRONG \((.*?)\): (.*)$", re.MULTILINE)
QUIET = "verdict: nothing was wrong"
# The kernel's own checks are not to end the machine before the program has seen anything.
BOOT = f"{guesttests.STEADY} panic_on_warn=0"


@dataclass(frozen=True)
class Trial:
    """One guest: what is broken in its kernel, or in what the program does; by whom it is found."""

    name: str
    boot: str = ""
    arguments: tuple[str, ...] = ()
    finders: tuple[str, ...] = ()

    @property
    def seconds(self) -> int:
        return PATIENCE if self.finders else SECONDS


MEMORY = ("anonymous", "tmpfs", "disk", "walk")
TRIALS = (
    Trial("none"),
    Trial("flush", "unmap.sabotage=flush", finders=MEMORY),
    # Somebody has to fill a table again while it is given back: that is held open.
    Trial("table_full", "unmap.sabotage=table_full unmap.window=300", finders=MEMORY),
    Trial("dirty", "unmap.sabotage=dirty", finders=("tmpfs",)),
    Trial("redirty", "unmap.sabotage=redirty", finders=("anonymous",)),
    Trial("spoiled stamp", arguments=("--spoil", "stamp"), finders=("anonymous",)),
    Trial("spoiled trap", arguments=("--spoil", "trap"), finders=("walk",)),
    Trial("spoiled canary", arguments=("--spoil", "canary"), finders=("walk",)),
    Trial("spoiled table", arguments=("--spoil", "table"), finders=("walk",)),
)


def run(kernel: build.Request, seed: int, cpus: int) -> list[Test]:
    """A guest for each trial, as many side by side as there are processors."""
    built = build.build(kernel)
    program = field.compile_proof(built.target)
    ui.note(f"swathe-proof in Linux {built.version} ({kernel.flavor}), seed {seed}")
    memory = vm.mebibytes(vm.Machine.memory) << 20

    def task(trial: Trial) -> parallel.Task[Test]:
        return parallel.Task(
            lambda stop: attempt(built, program, trial, seed, cpus, stop), memory=memory
        )

    return parallel.run([task(trial) for trial in TRIALS], parallel.processors())


def attempt(
    built: build.Result, program: Path, trial: Trial, seed: int, cpus: int, stop: threading.Event
) -> Test:
    """One boot, and what the program said."""
    machine = vm.Machine(
        built.image, built.out, cpus, exact=False, boot=f"{BOOT} {trial.boot}".strip(),
        timeout=BOOT_LIMIT + 3 * trial.seconds, target=built.target,
    )  # fmt: skip
    text: list[str] = []
    lost = ""
    status = 0
    try:
        job = initramfs.Job(command(trial, seed), {"/bin/swathe-proof": program})
        name = f"field-{trial.name.replace(' ', '-')}"
        status = vm.boot(machine, job, name, text.append, stop).shell_status
    except VmLost as error:
        lost = str(error)
    test = judge(trial, status, "".join(text), lost)
    ui.note(f"  {trial.name}: {test.detail}")
    return test


def command(trial: Trial, seed: int) -> Sequence[str]:
    return (
        "/bin/swathe-proof", "--seconds", str(trial.seconds), "--seed", str(seed),
        "--dir", "/mnt", *trial.arguments,
    )  # fmt: skip


def judge(trial: Trial, status: int, text: str, lost: str) -> Test:
    """What is wrong must be found, by the program and in the right place; nothing else may be."""
    found = WRONG.search(text)
    said = f"{found[1]}: {found[2]}" if found else lost or f"status {status}"
    if trial.finders:
        good = status == 1 and found is not None and found[1] in trial.finders
    else:
        good = status == 0 and QUIET in text and not lost
        said = "nothing" if good else said
    return Test(f"field {trial.name}", Verdict.PASSED if good else Verdict.FAILED, said)
