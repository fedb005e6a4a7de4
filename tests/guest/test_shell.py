# SPDX-License-Identifier: GPL-2.0-only
"""A shell in a guest: its files, its commands, its terminal; with a script in QEMU's place."""

import io
import os
import pty
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base.errors import UsageError, VmLost
from swathe.cli.shell import commands_of_stdin
from swathe.guest import initramfs, session, shell, vm
from swathe.guest.clock import Clock
from swathe.kernel import build, compiler
from swathe.kernel.arch import ARM64, X86_64
from swathe.kernel.build import BuiltKernel

Qemu = Callable[[str], Path]
ENDS = 'echo booted >"$console"; echo "exit 3" >"$verdict"'


@pytest.fixture
def built(kernel: BuiltKernel, monkeypatch: pytest.MonkeyPatch) -> BuiltKernel:
    monkeypatch.setattr(build, "build", lambda _: kernel)
    monkeypatch.setattr(vm, "version", lambda _: "QEMU emulator version 7.2.22")
    return kernel


@contextmanager
def terminal() -> Iterator[int]:
    """Replace stdin and stdout by a terminal; yield the side of the one who types.

    Not a fixture: pytest replaces stdout between a fixture and the test.
    """
    typist, lines = pty.openpty()
    saved = os.dup(0), os.dup(1)
    os.dup2(lines, 0)
    os.dup2(lines, 1)
    try:
        yield typist
    finally:
        for fd, before in enumerate(saved):
            os.dup2(before, fd)
            os.close(before)
        os.close(lines)
        os.close(typist)


def given(monkeypatch: pytest.MonkeyPatch, commands: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(commands.encode("latin-1"))))


def read_until(fd: int, text: str) -> str:
    """Read from the terminal until the text has come; give up after a minute."""
    end, seen = time.monotonic() + 60, ""
    os.set_blocking(fd, False)
    while text not in seen and time.monotonic() < end:
        try:
            seen += os.read(fd, 1000).decode()
        except BlockingIOError:
            time.sleep(0.01)
    return seen


def boot_terminal(kernel: BuiltKernel) -> session.Transcript:
    machine = vm.Machine(kernel, wanted_clock=Clock.HOST, timeout=60, terminal=True)
    return session.run(machine, shell.job({}, "", "xterm"), "shell")


