# SPDX-License-Identifier: GPL-2.0-only
"""Kernel packages: which configurations are taken, what is changed, and what is refused."""

import errno
import gzip
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import process
from swathe.base.errors import CheckFailed, EnvironmentLacks, UsageError
from swathe.cli import deb
from swathe.kernel import (
    apt,
    build,
    config,
    debian_config,
    package_config,
    package_cost,
    packages,
    signing,
    source,
    start_config,
    tree,
    version,
)
from swathe.kernel.package_config import fragment, lost
from swathe.kernel.packages import Packages, PackagesRequest
from swathe.kernel.signing import Signer
from swathe.kernel.start_config import Start

Fake = Callable[[str, str], Path]
FOUND = source.Source(Path("/t/linux-6.12.117"), version.Version.parse("6.12.117"), ours=True)
RELEASE = "6.12.117-swathe1"
WHOLE = """\
#
# Linux/x86 6.12.117 Kernel Configuration
#
CONFIG_X86_64=y
CONFIG_MMU=y
CONFIG_SYSFS=y
CONFIG_MODULES=y
CONFIG_SWAP=y
CONFIG_MEMCG=y
CONFIG_TRANSPARENT_HUGEPAGE=y
CONFIG_MODULE_SIG=y
CONFIG_SYSTEM_TRUSTED_KEYS="debian/certs/debian-uefi-certs.pem"
CONFIG_SYSTEM_REVOCATION_KEYS=""
CONFIG_DEBUG_INFO=y
CONFIG_DEBUG_INFO_BTF=y
"""
ARM64 = WHOLE.replace("Linux/x86", "Linux/arm64").replace("X86_64", "ARM64")


