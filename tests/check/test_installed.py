# SPDX-License-Identifier: GPL-2.0-only
"""Packages in a Debian guest: the serial console, the order of things, what fails."""

import os
import re
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from swathe.__main__ import main, parser
from swathe.base.errors import CheckFailed, EnvironmentLacks, UsageError, VmLost
from swathe.base.verdicts import Verdict
from swathe.check import installed
from swathe.check.installed import InstalledPackages, InstallTrial
from swathe.cli import test, test_parts
from swathe.guest import debian_root, debian_system, serial, vm
from swathe.guest.serial import Answer, SerialConsole

RELEASE = "6.12.117-swathe1"
DEBIAN = "6.12.107+deb13-cloud-amd64"
BLOCK_END = "----- swathe-field 1: end -----\n"
Fake = Callable[[str, str], Path]


@pytest.fixture
def line() -> Iterator[tuple[SerialConsole, socket.socket]]:
    """A console, and the guest's end of it."""
    host, guest = socket.socketpair()
    with host, guest:
        yield SerialConsole(host), guest


def answer_in(guest: socket.socket) -> None:
    """A guest: a login prompt, then a real shell that runs what comes."""
    guest.sendall(b"[ 1.0] booting\r\ndebian login: ")
    guest.sendall(b"[    2.5] a late message of the kernel\r\n")
    assert guest.recv(100) == b"root\n"
    guest.sendall(b"\x1b[?2004hroot@debian:~# ")
    typed = guest.recv(1000).decode()
    guest.sendall(f"{typed}\r\nSWATHE-END 0\n".encode())
    while command := guest.recv(1000).decode():
        done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
        guest.sendall(done.stdout)


def test_commands_over_a_serial_line(line: tuple[SerialConsole, socket.socket]) -> None:
    console, guest = line
    thread = threading.Thread(target=answer_in, args=(guest,))
    thread.start()
    assert console.log_in(60) >= 0
    answers = [console.run(words, 60) for words in ("printf 'a\\nb\\n'", "(exit 3)", "printf c")]
    assert [(a.output, a.status) for a in answers] == [("a\nb\n", 0), ("", 3), ("c", 0)]
    console.line.shutdown(socket.SHUT_WR)
    thread.join(60)


def test_escape_codes_are_removed(line: tuple[SerialConsole, socket.socket]) -> None:
    console, guest = line
    guest.sendall(b"\x1b[0;1;39mx\x1b[0m\x1b]0;title\x07 y\r\nSWATHE-END 0\r\n")
    assert console.run("true", 60).output == "x y\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[1.0] Kernel panic - not syncing: Fatal exception\r\n", "panicked: Fatal exception"),
        (b"Grub\r\n", "did not come to a login prompt within 0 s"),
    ],
)
def test_a_guest_that_does_not_start(
    line: tuple[SerialConsole, socket.socket], text: bytes, said: str
) -> None:
    console, guest = line
    guest.sendall(text)
    console.receive()
    with pytest.raises(VmLost, match=said):
        console.log_in(0)


def test_a_guest_that_ends(line: tuple[SerialConsole, socket.socket]) -> None:
    console, guest = line
    guest.close()
    with pytest.raises(VmLost, match="ended while its console was in use"):
        console.wait(serial.LOGIN, 60, "a login prompt")


def test_a_command_for_a_guest_that_has_ended(line: tuple[SerialConsole, socket.socket]) -> None:
    console, guest = line
    guest.close()
    with pytest.raises(VmLost, match="ended while its console was in use"):
        console.run("true")


def test_no_console(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        vm.running(["sleep", "60"], log) as child,
        pytest.raises(VmLost, match="does not open the guest's console"),
    ):
        serial.connect(tmp_path / "line", child, log, 0)


def test_qemu_that_does_not_start_is_told_at_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    argv = ["sh", "-c", "echo socket path is too long >&2; exit 1"]
    with (
        vm.running(argv, log) as child,
        pytest.raises(EnvironmentLacks, match="does not start: socket path is too long"),
    ):
        serial.connect(tmp_path / "line", child, log, 60)


