# SPDX-License-Identifier: GPL-2.0-only
"""The table of architectures: everything in the lab that depends on the architecture."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Arch:
    """How kernels and programs of an architecture are built and booted.

    console: kernel parameters for the console, and for a reset at the end (QEMU runs with
        -no-reboot, so a reset ends it)
    uniprocessor: kernel parameters for exact guests with one CPU
    parallel: kernel parameters for guests that are not exact
    long_strings: -cpu for benches that clear or copy pages in the measured call
    short_strings: -cpu for the other benches: the same figures in less time
    cpu: -cpu where nothing is measured
    packages: Debian packages needed in addition to the launcher's
    foreign: the host cannot run the architecture's programs
    patience: how many times as long as x86-64 a debug kernel may take for a test
    needing: options of kernels, and what QEMU's machine must have for them
    bare_machine: QEMU's machine for kernels that were not built here
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
    cpu: str = "max"
    packages: tuple[str, ...] = ()
    foreign: bool = False
    patience: int = 1
    needing: tuple[tuple[str, str], ...] = ()
    bare_machine: str = "pc"


X86_64 = Arch(
    "x86_64",
    make=(),
    image=Path("arch/x86/boot/bzImage"),
    compiler="gcc",
    elf_machine=62,
    qemu="qemu-system-x86_64",
    machine="microvm,acpi=off,pit=on,pic=on,rtc=on,isa-serial=on",
    console="console=ttyS0 reboot=t",
    # The kernel busy-waits 100 ms to calibrate the APIC timer. TCG leaves translated code ten
    # million times meanwhile: ten of a boot's twelve seconds. The PIT works as well.
    # On a single CPU, Linux 6.12 patches lock prefixes away: locked instructions must be counted.
    uniprocessor="nolapic_timer noreplace-smp",
    # The kernel panics if no tick arrives while it checks the timer, as happens on a busy host.
    parallel="no_timer_check",
    # Without enhanced "rep stosb", clearing a page is 512 iterations instead of 4096.
    short_strings="max,-erms,-fsrm",
)
# arm64 has no option to build without mitigations: they are switched off at boot.
ARM64 = Arch(
    "arm64",
    make=("ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"),
    image=Path("arch/arm64/boot/Image"),
    compiler="aarch64-linux-gnu-gcc",
    elf_machine=183,
    qemu="qemu-system-aarch64",
    machine="virt,acpi=off",
    console="console=ttyAMA0 mitigations=off",
    # Each function of the kernel signs its return address. QEMU computes the architected cipher
    # for that, which takes most of the time of a debug kernel; its own cipher is as good here.
    cpu="max,pauth-impdef=on",
    packages=("gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-system-arm"),
    foreign=True,
    patience=3,
    # Storing tags takes time, which other kernels should not pay.
    needing=(("CONFIG_ARM64_MTE", "mte=on"),),
    bare_machine="virt",
)
ARCHES = {arch.name: arch for arch in (X86_64, ARM64)}
