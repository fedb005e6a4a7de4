# SPDX-License-Identifier: GPL-2.0-only
"""What differs between the architectures a kernel is built for: all of it, in one table."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Arch:
    """How kernels and programs of an architecture are built, and how they are booted.

    console is what the kernel's command line needs for a console and for an end:
    a reset under -no-reboot ends the machine. uniprocessor is for exact guests with
    one CPU, parallel for those that are not exact. packages are those beyond the
    launcher's own; foreign says that its programs are none of this machine's.

    long_strings is the -cpu to measure with where pages are cleared or copied in the
    measured call, short_strings elsewhere: the same figures, sooner.
    """

    name: str
    make: tuple[str, ...]
    image: Path
    compiler: str
    elf_machine: int
    qemu: str
    machine: str
    console: str
    uniprocessor: str = ""
    parallel: str = ""
    long_strings: str = "max"
    short_strings: str = "max"
    packages: tuple[str, ...] = ()
    foreign: bool = False


X86_64 = Arch(
    "x86_64",
    make=(),
    image=Path("arch/x86/boot/bzImage"),
    compiler="gcc",
    elf_machine=62,
    qemu="qemu-system-x86_64",
    machine="microvm,acpi=off,pit=on,pic=on,rtc=on,isa-serial=on",
    console="console=ttyS0 reboot=t",
    # To calibrate the timer the kernel waits for 100 ms: in TCG a wait is ten million exits
    # from translated code, and ten of a boot's twelve seconds. The PIT serves as well.
    # Linux 6.12 patches its lock prefixes away where it finds a single CPU: they must be counted.
    uniprocessor="nolapic_timer noreplace-smp",
    # On a busy host no tick may come while the kernel looks whether its timer works: it panics.
    parallel="no_timer_check",
    # Without enhanced "rep stosb", clearing a page is 512 iterations instead of 4096.
    short_strings="max,-erms,-fsrm",
)
# Its configuration has no option that leaves mitigations out: they are switched off at boot.
ARM64 = Arch(
    "arm64",
    make=("ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"),
    image=Path("arch/arm64/boot/Image"),
    compiler="aarch64-linux-gnu-gcc",
    elf_machine=183,
    qemu="qemu-system-aarch64",
    machine="virt,acpi=off",
    console="console=ttyAMA0 mitigations=off",
    packages=("gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-system-arm"),
    foreign=True,
)
ARCHES = {arch.name: arch for arch in (X86_64, ARM64)}