class PretendedGuest:
    """A machine that does what a Debian does; break one thing to see the trial fail."""

    def __init__(self, broken: str = "") -> None:
        self.broken = broken
        self.text: list[str] = []
        self.installed = False
        self.chosen = ""
        self.runs = DEBIAN
        self.enabled = True

    def log_in(self, _: float) -> float:
        return 1.0

    def send(self, text: str) -> None:
        assert text == "systemctl reboot"
        if self.broken == "panic":
            raise VmLost("the guest's kernel panicked: x")
        newest = RELEASE if self.installed and self.broken != "order" else DEBIAN
        self.runs, self.chosen = self.chosen or newest, ""

    def run(self, command: str, _: float = 0) -> Answer:
        output = self.output(command)
        failed = self.broken and command.startswith(self.broken)
        return Answer(command, output, 1 if failed else 0, 0.1)

    def output(self, command: str) -> str:
        swathe = self.runs == RELEASE
        if command == "uname -r":
            return f"{self.runs}\n"
        if command.startswith("dpkg -i"):
            self.installed = True
            return f"Setting up linux-image-{RELEASE} (6.12.117-1) ...\n"
        if command.startswith("dpkg --purge"):
            self.installed = False
            return f"Removing linux-image-{RELEASE}\n"
        if command.startswith("grub-reboot"):
            found = re.search(r"with Linux (\S+)'", command)
            self.chosen = found[1] if found and self.broken != "choice" else ""
        if command.startswith("echo 0"):
            return "0x0000\n"
        if "swathe-field" in command:
            self.enabled = self.broken != "left off"
            return "----- swathe-field 1: from here on -----\n" + BLOCK_END
        if "unmap/enabled" in command:
            if not swathe or self.broken == "switch":
                return "No such file\n"
            return "0x000f\n" if self.enabled else "0x0000\n"
        answers = {
            "ls /boot": f"/boot/initrd.img-{RELEASE}",
            "systemctl is-system-running": "running",
            "cat /proc/sys/kernel/tainted": "4096" if self.broken == "taint" else "0",
            "find": "/boot/left" if self.broken == "left" else "",
            "grep UNMAP": "CONFIG_UNMAP=y",
            "grep": "0",
        }
        return next((text for start, text in answers.items() if command.startswith(start)), "")


def told(broken: str = "") -> tuple[InstallTrial, list[str]]:
    """Run the story on the pretended guest; return the trial and the names of failed tests."""
    guest = PretendedGuest(broken)
    trial = InstallTrial(guest)  # type: ignore[arg-type]
    files = (Path(f"linux-image-{RELEASE}_1_amd64.deb"), Path(f"linux-headers-{RELEASE}_1.deb"))
    built = InstalledPackages(RELEASE, files)
    lost = installed.attempt(trial, built)
    failed = [test for test in trial.tests + lost if test.verdict is Verdict.FAILED]
    return trial, [test.name.removeprefix("deb: ") for test in failed]


def test_all_is_well() -> None:
    trial, failed = told()
    assert failed == []
    assert len(trial.chapters) == 4
    assert len(trial.tests) == sum(len(lines) for _, lines in trial.chapters) == 26


@pytest.mark.parametrize(
    ("broken", "failed"),
    [
        ("order", "the kernel with Swathe runs"),
        ("switch", "the switch is there and on"),
        ("taint", "nothing taints the kernel"),
        ("choice", "the machine boots back"),
        ("left", "no file is left"),
        ("left off", "swathe-field puts the switch back"),
        (installed.FIELD, "swathe-field measures"),
        ("dpkg -i", "dpkg installs"),
        ("dpkg --purge", "dpkg removes"),
        ("panic", "guest"),
    ],
)
def test_what_goes_wrong_is_found(broken: str, failed: str) -> None:
    assert failed in told(broken)[1]


def test_the_transcript(fake: Fake, tmp_path: Path) -> None:
    fake("qemu-system-x86_64", "echo QEMU emulator version 7.2.1")
    path = tmp_path / f"linux-image-{RELEASE}_6.12.117-1_amd64.deb"
    path.write_bytes(b"x" * 1_500_000)
    said = installed.Said("uname -r", "a\n" * 60, good=False)
    built = InstalledPackages(RELEASE, (path,))
    shown = installed.transcript(built, [("Start", [said])])
    assert "in QEMU emulator version 7.2.1, swathe " in shown
    assert f"- `{path.name}` (1.5 MB)\n" in shown
    assert "## Start\n\n```\n# uname -r   <-- not as it must be\n[…]\na\n" in shown
    assert shown.count("\na") == installed.LONGEST
    assert installed.block(replace(said, whole=True)).count("\na") == 60