@pytest.fixture(autouse=True)
def nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not refused ends here, and builds nothing."""
    monkeypatch.setattr(apt, "need", lambda _: None)
    monkeypatch.setattr(source, "get", lambda *_: pytest.fail("it was not refused"))


def start(text: str) -> Start:
    return Start("name", "/c/config", text)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str | bytes], str]:
    """Write a configuration file; return its path."""

    def write(content: str | bytes) -> str:
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / "my.config").write_bytes(data)
        return str(tmp_path / "my.config")

    return write


def without(name: str) -> str:
    return WHOLE.replace(f"CONFIG_{name}=y\n", f"# CONFIG_{name} is not set\n")


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        ("hello\n", 2, "is not a kernel configuration: no line sets an option"),
        ("", 2, "is not a kernel configuration: no line sets an option"),
        (b"\x7fELF\xff\xfe", 2, "is not a kernel configuration: it is not text"),
        (b"\x1f\x8bhello", 2, "is not a kernel configuration: it is not text"),
        (gzip.compress(WHOLE.encode())[:-30], 2, "is not a kernel configuration: it is not text"),
        ("CONFIG_UNMAP=y\n", 2, "is not a whole configuration for x86_64"),
        (ARM64, 2, "is a configuration for arm64, not for x86_64"),
        (WHOLE.replace("CONFIG_X86_64=y\n", ""), 2, "is a configuration for x86, not for x86_64"),
        (without("SYSFS"), 1, "does not set CONFIG_SYSFS, which CONFIG_UNMAP depends on"),
        (without("MMU"), 1, "does not set CONFIG_MMU, which CONFIG_UNMAP depends on"),
    ],
)
def test_files_that_are_refused(
    file: Callable[[str | bytes], str], content: str | bytes, status: int, said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = file(content)
    assert __main__.main(["deb", "--config", path]) == status
    error = capsys.readouterr().err
    assert error.startswith(f"swathe: {path} ")
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--config", "/nowhere"], "there is no such file; Debian's own are amd64, cloud-amd64"),
        (["--config", "arm64"], "is a configuration for arm64, not for x86_64: add --arch arm64"),
        (["--config", "amd64", "--arch", "arm64"], "for x86_64, not for arm64: add --arch x86_64"),
    ],
)
def test_names_that_are_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert __main__.main(["deb", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_machines_own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_config, "BOOT", tmp_path)
    with pytest.raises(EnvironmentLacks, match="name a configuration with --config FILE, or one"):
        start_config.local_start("", "x86_64")
    (tmp_path / f"config-{os.uname().release}").write_text(WHOLE)
    found = start_config.local_start("", "x86_64")
    assert found is not None
    assert (found.name, found.version) == ("machine", "6.12.117")


def test_a_compressed_file(file: Callable[[str | bytes], str]) -> None:
    found = start_config.local_start(file(gzip.compress(WHOLE.encode())), "x86_64")
    assert found is not None
    assert found.text == WHOLE
    assert found.name.startswith("my-")


def test_files_of_one_name_are_built_apart(tmp_path: Path) -> None:
    names = {start_config.directory_name(tmp_path / part / "my.config") for part in "ab"}
    assert len(names) == 2


@pytest.mark.parametrize("name", ["SWAP", "MEMCG", "TRANSPARENT_HUGEPAGE", "UNMAP_TABLES"])
def test_what_is_lost_without_an_option(name: str) -> None:
    whole = WHOLE + "CONFIG_UNMAP_TABLES=y\n"
    assert start_config.losses(config.parse(whole)) == []
    options = config.parse(whole.replace(f"CONFIG_{name}=y\n", ""))
    (said,) = start_config.losses(options)
    assert said.startswith(f"without CONFIG_{name}, ")
    start_config.require(start(whole.replace(f"CONFIG_{name}=y\n", "")), "x86_64")


def test_what_is_changed() -> None:
    lines = fragment(config.parse(WHOLE), debug_info=False).splitlines()
    assert lines == [
        "CONFIG_UNMAP=y", 'CONFIG_LOCALVERSION="-swathe1"', "# CONFIG_LOCALVERSION_AUTO is not set",
        "CONFIG_UNMAP_TABLES=y", 'CONFIG_SYSTEM_TRUSTED_KEYS=""', "CONFIG_MODULE_SIG_ALL=y",
        'CONFIG_MODULE_SIG_KEY="certs/signing_key.pem"', "CONFIG_DEBUG_INFO_NONE=y",
    ]  # fmt: skip
    plain = fragment(config.parse(without("MODULE_SIG")), debug_info=True)
    assert "SIG" not in plain
    assert "DEBUG" not in plain


@pytest.mark.parametrize("huge", ["y", "n"])
def test_page_tables_on_arm64(huge: str) -> None:
    options = {**config.parse(ARM64), "CONFIG_HUGETLB_PAGE": huge}
    assert "CONFIG_UNMAP_TABLES=y\n" in fragment(options, debug_info=False)


def test_what_is_not_set_any_more() -> None:
    before = {"CONFIG_A": "y", "CONFIG_B": "m", "CONFIG_C": "y", "CONFIG_CC_X": "y",
              "CONFIG_D": '"x"', "CONFIG_E": "n"}  # fmt: skip
    assert lost(before, {"CONFIG_A": "m", "CONFIG_B": "n"}) == ["CONFIG_B", "CONFIG_C"]


def test_losses_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    old = WHOLE.replace("6.12.117", "6.1.5") + "".join(f"CONFIG_X{i}=y\n" for i in range(20))
    package_config.report(start(old), {"CONFIG_UNMAP_TABLES": "y"}, FOUND)
    said = capsys.readouterr().err
    assert "without CONFIG_SWAP, " in said
    assert "BPF programs that need BTF do not run (--debug-info keeps it" in said
    assert "CONFIG_X86_64, CONFIG_MMU" in said
    assert " more\n" in said
    assert "/c/config is of Linux 6.1.5: new options get their defaults" in said


def test_time_and_disk_are_scaled() -> None:
    options = {f"CONFIG_{i}": "y" for i in range(3000)}
    whole = package_cost.estimate(options, debug_info=False)
    assert whole.objects == round(3000 * package_cost.OBJECTS)
    half = dict.fromkeys(list(options)[::2], "m") | {"CONFIG_N": "n", "CONFIG_S": '"s"'}
    assert package_cost.estimate(half, False).objects == pytest.approx(whole.objects / 2, abs=2)
    debug = package_cost.estimate({**options, "CONFIG_DEBUG_INFO": "y"}, debug_info=True)
    assert debug.size > 3 * whole.size
    assert "minutes" in whole.sentence


def test_too_little_space(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    with pytest.raises(EnvironmentLacks, match="name another directory in SWATHE_BUILD"):
        package_cost.require_space(2 * free, tmp_path)
    package_cost.require_space(1 << 20, tmp_path)


def test_what_is_built_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vmlinux").write_bytes(b"x" * (2 << 20))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(0, 0, 1 << 20))
    package_cost.require_space(2 << 20, tmp_path)
    with pytest.raises(EnvironmentLacks):
        package_cost.require_space(4 << 20, tmp_path)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two keys with certificates, and a key with a pass phrase."""
    home = tmp_path_factory.mktemp("keys")
    for name in "ab":
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
             "-keyout", home / f"{name}.key", "-out", home / f"{name}.crt", "-subj", "/CN=x"],
            check=True, capture_output=True,
        )  # fmt: skip
    subprocess.run(
        ["openssl", "pkey", "-in", home / "a.key", "-aes256", "-passout", "pass:x",
         "-out", home / "locked.key"],
        check=True, capture_output=True,
    )  # fmt: skip
    return home


