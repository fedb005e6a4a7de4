# SPDX-License-Identifier: GPL-2.0-only
"""Another architecture: its fragments, tools, machine, programs, and what is said without them."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import paths
from swathe.base.errors import EnvironmentLacks, UsageError
from swathe.check import selftest_guests, selftests
from swathe.cli import run
from swathe.guest import foreign, initramfs, runnable, vm
from swathe.guest.clock import Clock
from swathe.kernel import apt, build, compiler, config
from swathe.kernel.arch import ARCHES, ARM64, X86_64, Arch
from swathe.measure import benches, functions, instructions

Fake = Callable[[str, str], Path]


@pytest.mark.parametrize(
    ("flavor", "names"),
    [
        (config.Flavor("bench", "arm64", False), ["base", "arm64", "bench", "swathe"]),
        (config.Flavor("bench", "x86_64", True), ["base", "x86_64", "bench"]),
        (
            config.Flavor("debug", "arm64", False),
            ["base", "arm64", "debug", "arm64-debug", "swathe", "swathe-debug"],
        ),
    ],
)
def test_fragments(flavor: config.Flavor, names: Sequence[str]) -> None:
    assert [path.stem for path in flavor.fragments()] == list(names)


@pytest.mark.parametrize("flavor", ["bench", "debug"])
def test_contpte_is_what_arm64_is_for(flavor: str) -> None:
    asked = config.request(config.Flavor(flavor, "arm64", False).fragments())
    assert (asked["CONFIG_ARM64_CONTPTE"], asked["CONFIG_ARM64_4K_PAGES"]) == ("y", "y")
    assert not [name for name in asked if "X86" in name or "8250" in name]


def test_make_gets_architecture_and_tools() -> None:
    words = {name: build.make_command(Path("/t"), Path("/o"), ARCHES[name])[5:] for name in ARCHES}
    assert words == {
        "x86_64": [],
        "arm64": ["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"],
    }


def test_a_measured_kernel_keeps_its_locked_instructions(kernel: build.BuiltKernel) -> None:
    for wanted in Clock:
        machine = vm.Machine(kernel, wanted_clock=wanted)
        assert ("noreplace-smp" in machine.parameters.split()) is (wanted is Clock.EXACT)


MACHINES = [
    (X86_64, "qemu-system-x86_64", "microvm,", "console=ttyS0 reboot=t panic=-1"),
    (ARM64, "qemu-system-aarch64", "virt,", "console=ttyAMA0 mitigations=off panic=-1"),
]


@pytest.mark.parametrize(("target", "qemu", "machine", "line"), MACHINES)
def test_the_machine(
    kernel: build.BuiltKernel, target: Arch, qemu: str, machine: str, line: str
) -> None:
    machine_of = vm.Machine(replace(kernel, target=target))
    argv = vm.command(machine_of, kernel.out, kernel.out)
    assert argv[3] == qemu
    assert argv[argv.index("-M") + 1].startswith(machine)
    assert argv[argv.index("-append") + 1].startswith(line)
    assert argv[argv.index("-cpu") + 1] == target.cpu
    assert "virtio-serial-device" in argv
    assert not [word for word in argv if "-pci" in word]


def test_signed_return_addresses_cost_no_cipher() -> None:
    assert "pauth-impdef=on" in ARM64.cpu.split(",")


class Booted(Exception):
    """Stops where a machine would start."""

    def __init__(self, machine: vm.Machine, job: initramfs.Job) -> None:
        super().__init__()
        self.machine = machine
        self.job = job


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> build.KernelRequest:
    """A kernel for arm64 that need not be built, in a machine that does not start."""
    request = build.KernelRequest(arch="arm64")
    result = build.BuiltKernel(
        "6.12.0", tmp_path / "Image", tmp_path, tmp_path, "0", request.target
    )
    (tmp_path / ".config").write_text("")
    (tmp_path / "System.map").write_text("ffff800080000000 T _text\n")

    def boot(machine: vm.Machine, job: initramfs.Job, *_: object, **__: object) -> None:
        raise Booted(machine, job)

    monkeypatch.setattr(build, "build", lambda _: result)
    monkeypatch.setattr(vm, "boot", boot)
    monkeypatch.setattr(initramfs, "make", lambda *_: Path("x"))
    monkeypatch.setattr(compiler, "programs", lambda *_, compiler="": {"lazyfree": Path(compiler)})
    monkeypatch.setattr(selftests, "compile_tests", lambda _: {})
    return request


def measure_one(request: build.KernelRequest) -> None:
    choices = tuple(benches.choose(["lazyfree:64K"]))
    instructions.measure(
        instructions.BenchRequest(request, choices, False, None, 3, 1, 10, "", None)
    )


def profile_one(request: build.KernelRequest) -> None:
    choice = benches.choose(["lazyfree"])[0]
    functions.measure(functions.ProfileRequest(request, choice.bench, "64K", None, 1, 10))


def run_one(request: build.KernelRequest) -> None:
    run.run(run.RunRequest(request, Path("/x"), (), (), 0, 1, "1G", "1G", 10, ""))


def guest_one(request: build.KernelRequest) -> None:
    selftest_guests.run(selftests.SelftestRequest(request, True, (), 1, 10, ""))


COMMANDS = [measure_one, profile_one, run_one, guest_one]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_boots_the_machine_that_was_built_for(
    built: build.KernelRequest, command: Callable[[build.KernelRequest], None], fake: Fake
) -> None:
    for qemu in (ARM64.qemu, X86_64.qemu):
        fake(qemu, "echo QEMU emulator version 7.2")
    with pytest.raises(Booted) as caught:
        command(built)
    assert caught.value.machine.target is ARM64


@pytest.mark.parametrize("command", [measure_one, profile_one])
def test_workloads_are_cross_compiled(
    built: build.KernelRequest, command: Callable[[build.KernelRequest], None], fake: Fake
) -> None:
    fake(ARM64.qemu, "echo QEMU emulator version 7.2")
    with pytest.raises(Booted) as caught:
        command(built)
    assert caught.value.job.files["/bin/lazyfree"] == Path(ARM64.compiler)


@pytest.mark.parametrize(("command", "mode"), [(measure_one, "count"), (profile_one, "calls")])
def test_the_plugin_decodes_what_the_machine_executes(
    built: build.KernelRequest,
    command: Callable[[build.KernelRequest], None],
    mode: str,
    fake: Fake,
) -> None:
    fake(ARM64.qemu, "echo QEMU emulator version 7.2")
    with pytest.raises(Booted) as caught:
        command(built)
    option = caught.value.machine.options[1]
    assert f",mode={mode}," in option
    assert option.endswith(",arch=arm64")


def test_programs_are_kept_by_compiler(tmp_path: Path, fake: Fake) -> None:
    (tmp_path / "a.c").write_text("int main(void)\n{\n\treturn 0;\n}\n")
    fake(ARM64.compiler, '[ "$1" = --version ] && echo cross 1 && exit; touch "${@: -2:1}"')
    native = compiler.programs(tmp_path)
    assert compiler.programs(tmp_path, compiler=ARM64.compiler) != native


def elf_image(machine: int) -> bytes:
    """An executable's header without anything behind it."""
    return b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + machine.to_bytes(2, "little") + bytes(44)