def test_progress_that_was_overwritten() -> None:
    said = installed.Said("dpkg", "(Reading ...\r(Reading ... 5%\r(Reading ... 8 files)\nb\n", True)
    assert installed.block(said) == "# dpkg\n(Reading ... 8 files)\nb"


def test_the_newest_packages_are_installed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="swathe deb first"):
        installed.find(tmp_path)
    for age, release in enumerate(("6.12.117-swathe1", "6.12.94-swathe1")):
        for kind in ("image", "headers"):
            path = tmp_path / f"linux-{kind}-{release}_1-1_amd64.deb"
            path.write_text("")
            os.utime(path, (1000 - age, 1000 - age))
    (tmp_path / "linux-image-6.12.1_1-1_amd64.deb").write_text("another's")
    found = installed.find(tmp_path)
    assert found.release == "6.12.117-swathe1"
    assert found.series == "6.12.117"
    assert found.names == f"linux-image-{RELEASE} linux-headers-{RELEASE}"


def test_it_is_a_part_that_runs_only_when_named(tmp_path: Path) -> None:
    args = parser().parse_args(["test", "deb", "--packages", str(tmp_path), "--record"])
    request = test.request_from(args)
    assert [part.name for part in test_parts.of(request)] == ["deb"]
    assert request.install == installed.InstallRequest(tmp_path, keep=True)
    every = test.request_from(parser().parse_args(["test", "ci"]))
    assert "deb" not in [part.name for part in test_parts.of(every)]
    assert main(["test", "deb", "--packages", str(tmp_path)]) == 2


def test_only_root_makes_a_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(debian_system, "HOME", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EnvironmentLacks, match="as root only"):
        debian_system.prepare()


def root_directory(home: Path) -> Path:
    """What of a Debian is looked at before it is packed."""
    root = home / "root"
    texts = {"etc/shadow": "daemon:*:1:\nroot:*:2:0:\n", "boot/vmlinuz-1": "kernel",
             "usr/lib/grub/i386-pc/lnxboot.img": "LNX", "tmp/x": ""}  # fmt: skip
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_system_is_set_up(tmp_path: Path, fake: Fake) -> None:
    root = root_directory(tmp_path)
    machine = debian_root.DebianRoot(root)
    debian_system.set_up(root)
    assert (root / "etc/shadow").read_text() == "daemon:*:1:\nroot::2:0:\n"
    assert "linux /boot/vmlinuz-1 root=/dev/vda" in (root / "boot/grub/grub.cfg").read_text()
    core = root / "tmp/core.img"
    fake("unshare", f'[[ $* == *grub-mkimage* ]] && printf CORE >"{core}"')
    debian_root.LOG.parent.mkdir(exist_ok=True)
    assert debian_system.grub_image(machine) == b"LNXCORE"
    (root / "boot/vmlinuz-2").write_text("")
    with pytest.raises(CheckFailed, match="exactly one kernel"):
        debian_system.set_up(root)


@pytest.mark.parametrize(("release", "threads"), [("7.2.22", "single"), ("10.0.2", "multi")])
def test_a_guest_that_patches_its_code(
    release: str, threads: str, fake: Fake, tmp_path: Path
) -> None:
    """An older QEMU runs one CPU at a time."""
    fake("qemu-system-x86_64", f"echo QEMU emulator version {release}")
    argv = debian_system.command(tmp_path, tmp_path, tmp_path, tmp_path)
    assert argv[argv.index("-accel") + 1] == f"tcg,thread={threads}"
    assert argv[argv.index("-smp") + 1] == "2"


def test_the_disk_stays_as_it_was(tmp_path: Path) -> None:
    argv = debian_system.command(tmp_path / "g", tmp_path / "d", tmp_path / "p", tmp_path)
    drives = [argv[i + 1] for i, word in enumerate(argv) if word == "-drive"]
    assert len(drives) == 2
    assert all("snapshot=on" in drive for drive in drives)
    assert "-no-reboot" not in argv