@pytest.mark.parametrize(
    ("out", "said"), [("file", "file is not a directory"), ("file/a/b", "file is not a directory"),
                      ("shut/a", "you may not write to .*shut")],
)  # fmt: skip
def test_where_packages_cannot_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, said: str
) -> None:
    """It is found before anything is built."""
    (tmp_path / "file").touch()
    (tmp_path / "shut").mkdir()
    monkeypatch.setattr(os, "access", lambda path, _: path.name != "shut")
    with pytest.raises(UsageError, match=said):
        packages.make(PackagesRequest(build.KernelRequest(), "amd64", tmp_path / out))
    assert listed(tmp_path) == ["file", "shut"]


def test_a_key_and_its_certificate(keys: Path) -> None:
    signing.check(Signer(keys / "a.key", keys / "a.crt"))


@pytest.mark.parametrize(
    ("key", "certificate", "said"),
    [
        ("a.key", "b.crt", "b.crt is not the certificate of the key .*a.key"),
        ("locked.key", "a.crt", "locked.key is not a private key in PEM form, or has a pass"),
        ("a.crt", "a.crt", "a.crt is not a private key in PEM form"),
        ("a.key", "a.key", "a.key is not a certificate in PEM form"),
        ("c.key", "a.crt", "there is no private key .*c.key"),
        ("a.key", "c.crt", "there is no certificate .*c.crt"),
    ],
)
def test_keys_that_are_refused(keys: Path, key: str, certificate: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        signing.check(Signer(keys / key, keys / certificate))


def test_keys_are_checked_before_anything_is_built(keys: Path) -> None:
    words = ["deb", "--config", "amd64", "--sign", str(keys / "a.key"), str(keys / "b.crt")]
    assert __main__.main(words) == 2
    request = PackagesRequest(
        build.KernelRequest(arch="arm64"), "arm64", signer=Signer(keys / "a.key", keys / "a.crt")
    )
    with pytest.raises(UsageError, match="images for arm64 cannot be signed"):
        packages.make(request)


def test_an_image_that_cannot_be_signed(
    machine: Callable[[str], PackagesRequest], keys: Path
) -> None:
    request = replace(machine("exit 1"), signer=Signer(keys / "a.key", keys / "a.crt"))
    with pytest.raises(UsageError, match="does not set CONFIG_EFI_STUB, which signing"):
        packages.make(request)


SBSIGN = (
    'while [ "$2" ]; do [ "$1" = --output ] && out=$2; shift; done; { cat "$1"; echo S; } >$out'
)


def small_package(home: Path) -> Path:
    """A package with an image in it."""
    root = home / "root"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "boot").mkdir()
    (root / "boot/vmlinuz-1").write_text("image\n")
    (root / "boot/config-1").write_text("config\n")
    (root / "DEBIAN/control").write_text(
        "Package: p\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: d\n"
    )
    sums = subprocess.run(["md5sum", "boot/vmlinuz-1", "boot/config-1"], cwd=root, text=True,
                          check=True, capture_output=True).stdout  # fmt: skip
    (root / "DEBIAN/md5sums").write_text(sums)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, home / "p.deb"], check=True,
                   capture_output=True)  # fmt: skip
    return home / "p.deb"