def test_commands_come_from_stdin(
    qemu: Qemu,
    built: BuiltKernel,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    qemu('echo y >"$out"; ' + ENDS)
    given(monkeypatch, "cat /sys/kernel/mm/unmap/enabled\n")
    assert __main__.main(["shell"]) == 3
    assert capfd.readouterr().out == "y\n"


@pytest.mark.parametrize("commands", ["", " \n"])
def test_a_shell_needs_a_terminal(
    commands: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given(monkeypatch, commands)
    assert __main__.main(["shell"]) == 2
    assert "a shell needs a terminal, or commands on stdin" in capsys.readouterr().err


def test_a_closed_stdin_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert __main__.main(["shell"]) == 2
    assert "a shell needs a terminal, or commands on stdin" in capsys.readouterr().err


def test_commands_may_be_any_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A byte of ISO-8859-1 reaches the guest."""
    given(monkeypatch, "echo \N{LATIN SMALL LETTER E WITH ACUTE}\n")
    work = shell.job({}, commands_of_stdin(), "xterm")
    monkeypatch.setattr(compiler, "compile_program", lambda *_, **__: Path("/bin/true"))
    found = initramfs.gather(work, tmp_path, X86_64)
    assert (tmp_path / found[shell.COMMANDS]).read_bytes() == b"echo \xe9\n"


def test_commands_run_in_the_home_of_the_files(tmp_path: Path) -> None:
    work = shell.job({}, "echo hello\n", "xterm")
    assert work.texts[shell.COMMANDS] == "echo hello\n"
    assert b"tty=" not in work.settings()
    lines = work.texts[shell.SCRIPT].splitlines()
    assert lines[-2:] == ["cd /root", "exec sh /commands.sh"]


@pytest.mark.parametrize("term", ["xterm-256color", "odd term; reboot"])
def test_the_scripts_are_shell(term: str) -> None:
    for commands in ("", "true"):
        script = shell.job({}, commands, term).texts[shell.SCRIPT]
        subprocess.run(["sh", "-n"], input=script, text=True, check=True)
        assert (f"\nexport TERM={term}\n" in script) is (not commands and ";" not in term)


def test_an_interactive_job_has_a_terminal() -> None:
    assert b"tty=/dev/hvc0\0" in shell.job({}, "", "xterm").settings()


def test_only_a_terminal_reads_stdin(kernel: BuiltKernel, tmp_path: Path) -> None:
    with_one = vm.command(vm.Machine(kernel, terminal=True), tmp_path, tmp_path)
    assert [word for word in with_one if "stdio" in word] == [vm.TERMINAL[1]]
    assert with_one.index(vm.TERMINAL[3]) > with_one.index("virtio-serial-device")
    without = vm.command(vm.Machine(kernel), tmp_path, tmp_path)
    assert not [word for word in without if "stdio" in word or "virtconsole" in word]


def test_what_is_typed_reaches_the_guest(qemu: Qemu, kernel: BuiltKernel) -> None:
    qemu('read -r line; echo "said <$line>"; echo hidden >&2; ' + ENDS)
    with terminal() as typist:
        os.write(typist, b"hello\n")
        assert boot_terminal(kernel).status == 3
        seen = read_until(typist, "said <hello>")
    assert "said <hello>" in seen
    assert "hidden" not in seen


def test_the_terminal_is_restored(qemu: Qemu, kernel: BuiltKernel) -> None:
    qemu("stty raw -echo; " + ENDS)
    with terminal():
        before = termios.tcgetattr(0)
        boot_terminal(kernel)
        assert termios.tcgetattr(0) == before


def test_ctrl_a_x_is_no_failure(
    qemu: Qemu, built: BuiltKernel, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    qemu('echo booted >"$console"')
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert __main__.main(["shell"]) == 0
    assert "Ctrl-A X ended the guest" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "limit", "said"),
    [
        ('echo "Kernel panic - not syncing: x" >"$console"', 60, "Kernel panic"),
        ('echo booted >"$console"; exit 1', 60, "without a verdict"),
        ('echo booted >"$console"; exec sleep 60', 1, "no verdict within"),
    ],
)
def test_a_crash_under_a_terminal_is_one(
    body: str, limit: int, said: str, qemu: Qemu, kernel: BuiltKernel
) -> None:
    qemu(body)
    machine = vm.Machine(kernel, wanted_clock=Clock.HOST, timeout=limit, terminal=True)
    heard = session.run(machine, shell.job({}, "", "xterm"), "shell")
    with pytest.raises(VmLost, match=said):
        _ = heard.status


def test_files_and_directories(tmp_path: Path) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "b").write_text("b")
    (tmp_path / "data" / "gone").symlink_to("nowhere")
    (tmp_path / "a").write_text("a")
    found = shell.files([tmp_path / "a", tmp_path / "data"], X86_64, "1G")
    assert found == {
        "/root/a": tmp_path / "a",
        "/root/data/deep/b": tmp_path / "data" / "deep" / "b",
    }


@pytest.mark.parametrize(("flag", "loaded"), [("-static", False), ("-pie", True)])
def test_dynamic_programs_bring_their_libraries(tmp_path: Path, flag: str, loaded: bool) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", flag, "-o", tmp_path / "a", tmp_path / "a.c"], check=True)
    found = shell.files([tmp_path / "a"], X86_64, "1G")
    assert any(name.endswith("/libc.so.6") for name in found) is loaded
    assert list(shell.files([tmp_path / "a"], ARM64, "1G")) == ["/root/a"]


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "two words").write_text("")
    (tmp_path / "a").write_text("")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a").write_text("")
    with (tmp_path / "big").open("wb") as file:
        file.truncate(257 << 20)
    for paths, said in (
        (["nowhere"], "nowhere: there is no such file or directory"),
        (["two words"], "cannot contain white space"),
        (["a", "b/a"], "another file of yours is called a, too"),
        (["big"], "the files are 257 MiB, too much for a guest with 1G: see --memory"),
    ):
        with pytest.raises(UsageError, match=said):
            shell.files([tmp_path / path for path in paths], X86_64, "1G")


@pytest.mark.parametrize(
    ("argv", "warned"),
    [([], False), (["--cpus", "2"], True), (["--cpus", "2", "--flavor", "debug"], False)],
)
def test_patched_code_is_warned_of(
    argv: list[str], warned: bool, qemu: Qemu, built: BuiltKernel,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    qemu(ENDS)
    given(monkeypatch, "true")
    assert __main__.main(["shell", *argv]) == 3
    assert ("may crash a guest" in capsys.readouterr().err) is warned
