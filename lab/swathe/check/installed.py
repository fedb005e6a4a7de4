# SPDX-License-Identifier: GPL-2.0-only
"""Install kernel packages in a Debian 13, start it, measure, go back, and remove them again.

The guest starts from its disk, through GRUB, and is used over its serial console. It runs
Debian's own kernel before and after; dpkg and update-grub run in the guest.
"""

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from swathe.base import process, release, results, ui
from swathe.base.errors import UsageError, VmLost
from swathe.base.paths import BUILD, scratch
from swathe.base.verdicts import Test, Verdict
from swathe.guest import debian_system, serial, vm
from swathe.guest.serial import Answer, SerialConsole
from swathe.kernel import field_program
from swathe.kernel.arch import X86_64

PART = "deb"
NAME = re.compile(r"linux-image-(?P<release>[^_]+-swathe\d+)_(?P<version>[^_]+)_amd64\.deb")
SWITCH = "/sys/kernel/mm/unmap/enabled"
BOOT_LIMIT = 1200
INSTALL_LIMIT = 1800
LONGEST = 40
PAYLOAD_ROOM = 64 << 20
PAYLOAD = "/mnt"
MOUNT = f"mount -o ro /dev/vdb {PAYLOAD}"
# The rows of swathe-field that need swap get some; of its output the block is kept whole.
SWAP = "/var/tmp/swap"
MAKE_SWAP = (
    f"dd if=/dev/zero of={SWAP} bs=1M count=256 status=none && chmod 600 {SWAP} && "
    f"mkswap -q {SWAP} && swapon {SWAP}"
)
FIELD = f"{PAYLOAD}/swathe-field --thp --mib 16 --pairs 5 --seed 1 --dir /var/tmp"
FIELD_BLOCK = r"----- swathe-field \d+: from here (?s:.*)----- swathe-field \d+: end -----$"


@dataclass(frozen=True)
class InstallRequest:
    """packages: the directory that ./swathe deb wrote to."""

    packages: Path
    keep: bool = False


@dataclass(frozen=True)
class InstalledPackages:
    """The packages of one release."""

    release: str
    files: tuple[Path, ...]

    @property
    def series(self) -> str:
        return self.release.partition("-")[0]

    @property
    def names(self) -> str:
        return " ".join(path.name.split("_")[0] for path in self.files)


@dataclass(frozen=True)
class Said:
    """A command in the guest: what it printed, and whether that is as it must be.

    whole: the transcript shows all of a long output, not only its end.
    """

    command: str
    output: str
    good: bool
    whole: bool = False


@dataclass
class InstallTrial:
    """What was done in the guest so far; a heading stands for each start of it."""

    console: SerialConsole
    chapters: list[tuple[str, list[Said]]] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)

    def start(self, title: str) -> None:
        """Wait for the login prompt, and log in."""
        seconds = self.console.log_in(BOOT_LIMIT)
        ui.note(f"{title}: login after {seconds:.0f} s")
        self.chapters.append((title, []))

    def restart(self, title: str) -> None:
        self.console.send("systemctl reboot")
        self.start(title)

    def run(self, command: str, expect: str = "", name: str = "", *, whole: bool = False) -> Answer:
        """Run a command, which must succeed and print what expect matches."""
        answer = self.console.run(command, INSTALL_LIMIT)
        good = answer.status == 0 and re.search(expect, answer.output.strip()) is not None
        self.chapters[-1][1].append(Said(command, answer.output, good, whole))
        why = "" if good else f"status {answer.status}: {process.last_line(answer.output)}"
        verdict = Verdict.PASSED if good else Verdict.FAILED
        self.tests.append(Test(f"{PART}: {name or command}", verdict, why))
        ui.note(f"  {command}: {'ok' if good else why} ({answer.seconds:.0f} s)")
        return answer


def find(directory: Path) -> InstalledPackages:
    """Return the newest packages in a directory."""
    images = [path for path in directory.glob("*.deb") if NAME.fullmatch(path.name)]
    if not images:
        raise UsageError(f"{directory} holds no kernel packages: run ./swathe deb first")
    image = max(images, key=lambda path: path.stat().st_mtime)
    headers = image.with_name(image.name.replace("linux-image-", "linux-headers-"))
    found = NAME.fullmatch(image.name)
    assert found
    return InstalledPackages(
        found["release"], tuple(path for path in (image, headers) if path.is_file())
    )


def run(request: InstallRequest) -> list[Test]:
    """Do all of it in one guest; what it writes to its disk is dropped at the end."""
    built = find(request.packages)
    grub, disk = debian_system.prepare()
    with scratch("installed") as home:
        payload = pack(built, home)
        argv = debian_system.command(grub, disk, payload, home)
        log = home / "qemu.log"
        with vm.running(argv, log) as child:
            trial = InstallTrial(serial.connect(home / "line", child, log))
            lost = attempt(trial, built)
    path = record(built, trial, request.keep)
    ui.note(f"transcript: {path}")
    return trial.tests + lost


def pack(built: InstalledPackages, home: Path) -> Path:
    """Make the disk that carries the packages, and swathe-field, into the guest."""
    directory = home / "packages"
    directory.mkdir()
    program = field_program.MEASURE.install(X86_64)
    for path in (*built.files, program):
        shutil.copy(path, directory)
    size = sum(path.stat().st_size for path in directory.iterdir()) * 5 // 4 + PAYLOAD_ROOM
    debian_system.pack(directory, home / "packages.img", str(size))
    return home / "packages.img"


def attempt(trial: InstallTrial, built: InstalledPackages) -> list[Test]:
    """Do all of it; a guest that is lost is a failed test, and its console is kept."""
    try:
        story(trial, built)
    except VmLost as error:
        log = BUILD / "log" / f"{results.stamped(PART)}.console.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("".join(trial.console.text))
        return [Test(f"{PART}: guest", Verdict.FAILED, f"{error}; its console is in {log}")]
    return []