def test_the_image_in_a_package_is_signed(fake: Fake, keys: Path, tmp_path: Path) -> None:
    fake("sbsign", SBSIGN)
    fake("sbverify", 'tail -1 "$3" | grep -q S')
    deb_file = small_package(tmp_path)
    signing.sign(deb_file, "boot/vmlinuz-1", Signer(keys / "a.key", keys / "a.crt"))
    subprocess.run(["dpkg-deb", "-R", deb_file, tmp_path / "out"], check=True)
    assert (tmp_path / "out/boot/vmlinuz-1").read_text() == "image\nS\n"
    argv = ["md5sum", "-c", "DEBIAN/md5sums"]
    assert subprocess.run(argv, cwd=tmp_path / "out", check=False).returncode == 0


def test_a_signature_that_cannot_be_made(fake: Fake, keys: Path, tmp_path: Path) -> None:
    fake("sbsign", "echo this is no image; exit 1")
    deb_file = small_package(tmp_path)
    before = deb_file.read_bytes()
    with pytest.raises(CheckFailed, match="signing vmlinuz-1 failed: this is no image"):
        signing.sign(deb_file, "boot/vmlinuz-1", Signer(keys / "a.key", keys / "a.crt"))
    assert deb_file.read_bytes() == before


@pytest.fixture
def machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fake: Fake
) -> Callable[[str], PackagesRequest]:
    """A machine where make does what a script says; it is given a directory for packages."""
    monkeypatch.setattr(source, "get", lambda *_: FOUND)
    monkeypatch.setattr(tree, "prepare", lambda _: tree.Prepared(tmp_path / "tree", "stamp"))
    monkeypatch.setattr(package_cost, "estimate", lambda *_: package_cost.Estimate(3, 1, 1 << 20))
    monkeypatch.setattr(config, "settle", lambda *_: None)
    monkeypatch.setattr(packages, "BUILD", tmp_path / "build")
    (tmp_path / "my.config").write_text(WHOLE)

    def make(script: str) -> PackagesRequest:
        fake("make", MAKE + script)
        given = str(tmp_path / "my.config")
        return PackagesRequest(build.KernelRequest(), given, tmp_path / "deb")

    return make


# $out is the build directory; what make is asked to do is the last word.
MAKE = """
for word; do case $word in O=*) out=${word#O=} ;; esac; done
cd "$out"; echo "$*" >>../calls
"""
BUILDS = """
case ${*: -1} in
all) echo "  CC      a.o"; echo a.o >modules.order ;;
bindeb-pkg)
	for kind in image headers libc-dev; do
		echo $kind >../linux-$kind-6.12.117-swathe1_6.12.117-1_amd64.deb
	done ;;
esac
"""
FILES = [f"linux-{kind}-{RELEASE}_6.12.117-1_amd64.deb" for kind in ("headers", "image")]


def listed(directory: Path) -> list[str]:
    """What a user sees of a directory."""
    return sorted(path.name for path in directory.glob("[!.]*"))


def lines(request: PackagesRequest) -> list[str]:
    """The command lines of make."""
    (found,) = (request.out.parent / "build/out").glob("*/calls")
    return found.read_text().splitlines()


