# SPDX-License-Identifier: GPL-2.0-only
"""Several guests at once: in order, within limits, and all ended when one fails."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import alive

from swathe.base import parallel, paths
from swathe.base.errors import CheckFailed
from swathe.guest import vm

Task = parallel.Task[int]


@pytest.fixture(autouse=True)
def enough_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "available_memory", lambda: 100)


class Seen:
    """Who began when, and how many at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.begun: list[int] = []
        self.now = self.most = 0
        self.meeting = threading.Barrier(1)

    def task(self, number: int, cost: float = 1, memory: int = 0) -> Task:
        def run(stop: threading.Event) -> int:
            with self.lock:
                self.begun.append(number)
                self.now += 1
                self.most = max(self.most, self.now)
            self.meeting.wait()
            stop.wait(0.01)
            with self.lock:
                self.now -= 1
            return number

        return parallel.Task(run, cost, memory)


def test_results_are_in_the_tasks_order_and_the_longest_begins() -> None:
    seen = Seen()
    tasks = [seen.task(0, cost=1), seen.task(1, cost=3), seen.task(2, cost=2)]
    assert parallel.run(tasks, 1) == [0, 1, 2]
    assert seen.begun == [1, 2, 0]
    assert seen.most == 1


def test_as_many_at_once_as_allowed() -> None:
    """Each task waits for another one that runs with it."""
    seen = Seen()
    seen.meeting = threading.Barrier(2, timeout=60)
    assert parallel.run([seen.task(n) for n in range(6)], 2) == list(range(6))
    assert seen.most == 2


def test_memory_is_a_limit_but_not_for_one_alone() -> None:
    seen = Seen()
    sizes = [60, 60, 200]
    assert parallel.run([seen.task(n, memory=m) for n, m in enumerate(sizes)], 3) == [0, 1, 2]
    assert seen.most == 1


def test_the_first_failure_ends_the_others_and_is_the_one_told() -> None:
    began = threading.Event()
    stopped = []

    def fails(_: threading.Event) -> int:
        assert began.wait(60)
        raise CheckFailed("the first")

    def waits(stop: threading.Event) -> int:
        began.set()
        stopped.append(stop.wait(60))
        raise vm.Stopped("a consequence")

    seen = Seen()
    with pytest.raises(CheckFailed, match="the first"):
        parallel.run([parallel.Task(fails, 3), parallel.Task(waits, 2), seen.task(0, 0)], 2)
    assert not seen.begun
    assert stopped == [True]


def test_a_stopped_guest_is_killed(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    follower = vm.Follower(tmp_path / "out", print)
    with pytest.raises(vm.Stopped), vm.running(["sleep", "60"], tmp_path / "log") as child:
        vm.watch(vm.Limit(child, 60, stop), follower)
    assert child.returncode == -signal.SIGKILL


TWO_GUESTS = """
import sys
from pathlib import Path
from swathe import __main__
from swathe.base import parallel
from swathe.cli import report
from swathe.guest import initramfs, vm
from swathe.kernel.arch import X86_64
from swathe.kernel.build import BuiltKernel

vm.make_disk = lambda path, size: None
initramfs.make = lambda *_: Path("x")
kernel = BuiltKernel("6.12", Path("image"), Path("."), Path("."), "0", X86_64)
machine = vm.Machine(kernel, timeout=3600)

def boot(name):
    return parallel.Task(
        lambda stop: vm.boot(machine, initramfs.Job(["/x"]), name, lambda text: None, stop)
    )

report.main = lambda args: parallel.run([boot("one"), boot("two")], 2) and 0
sys.exit(__main__.main(["report"]))
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_no_guest_behind(
    fake: Callable[[str, str], Path], tmp_path: Path, number: int, status: int
) -> None:
    fake("qemu-system-x86_64", f"echo $$ >{tmp_path}/pid.$$; exec sleep 3600")
    environment = {**os.environ, "PYTHONPATH": str(paths.ROOT / "lab")}
    with subprocess.Popen(
        [sys.executable, "-c", TWO_GUESTS],
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    ) as child:
        while len(found := list(tmp_path.glob("pid.*"))) < 2:
            assert child.poll() is None
            time.sleep(0.05)
        child.send_signal(number)
        assert child.wait() == status
    assert not [path for path in found if alive(int(path.name[4:]))]


def test_each_keeps_the_order_of_the_items() -> None:
    def late(item: int) -> int:
        time.sleep(0.05 * (3 - item))
        return item * item

    assert parallel.each(late, [0, 1, 2, 3]) == [0, 1, 4, 9]
