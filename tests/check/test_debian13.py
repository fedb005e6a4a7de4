# SPDX-License-Identifier: GPL-2.0-only
"""The part debian13: when it is skipped, what it passes on, and that it leaves no mounts."""

import os
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import until

from swathe.base import process, verdicts
from swathe.base.errors import CheckFailed, EnvironmentLacks
from swathe.base.paths import BUILD
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


# In the place of unshare: debootstrap makes an empty system, and apt-get downloads a package.
FETCHING = """\
echo "$*" >>{log}
case "$*" in
*" debootstrap "*) sleep 0.3; mkdir -p "${{@: -2:1}}/etc/apt/apt.conf.d" "${{@: -2:1}}/var" ;;
*Dir::Cache::Archives=/var/debs*)
	sleep 0.3
	echo new >"{home}/fetched.deb"
	for top in {build}/tmp/debian13-packages.*/root; do
		ls "$top/var/debs" >>{log}
		mv "{home}/fetched.deb" "$top/var/debs/"
	done ;;
esac
"""


@pytest.fixture
def fetching(possible: None, fake: Fake, home: Path) -> Path:
    """What was run."""
    fake("unshare", FETCHING.format(log=home / "ran", home=home, build=BUILD))
    return home / "ran"


def test_packages_are_fetched_beforehand(fetching: Path, home: Path) -> None:
    (home / "archives").mkdir()
    (home / "archives/old.deb").touch()
    debian13.prefetch()
    ran = fetching.read_text().splitlines()
    words = next(line for line in ran if "Dir::Cache::Archives" in line).split()
    assert {"--download-only", "qemu-system-x86", "spin", "linux-source-6.12"} <= set(words)
    assert ran[-2:] == ["old.deb", "partial"]
    kept = sorted(path.name for path in (home / "archives").glob("*.deb"))
    assert kept == ["fetched.deb", "old.deb"]


def test_a_system_is_made_once_and_after_the_download(fetching: Path, home: Path) -> None:
    """Both at once: the part waits for what is on its way, and makes nothing again."""
    thread = threading.Thread(target=debian13.prefetch)
    thread.start()
    assert until(lambda: fetching.exists() and " debootstrap " in fetching.read_text())
    debian_root.make(home / "root")
    assert (home / "archives/fetched.deb").is_file()
    assert (home / "root/etc/apt/sources.list").is_file()
    thread.join()
    assert fetching.read_text().count(" debootstrap ") == 1


def test_what_cannot_be_fetched_beforehand_is_told(
    possible: None, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    debian13.prefetch()
    said = " ".join(capsys.readouterr().err.split())
    assert "Debian 13 is not fetched beforehand: debootstrap could not" in said
    assert not (home / "base").exists()


def test_dpkg_does_not_wait_for_the_disk(home: Path, fake: Fake) -> None:
    fake("apt-config", ":")
    root = home / "root"
    (root / "etc/apt/apt.conf.d").mkdir(parents=True)
    debian_root.pass_settings(root)
    assert (root / "etc/dpkg/dpkg.cfg.d/unsafe-io").read_text() == "force-unsafe-io\n"


def failing(_: DebianRoot) -> None:
    raise CheckFailed("it broke")


def lacking(_: DebianRoot) -> None:
    raise EnvironmentLacks("no network")


def test_a_failed_step_is_the_last(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian13, "launch", lambda _: None)
    monkeypatch.setattr(debian13, "compile_lab", failing)
    verdicts = [(test.verdict, test.detail) for test in debian13.attempts(DebianRoot(home))]
    assert verdicts == [(Verdict.PASSED, ""), (Verdict.FAILED, "it broke")]
    monkeypatch.setattr(debian13, "launch", lacking)
    assert [test.verdict for test in debian13.attempts(DebianRoot(home))] == [Verdict.FAILED]


def test_the_nested_failures_are_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "failed: hooks: a (b)\n"
    said = f"{line}hooks: 1 passed\n{line}1 passed, 1 failed, 0 skipped\n"
    monkeypatch.setattr(DebianRoot, "must", lambda *_: "")
    monkeypatch.setattr(DebianRoot, "run", lambda *_: process.Done(1, said))
    with pytest.raises(CheckFailed, match=r"^failed: hooks: a \(b\); see .*debian13\.log$"):
        debian13.test_hooks(DebianRoot(home))


def test_hooked_files_of_mm_are_compiled() -> None:
    found = debian13.objects(hooks.fitting(hooks.load(), version.Version(6, 12, 117)))
    assert {"mm/rmap.o", "mm/memory.o", "mm/vmscan.o"} <= set(found)
    assert all(re.fullmatch(r"mm/[\w-]+\.o", path) for path in found)


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
