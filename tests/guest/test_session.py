# SPDX-License-Identifier: GPL-2.0-only
"""One guest and its transcript, with a script in QEMU's place."""

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from swathe.base.errors import CheckFailed, EnvironmentLacks, VmLost
from swathe.guest import sections, session, vm
from swathe.guest.sections import Section
from swathe.guest.session import Transcript
from swathe.kernel.build import BuiltKernel

Run = Callable[..., Transcript]


@pytest.fixture
def run(qemu: Callable[[str], Path], kernel: BuiltKernel) -> Run:
    """What a machine leaves that does what a few lines of shell say."""

    def run(
        body: str, on_text: vm.OnText = sections.ignore, stop: vm.Signal | None = None
    ) -> Transcript:
        qemu(body)
        return session.run(
            vm.Machine(kernel, timeout=60), session.job(["true"], {}), "x", on_text, stop
        )

    return run


SAYS = 'printf "@ a b\\none\\n? 3\\n@ c\\ntwo\\n" >"$out"; echo "[ 1.0] hello" >"$console"; '


def test_what_was_said_and_how_it_ended(run: Run) -> None:
    heard = run(SAYS + 'echo "exit 0" >"$verdict"')
    assert heard.sections == [Section(("a", "b"), ("one",), 3), Section(("c",), ("two",), None)]
    assert (heard.of("a"), heard.of("a", "x")) == (heard.sections[:1], [])
    assert heard.unfinished == heard.sections[1]
    assert heard.console == "[ 1.0] hello\n"
    assert (heard.status, heard.lost) == (0, None)
    assert heard.whole() is heard


def test_a_script_that_failed(run: Run) -> None:
    heard = run(SAYS + 'echo "exit 9" >"$verdict"')
    assert heard.status == 9
    with pytest.raises(CheckFailed, match="ended with status 9 after c"):
        heard.whole()
    with pytest.raises(CheckFailed, match="status 9 after no program at all"):
        run('echo "exit 9" >"$verdict"').whole()


def test_a_lost_guest_has_said_something(run: Run) -> None:
    heard = run(SAYS)
    assert heard.lost is not None and heard.unfinished is not None
    assert "hello" in heard.console
    for ask in (heard.whole, lambda: heard.status):
        with pytest.raises(VmLost, match="without a verdict"):
            ask()


def test_a_stopped_guest_is_not_lost(run: Run) -> None:
    stop = threading.Event()
    heard = run(SAYS + "exec sleep 60", lambda _: stop.set(), stop)
    assert heard.lost is None and heard.sections
    with pytest.raises(vm.Stopped):
        heard.whole()


def test_other_errors_are_the_callers(run: Run) -> None:
    with pytest.raises(EnvironmentLacks, match="QEMU does not start"):
        run('echo "no such machine" >&2; exit 1')
    with pytest.raises(ZeroDivisionError):
        run(SAYS + "exec sleep 60", lambda _: 1 // 0)


def test_a_job_is_a_script_that_reports() -> None:
    work = session.job(["report x -- echo hi"], {"/bin/x": Path("x")}, {"/list": "1\n"}, swap=5)
    assert (list(work.files), work.texts["/list"], work.swap) == (["/bin/x"], "1\n", 5)
    script = work.texts[str(work.argv[-1])]
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert sections.parse(done.stdout) == [Section(("x",), ("hi",), 0)]


def test_a_reader_tells_what_it_comes_to() -> None:
    heard: list[object] = []
    reader = sections.Reader(begins=heard.append, says=heard.append, ends=heard.append)
    for text in ("noise\n@ a\n", "one\n\n", "? 0\n? 1\n@ b\n"):
        reader(text)
    assert heard == [("a",), "one", Section(("a",), ("one",), 0), ("b",)]
    assert [section.status for section in reader.sections] == [0, None]