def test_a_program_of_another_architecture(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(elf_image(62))
    runnable.require_runnable(tmp_path / "a", X86_64)
    with pytest.raises(UsageError, match="is built for x86_64, not for arm64"):
        runnable.require_runnable(tmp_path / "a", ARM64)
    (tmp_path / "a").write_bytes(elf_image(243))
    with pytest.raises(UsageError, match="is built for another machine, not for x86_64"):
        runnable.require_runnable(tmp_path / "a", X86_64)


ONLY_LIBC = 'echo "installed libc6-dev-arm64-cross"; exit 1'
LINE = "apt-get install gcc-aarch64-linux-gnu qemu-system-arm"


def test_a_user_is_told_what_to_install(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake("dpkg-query", ONLY_LIBC)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert __main__.main(["build", "--arch", "arm64"]) == 3
    assert capsys.readouterr().err.splitlines()[-1] == f"swathe: packages are missing: sudo {LINE}"


def test_root_gets_it_installed_after_an_update(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("dpkg-query", ONLY_LIBC)
    log = tmp_path / "calls"
    fake("apt-get", f'echo "$*" >>{log}; [ $(grep -c ^install {log}) = 2 ] || [ "$1" = update ]')
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    apt.need(ARM64.packages)
    calls = log.read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["install", "update", "install"]
    assert calls[2].endswith(" gcc-aarch64-linux-gnu qemu-system-arm")


def test_nothing_is_asked_for_that_is_not_used(fake: Fake) -> None:
    fake("dpkg-query", "exit 1")
    fake("apt-get", "exit 1")
    apt.need(X86_64.packages)


def test_root_without_network(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake("dpkg-query", ONLY_LIBC)
    fake("apt-get", "exit 100")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(EnvironmentLacks, match=f"no network.*{LINE}"):
        apt.need(ARM64.packages)


# A mirror's package with one file, and apt in front of it: only for arm64.
FOREIGN = """
case "$0 $*" in
*indextargets*) printf 'http://mirror.example/debian/ trixie\\n' ;;
*apt-get*Architecture=arm64*download*) : >busybox-static_1_arm64.deb ;;
*download*) exit 100 ;;
esac
"""
UNPACK = """
mkdir -p "$3/usr/bin"
echo an arm64 program >"$3/usr/bin/busybox"
"""


@pytest.fixture
def mirror(fake: Fake) -> None:
    for name in ("apt-get", "apt-cache"):
        fake(name, FOREIGN)
    fake("dpkg-deb", UNPACK)


# apt and its packages: one brings another.
BOTH = """
for word; do case "$word" in Dir::Cache=*) cache=${word#Dir::Cache=} ;; esac; done
case "$*" in
*indextargets*) printf 'http://mirror.example/debian/ trixie\\n' ;;
*Architecture=arm64*--download-only*) touch $cache/archives/a.deb $cache/archives/libc6.deb ;;
*download*) exit 100 ;;
esac
"""
UNPACK_ONE = """
mkdir -p "$3/usr/lib"
echo >"$3/usr/lib/$(basename "$2").so"
"""


def test_packages_come_with_what_they_depend_on(fake: Fake) -> None:
    fake("apt-get", BOTH)
    fake("dpkg-deb", UNPACK_ONE)
    root = foreign.root(ARM64, ("a",))
    assert [path.name for path in sorted(root.path.rglob("*.so"))] == ["a.deb.so", "libc6.deb.so"]
    assert [path.name for path in root.path.iterdir()] == ["usr"]
    assert root.find("libc6.deb.so").is_file()
    fake("apt-get", BOTH.replace("Architecture=arm64", "Architecture=none"))
    assert foreign.root(ARM64, ("a",)) == root
    with pytest.raises(EnvironmentLacks, match=r"b c could not be fetched .*arm64"):
        foreign.root(ARM64, ("b", "c"))
    assert not [path for path in root.path.parent.iterdir() if path != root.path]


@pytest.mark.usefixtures("mirror")
def test_busybox_is_fetched_once(fake: Fake) -> None:
    found = initramfs.busybox(ARM64)
    assert found.read_text() == "an arm64 program\n"
    assert found.stat().st_mode & 0o111
    assert found.is_relative_to(paths.BUILD)
    fake("apt-get", FOREIGN.replace("Architecture=arm64", "Architecture=none"))
    assert initramfs.busybox(ARM64) == found
    found.unlink()
    with pytest.raises(EnvironmentLacks, match=r"busybox-static could not be fetched .*arm64"):
        initramfs.busybox(ARM64)


def test_own_busybox_is_used_for_own_kernels() -> None:
    assert initramfs.busybox(X86_64) == initramfs.BUSYBOX
