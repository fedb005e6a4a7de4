# SPDX-License-Identifier: GPL-2.0-only
"""A Debian 13 with systemd, its own kernel and GRUB, on a disk image that QEMU starts from.

The disk is made once. GRUB is started by QEMU in place of a kernel, and reads its menu from
the disk, as a GRUB in a boot sector does; so the disk needs neither partitions nor a loader.
"""

import shutil
from pathlib import Path

from swathe.base import process, ui
from swathe.base.errors import CheckFailed
from swathe.base.paths import locked, scratch, write_atomically
from swathe.guest import debian_root, vm
from swathe.guest.debian_root import HOME, DebianRoot
from swathe.kernel import apt, build
from swathe.kernel.arch import X86_64

PACKAGES = (
    "systemd-sysv", "udev", "linux-base", "initramfs-tools", "zstd", "kmod", "login", "passwd",
    "linux-image-cloud-amd64", "grub-pc-bin", "grub2-common", "e2fsprogs",
)  # fmt: skip
HOST_PACKAGES = ("e2fsprogs",)
DISK_SIZE = "4G"
GRUB_HOME = "(hd0)/boot/grub"
GRUB_MODULES = ("biosdisk", "ext2", "normal", "serial", "terminal", "linux", "gzio")
EARLY = f"""\
set root=(hd0)
set prefix={GRUB_HOME}
serial
terminal_input serial
terminal_output serial
normal {GRUB_HOME}/grub.cfg
"""
# systemd gives up waiting for a device after 90 seconds, which a busy host can exceed; so can
# the start of logins on virtual terminals, which this machine without a display has no use for.
PARAMETERS = (
    f"console=ttyS0 {X86_64.parallel} systemd.mask=getty-static.service "
    "systemd.default_device_timeout_sec=900 systemd.default_timeout_start_sec=900"
)
# The menu of the first start; then update-grub writes it, as it does on every Debian.
MENU = f"""\
set timeout=1
menuentry "Debian" {{{{
	linux /boot/vmlinuz-{{0}} root=/dev/vda ro {PARAMETERS}
	initrd /boot/initrd.img-{{0}}
}}}}
"""
FILES = {
    "etc/default/grub": "GRUB_DEFAULT=0\nGRUB_TIMEOUT=3\nGRUB_DISTRIBUTOR=Debian\n"
    f'GRUB_CMDLINE_LINUX="{PARAMETERS}"\nGRUB_TERMINAL=serial\n',
    "etc/fstab": "/dev/vda / ext4 errors=remount-ro 0 1\n",
    "etc/hostname": "debian\n",
}
# With cmpxchg16b the kernels of Debian 13 took a double fault in QEMU 7.2.
CPU = "max,-cx16"
CPUS = 2


def prepare() -> tuple[Path, Path]:
    """Return GRUB's image and the disk; both are made once."""
    grub, disk = HOME / "grub.img", HOME / "disk.img"
    with locked("debian13"):
        if not (grub.is_file() and disk.is_file()):
            debian_root.require_possible()
            apt.need(HOST_PACKAGES)
            with scratch("debian13") as directory:
                make(directory)
    return grub, disk


def make(directory: Path) -> None:
    """Make the root directory, GRUB's image and the disk."""
    machine = debian_root.make(directory / "root")
    ui.note("installing systemd, a kernel and GRUB in a Debian 13 (about 300 MB)")
    machine.install(PACKAGES)
    debian_root.forget_settings(machine.root)
    set_up(machine.root)
    (directory / "grub.img").write_bytes(grub_image(machine))
    pack(machine.root, directory / "disk.img", DISK_SIZE)
    for name in ("disk.img", "grub.img"):
        (directory / name).rename(HOME / name)


def set_up(root: Path) -> None:
    """Configure what an installer would: the console, the file system, GRUB's first menu."""
    releases = [path.name.removeprefix("vmlinuz-") for path in root.glob("boot/vmlinuz-*")]
    if len(releases) != 1:
        raise CheckFailed(f"{root} does not hold exactly one kernel")
    texts = {**FILES, "boot/grub/grub.cfg": MENU.format(releases[0])}
    for name, text in texts.items():
        write_atomically(root / name, text.encode())
    shadow = root / "etc/shadow"
    lines = shadow.read_text().splitlines(keepends=True)
    opened = ["root::" + line.split(":", 2)[2] if line.startswith("root:") else line
              for line in lines]  # fmt: skip
    write_atomically(shadow, "".join(opened).encode(), 0o640)
    shutil.copytree(root / "usr/lib/grub/i386-pc", root / "boot/grub/i386-pc")


def grub_image(machine: DebianRoot) -> bytes:
    """Return GRUB in the form of a Linux kernel, which QEMU can start."""
    root = machine.root
    (root / "tmp/early.cfg").write_text(EARLY)
    machine.must(
        ["grub-mkimage", "-O", "i386-pc", "-o", "/tmp/core.img",
         "-p", GRUB_HOME, "-c", "/tmp/early.cfg", *GRUB_MODULES],
    )  # fmt: skip
    first = (root / "usr/lib/grub/i386-pc/lnxboot.img").read_bytes()
    image = first + (root / "tmp/core.img").read_bytes()
    for name in ("early.cfg", "core.img"):
        (root / "tmp" / name).unlink()
    return image


def pack(directory: Path, image: Path, size: str) -> None:
    """Make an ext4 file system that holds a directory's files."""
    process.check(["truncate", "-s", size, str(image)], "making a disk image")
    process.check(
        ["mke2fs", "-q", "-t", "ext4", "-d", str(directory), str(image)],
        "making a file system", timeout=1200,
    )  # fmt: skip


def threads() -> str:
    """Return how QEMU runs the guest's CPUs, which patch their code: together or in turn."""
    safe = vm.patches_code_safely(vm.version("qemu-system-x86_64"), CPUS)
    return "multi" if safe else "single"


def command(grub: Path, disk: Path, packages: Path, home: Path) -> list[str]:
    """Return QEMU's command line; what the guest writes is dropped when QEMU ends."""
    build.require_usable(grub, disk, packages, home)

    def drive(name: str, path: Path) -> list[str]:
        return [
            "-drive", f"if=none,id={name},format=raw,snapshot=on,file={path}",
            "-device", f"virtio-blk-pci,drive={name}",
        ]  # fmt: skip

    line = f"socket,id=line,path={home / 'line'},server=on,wait=on,logfile={home / 'console.log'}"
    return [
        "setpriv", "--pdeathsig", "KILL", "env", f"TMPDIR={home}",
        "qemu-system-x86_64", "-M", "pc", "-cpu", CPU, "-m", "2G", "-smp", str(CPUS),
        "-accel", f"tcg,thread={threads()}", "-display", "none", "-monitor", "none",
        "-nodefaults", "-no-user-config", "-chardev", line, "-serial", "chardev:line",
        *drive("disk", disk), *drive("packages", packages), "-kernel", str(grub),
    ]  # fmt: skip
