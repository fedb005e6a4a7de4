# SPDX-License-Identifier: GPL-2.0-only
"""The part debian13: when it is skipped, what it passes on, and that it leaves no mounts."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from swathe.base import process, verdicts
from swathe.base.errors import CheckFailed, EnvironmentLacks
from swathe.base.verdicts import Verdict
from swathe.check import debian13
from swathe.cli import test_parts
from swathe.guest import debian_root
from swathe.guest.debian_root import DebianRoot
from swathe.kernel import apt, hooks, version

Fake = Callable[[str, str], Path]
MIRROR = "http://mirror.example/debian/ bookworm\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The part's directory, without a system in it."""
    monkeypatch.setattr(debian_root, "BASE", tmp_path / "base")
    monkeypatch.setattr(debian_root, "ARCHIVES", tmp_path / "archives")
    monkeypatch.setattr(debian_root, "LOG", tmp_path / "log" / "debian13.log")
    monkeypatch.setattr(apt, "need", lambda _: None)
    return tmp_path


@pytest.fixture
def possible(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root, and programs that do nothing."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(apt, "configured", lambda: MIRROR)
    fake("unshare", '[[ $* == *debootstrap* ]] && { echo "E: no network"; exit 1; }; exit 0')


def only(tests: list[verdicts.Test]) -> verdicts.Test:
    (single,) = tests
    return single


def test_ci_has_the_part() -> None:
    assert debian13.PART in test_parts.GROUPS["ci"]
    assert debian13.PART not in test_parts.DEFAULT


def test_it_is_skipped_without_root(possible: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = only(debian13.run())
    assert (found.verdict, "as root only" in found.detail) == (Verdict.SKIPPED, True)


def test_it_is_skipped_without_namespaces(possible: None, fake: Fake) -> None:
    fake("unshare", "exit 1")
    found = only(debian13.run())
    assert (found.verdict, "no mount namespaces" in found.detail) == (Verdict.SKIPPED, True)


def test_it_is_skipped_if_debian_cannot_be_made(possible: None, home: Path) -> None:
    found = only(debian13.run())
    assert found.verdict is Verdict.SKIPPED
    assert found.detail.endswith("(no network?): E: no network")
    assert not (home / "base").exists()


def test_the_base_has_the_security_suite(possible: None, fake: Fake, home: Path) -> None:
    fake("unshare", 'd=${@: -2:1}; mkdir -p "$d/etc/apt"; echo main >"$d/etc/apt/sources.list"')
    debian_root.LOG.parent.mkdir()
    debian_root.bootstrap()
    assert (home / "base/etc/apt/sources.list").read_text() == (
        "main\ndeb http://mirror.example/debian-security trixie-security main\n"
    )


def test_settings_of_the_host_are_passed_on(
    fake: Fake, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = home / "pip.conf"
    pip.write_text("[global]\n")
    monkeypatch.setattr(debian_root, "PIP_FILES", ("~/no-such-file", str(pip)))
    fake("apt-config", "echo 'Acquire::http::Proxy \"p\";'; echo 'Dir::Etc \"etc/apt\";'")
    root = home / "root"
    (root / "etc/apt/apt.conf.d").mkdir(parents=True)
    debian_root.pass_settings(root)
    assert (root / "etc/apt/apt.conf.d/99host").read_text() == 'Acquire::http::Proxy "p";\n'
    assert (root / "etc/pip.conf").read_text() == "[global]\n"
    assert (root / "etc/resolv.conf").is_file() is Path("/etc/resolv.conf").is_file()


def test_settings_of_the_host_are_forgotten(home: Path) -> None:
    """A system that starts elsewhere does not need them."""
    root = home / "root"
    (root / "etc/apt/apt.conf.d").mkdir(parents=True)
    debian_root.pass_settings(root)
    (root / "etc/hostname").touch()
    debian_root.forget_settings(root)
    left = [path.name for path in root.rglob("*") if path.is_file() and path.suffix != ".crt"]
    assert left == ["hostname"]


def test_the_environment_is_plain(
    fake: Fake, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Proxies and pip's URLs are passed on; they may hold passwords, and are not shown."""
    seen = home / "seen"
    fake("unshare", f'echo "$*" >{seen}.argv; while [ "$1" != env ]; do shift; done; "$@" >{seen}')
    monkeypatch.setattr(process, "LOG", home / "swathe.log")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@host")
    monkeypatch.setenv("SWATHE_BUILD", "/elsewhere")
    debian_root.LOG.parent.mkdir()
    assert DebianRoot(home / "root").run(["env"]).ok
    lines = dict(line.split("=", 1) for line in seen.read_text().splitlines())
    assert lines.keys() - {"PWD", "_"} == {"HTTPS_PROXY", *debian_root.PLAIN}
    assert lines["HTTPS_PROXY"] == "http://user:secret@host"
    shown = [capsys.readouterr().err, process.LOG.read_text(), Path(f"{seen}.argv").read_text()]
    assert not [text for text in shown if "secret" in text]


def test_mounts_of_debootstrap_are_in_a_namespace(
    possible: None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It mounts /proc and /sys: killed, it would leave them, and they would be removed."""
    debian_root.LOG.parent.mkdir()
    argv: list[str] = []

    def run(words: list[str], **_: object) -> process.Done:
        argv.extend(words)
        return process.Done(1, "")

    monkeypatch.setattr(process, "run", run)
    with pytest.raises(EnvironmentLacks):
        debian_root.bootstrap()
    assert argv[: len(debian_root.NAMESPACES) + 1] == [*debian_root.NAMESPACES, "debootstrap"]


def test_packages_that_cannot_be_installed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DebianRoot, "run", lambda *_: process.Done(100, "E: no route"))
    with pytest.raises(EnvironmentLacks, match=r"\(no network\?\): E: no route; see "):
        DebianRoot(home).install(["zstd"])


def failing(_: DebianRoot) -> None:
    raise CheckFailed("it broke")


def lacking(_: DebianRoot) -> None:
    raise EnvironmentLacks("no network")


def test_a_failed_step_is_the_last(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian13, "launch", lambda _: None)
    monkeypatch.setattr(debian13, "test", failing)
    verdicts = [(test.verdict, test.detail) for test in debian13.attempts(DebianRoot(home))]
    assert verdicts == [(Verdict.PASSED, ""), (Verdict.FAILED, "it broke")]
    monkeypatch.setattr(debian13, "launch", lacking)
    assert [test.verdict for test in debian13.attempts(DebianRoot(home))] == [Verdict.FAILED]


def test_the_nested_failures_are_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "failed: lab: a (b)\nlab: 1 passed\nfailed: lab: a (b)\n1 passed, 1 failed, 0 skipped\n"
    monkeypatch.setattr(DebianRoot, "run", lambda *_: process.Done(1, said))
    with pytest.raises(CheckFailed, match=r"^failed: lab: a \(b\); see .*debian13\.log$"):
        debian13.test(DebianRoot(home))


def test_files_outside_mm_are_copied_too(tmp_path: Path) -> None:
    linux, copy = tmp_path / "linux", tmp_path / "copy"
    files = {hook.file for hook in hooks.fitting(hooks.load(), version.Version(6, 12, 117))}
    for path in files | {"Makefile", "mm/Kconfig", "mm/Makefile"}:
        (linux / path).parent.mkdir(parents=True, exist_ok=True)
        (linux / path).write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\n")
    debian13.copy_what_hooks_read(linux, copy)
    assert (copy / "arch/arm64/mm/hugetlbpage.c").is_file()
    assert {path for path in files if not (copy / path).is_file()} == set()


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("busybox") is None, reason="needs root and busybox"
)
@pytest.mark.parametrize("command", ["true", "false", "no-such-program"])
def test_no_mount_is_left(home: Path, command: str) -> None:
    root = home / "root"
    for name in ("bin", "proc", "sys", "dev", "var/cache/apt/archives", "root/swathe"):
        (root / name).mkdir(parents=True)
    for name in ("sh", "env", "true", "false"):
        shutil.copy(shutil.which("busybox") or "", root / "bin" / name)
    debian_root.ARCHIVES.mkdir()
    debian_root.LOG.parent.mkdir()
    if not process.run([*debian_root.NAMESPACES, "true"]).ok:
        pytest.skip("no mount namespaces here")
    machine, clone = DebianRoot(root), debian13.CLONE
    assert machine.run([command], clone).ok is (command == "true")
    assert machine.run(
        ["sh", "-c", "test -d /proc/1 && test -c /dev/null && test $PWD = /root/swathe"], clone
    ).ok
    assert str(home) not in Path("/proc/mounts").read_text()
    assert list((root / "proc").iterdir()) == []