def story(trial: InstallTrial, built: InstalledPackages) -> None:
    """Install, start, look, measure, go back, remove, start again."""
    debian = install(trial, built)
    look(trial, built)
    measure(trial)
    menu = "grub-reboot 'Advanced options for Debian GNU/Linux>"
    trial.run(f"{menu}Debian GNU/Linux, with Linux {debian}'", name="Debian's kernel is chosen")
    remove(trial, built, debian)
    trial.restart("Debian's kernel, after the packages are gone")
    trial.run("uname -r", f"^{re.escape(debian)}$", "Debian's kernel starts without a choice")


def install(trial: InstallTrial, built: InstalledPackages) -> str:
    """Install the packages in Debian's kernel; return its release."""
    trial.start("Debian's kernel; the packages are installed")
    debian = trial.run("uname -r", r"^6\S+deb13\S*$", "Debian's kernel runs").output.strip()
    trial.run("update-grub")
    trial.run(MOUNT)
    files = " ".join(f"{PAYLOAD}/{path.name}" for path in built.files)
    quoted = re.escape(built.release)
    trial.run(f"dpkg -i {files}", f"Setting up linux-image-{quoted}", "dpkg installs")
    trial.run(f"ls /boot/*{built.release}", f"initrd.img-{quoted}", "an initramfs was made")
    return debian


def look(trial: InstallTrial, built: InstalledPackages) -> None:
    """Start the kernel with Swathe, and look whether all is as it must be."""
    trial.restart("The kernel with Swathe, which GRUB starts as the newest")
    trial.run("uname -r", f"^{re.escape(built.release)}$", "the kernel with Swathe runs")
    trial.run("grep UNMAP /boot/config-$(uname -r)", "CONFIG_UNMAP=y", "it is configured")
    trial.run("grep -c '=[ym]' /boot/config-$(uname -r)", r"^\d+$", "its configuration is there")
    trial.run(f"cat {SWITCH}", r"^0x[0-9a-f]*[1-9a-f][0-9a-f]*$", "the switch is there and on")
    trial.run("systemctl is-system-running --wait || true", "running|degraded", "systemd is up")
    trial.run("systemctl --failed --no-legend --plain", "^$", "no unit failed")
    trial.run("cat /proc/sys/kernel/tainted", "^0$", "nothing taints the kernel")
    trial.run(f"echo 0 >{SWITCH} && cat {SWITCH}", r"^0x0+$", "the switch goes off")
    trial.run(f"echo y >{SWITCH} && cat {SWITCH}", "[1-9a-f]$", "the switch goes on")


def remove(trial: InstallTrial, built: InstalledPackages, debian: str) -> None:
    """Go back to Debian's kernel, and remove the packages."""
    trial.restart("Debian's kernel again; the packages are removed")
    trial.run("uname -r", f"^{re.escape(debian)}$", "the machine boots back")
    trial.run(f"ls {SWITCH} 2>&1 || true", "No such file", "Debian's kernel has no switch")
    trial.run(f"dpkg --purge {built.names}", "Purging|Removing", "dpkg removes")
    trial.run(f"find / -xdev -name '*{built.release}*'", "^$", "no file is left")
    forgot = f"grep -c {built.release} /boot/grub/grub.cfg || true"
    trial.run(forgot, "^0$", "GRUB's menu forgot it")


def measure(trial: InstallTrial) -> None:
    """Run swathe-field as a user would; it must put the switch back."""
    found = trial.run(f"cat {SWITCH}").output.strip()
    trial.run(MAKE_SWAP)
    trial.run(MOUNT)
    trial.run(FIELD, FIELD_BLOCK, "swathe-field measures", whole=True)
    trial.run(f"cat {SWITCH}", f"^{found}$", "swathe-field puts the switch back")


def record(built: InstalledPackages, trial: InstallTrial, keep: bool) -> Path:
    """Write the transcript."""
    text = transcript(built, trial.chapters)
    data = {title: [vars(said) for said in lines] for title, lines in trial.chapters}
    return results.record(
        f"{PART}-{built.series}", keep, dict[str, list[dict[str, object]]], lambda _: (data, text)
    )[-1]


def transcript(built: InstalledPackages, chapters: list[tuple[str, list[Said]]]) -> str:
    """Return the guest's commands and what they printed, as Markdown."""
    qemu = vm.version("qemu-system-x86_64")
    files = "".join(
        f"- `{path.name}` ({path.stat().st_size / 1e6:.1f} MB)\n" for path in built.files
    )
    parts = [
        f"{results.SPDX}\n# Kernel packages in a Debian 13\n",
        f"`./swathe test deb` in {qemu}, swathe {release.commit()}:\n",
        files,
        "The guest has a disk with systemd, GRUB and Debian's own kernel, and is used over its\n"
        "serial console. Each section is one start of it.\n",
    ]
    for title, lines in chapters:
        shown = "\n".join(block(said) for said in lines)
        parts.append(f"## {title}\n\n```\n{shown}\n```\n")
    return "\n".join(parts)


def block(said: Said) -> str:
    """Return a command and its output; of a long output, the end."""
    # dpkg writes its progress over itself: what stays on the screen is kept.
    lines = [line.rsplit("\r", 1)[-1] for line in said.output.strip().split("\n")]
    kept = lines if said.whole or len(lines) <= LONGEST else ["[…]", *lines[-LONGEST:]]
    mark = "" if said.good else "   <-- not as it must be"
    return "\n".join([f"# {said.command}{mark}", *(line.rstrip() for line in kept if line)])