def calls(request: PackagesRequest) -> list[str]:
    return [line.split()[-1] for line in lines(request)]


def test_two_packages_and_no_other(machine: Callable[[str], PackagesRequest]) -> None:
    request = machine(BUILDS)
    made = packages.make(request)
    assert made.release == RELEASE
    assert listed(request.out) == FILES
    assert [path.name for path in made.files] == FILES[::-1]
    assert calls(request) == ["all", "bindeb-pkg"]
    assert "--target=binary-image,binary-headers" in lines(request)[1]
    assert "KDEB_PKGVERSION=6.12.117-1" in lines(request)[1]


def test_what_is_up_to_date_is_not_built_again(machine: Callable[[str], PackagesRequest]) -> None:
    request = machine(BUILDS)
    made = packages.make(request)
    assert packages.make(request) == made
    assert len(calls(request)) == 2
    made.image.unlink()
    packages.make(request)
    assert len(calls(request)) == 4
    assert listed(request.out) == FILES


def test_packages_of_another_configuration_are_not_up_to_date(
    machine: Callable[[str], PackagesRequest],
) -> None:
    """Both go to one directory, and their names are the same."""
    request = machine(BUILDS.replace("echo $kind", "echo $out"))
    given = request.out.parent / "other.config"
    given.write_text(f"{WHOLE}CONFIG_OTHER=y\n")
    other = replace(request, given=str(given))
    texts = []
    for wanted in (request, other, request):
        texts.append(packages.make(wanted).image.read_text())
    assert texts[0] != texts[1]
    assert texts[2] == texts[0]


def test_a_package_that_is_missing(machine: Callable[[str], PackagesRequest]) -> None:
    request = machine(BUILDS.replace("image headers", "headers"))
    with pytest.raises(CheckFailed, match="did not make linux-image-6"):
        packages.make(request)
    assert listed(request.out) == []


@pytest.mark.parametrize("target", ["all", "bindeb-pkg"])
def test_a_full_disk_while_make_runs(
    machine: Callable[[str], PackagesRequest], target: str
) -> None:
    full = f"[ ${{*: -1}} = {target} ] && {{ echo 'cc1: {process.NO_SPACE}'; exit 2; }}\n"
    request = machine(full + BUILDS)
    with pytest.raises(EnvironmentLacks, match="the disk is full"):
        packages.make(request)
    assert listed(request.out) == []


def test_a_full_disk_where_the_packages_go(
    machine: Callable[[str], PackagesRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second package does not fit: the first must not be left."""
    request = machine(BUILDS)

    def copy(path: Path, target: Path) -> None:
        shutil.copyfile(path, target)
        if "headers" in path.name:
            raise OSError(errno.ENOSPC, process.NO_SPACE, str(path))

    monkeypatch.setattr(packages, "copyfile", copy)
    with pytest.raises(EnvironmentLacks, match="no room for the packages, which are in "):
        packages.make(request)
    assert listed(request.out) == []


def test_one_of_debians_configurations(
    machine: Callable[[str], PackagesRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def read(name: str, *_: object) -> bytes:
        asked.append(name)
        return WHOLE.encode()

    monkeypatch.setattr(debian_config, "read", read)
    request = machine(BUILDS)
    packages.make(PackagesRequest(request.kernel, "cloud-amd64", request.out))
    assert asked == ["amd64_none_cloud-amd64"]
    assert listed(request.out.parent / "build/out") == ["6.12.117-deb-cloud-amd64"]


def test_what_the_user_is_told() -> None:
    image, headers = Path("/d/linux-image-r_1_amd64.deb"), Path("/d/linux-headers-r_1_amd64.deb")
    said = deb.advice(Packages("r", "1", image, headers, signed=False))
    assert f"sudo dpkg -i {image} {headers}" in said
    assert "sudo dpkg --purge linux-image-r linux-headers-r" in said
    assert "Secure Boot will refuse" in said
    assert "Secure Boot will refuse" not in deb.advice(Packages("r", "1", image, None, signed=True))
