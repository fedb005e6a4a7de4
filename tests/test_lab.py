# SPDX-License-Identifier: GPL-2.0-only
"""Configuration, source, launcher, and what failures look like."""

import contextlib
import errno
import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import paths, process, verdicts
from swathe.base.errors import CheckFailed, EnvironmentLacks, SwatheError, UsageError, VmLost
from swathe.check import lab
from swathe.cli import version as version_command
from swathe.guest import debian_system
from swathe.kernel import build, compiler, config, source
from swathe.kernel.arch import X86_64

Fake = Callable[[str, str], Path]


def test_config_parse() -> None:
    text = 'CONFIG_A=y\n# CONFIG_B is not set\n# a remark\nCONFIG_C="x y"\n'
    assert config.parse(text) == {"CONFIG_A": "y", "CONFIG_B": "n", "CONFIG_C": '"x y"'}


@pytest.mark.parametrize(
    ("wanted", "final", "missed"),
    [
        ("CONFIG_A=y", "CONFIG_A=y", []),
        ("CONFIG_A=y", "", ["CONFIG_A=y"]),
        ("CONFIG_A=y", "# CONFIG_A is not set", ["CONFIG_A=y"]),
        ("# CONFIG_A is not set", "", []),
        ("# CONFIG_A is not set", "CONFIG_A=y", ["CONFIG_A=n"]),
        ("CONFIG_A=8", "CONFIG_A=4", ["CONFIG_A=8"]),
    ],
)
def test_unmet_requests_are_named(wanted: str, final: str, missed: list[str]) -> None:
    assert config.unmet(config.parse(wanted), config.parse(final)) == missed


@pytest.mark.parametrize(
    ("final", "missed"),
    [
        ("", "CONFIG_B=y"),
        ("CONFIG_B=y", ""),
        ("CONFIG_A=y\nCONFIG_B=y", ""),
        ("# CONFIG_A is not set\nCONFIG_B=y", "CONFIG_A=y"),
        ("CONFIG_A=m\nCONFIG_B=y", "CONFIG_A=y"),
    ],
)
def test_kernels_need_not_have_every_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, final: str, missed: str
) -> None:
    monkeypatch.setattr(process, "check", lambda *_, **__: None)
    fragment = tmp_path / "a.config"
    fragment.write_text("CONFIG_A=y\n# CONFIG_A may be missing\nCONFIG_B=y\n")
    (tmp_path / ".config").write_text(final)
    said = pytest.raises(CheckFailed, match=rf"with {missed} \(requested in a.config\)")
    with said if missed else contextlib.nullcontext():
        config.settle(["make"], tmp_path, tmp_path, [fragment])


def test_options_that_may_be_missing_are_asked_for() -> None:
    fragments = sorted(paths.CONFIGS.rglob("*.config"))
    assert config.may_be_missing(fragments)
    for path in fragments:
        assert config.may_be_missing([path]) <= set(config.request([path])), path.name


def test_pristine_has_no_fragment_of_ours() -> None:
    names = [path.name for path in config.Flavor("debug", "x86_64", pristine=True).fragments()]
    assert "base.config" in names
    assert not [name for name in names if name.startswith("swathe")]


def test_objects_are_counted() -> None:
    seen: list[tuple[int, str]] = []
    on_line = build.counter(lambda count, name: seen.append((count, name)))
    for line in ("  CC      mm/rmap.o\n", "  CALL    x.sh\n", "  AR      mm/built-in.a\n"):
        on_line(line)
    assert seen == [(1, "mm/rmap.o"), (2, "mm/built-in.a")]


def test_a_build_failure_shows_the_first_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    log.write_text("  CC x.o\nmm/x.c:5:2: error: no\nmake: *** [x.o] Error 1\n")
    assert str(log) in str(build.build_failure(log))
    assert "mm/x.c:5:2: error: no" in capsys.readouterr().err


def test_what_make_refuses_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text("Makefile:9: *** no spaces or colons.  Stop.\nmake: Leaving\n")
    build.build_failure(tmp_path / "log")
    assert "*** no spaces or colons" in capsys.readouterr().err


@pytest.mark.parametrize("home", ["/home/a b", "/a:b", "/a,b"])
def test_paths_that_make_or_qemu_would_take_apart(home: str) -> None:
    for tree, out in ((Path(home), Path("/out")), (Path("/tree"), Path(home))):
        with pytest.raises(
            UsageError, match=f"{home} has a space, a comma or a colon, .*SWATHE_BUILD"
        ):
            build.make_command(tree, out, X86_64)
    with pytest.raises(UsageError, match="use another directory"):
        debian_system.command(Path("/grub"), Path("/disk"), Path("/packages"), Path(home))


def test_a_full_disk_is_the_environments_fault(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("as: x.o: No space left on device\n")
    assert isinstance(build.build_failure(tmp_path / "log"), EnvironmentLacks)
    said, status = __main__.sentence(OSError(errno.ENOSPC, "No space left", "/x"))
    assert (said, status) == ("the disk is full: /x", 3)


def test_a_broken_pipe_that_is_not_stdout_is_told(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(version_command, "main", breaks)
    assert __main__.main(["version"]) == 3
    assert capfd.readouterr().err == "swathe: Broken pipe\n"


def breaks(_: object) -> int:
    raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_a_reader_that_has_enough_is_no_error() -> None:
    """The reader is gone before a line is written."""
    reader, writer = os.pipe()
    os.close(reader)
    argv = [sys.executable, "-u", "-m", "swathe", "version"]
    done = subprocess.run(argv, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_interrupt_before_the_command_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(__main__, "parser", interrupted)
    assert __main__.main(["version"]) == 130
    assert capsys.readouterr().err == "swathe: interrupted\n"


@pytest.fixture
def no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without kernel source."""
    monkeypatch.setattr(source, "SOURCES", tmp_path / "src")
    monkeypatch.setattr(source, "INSTALLED", tmp_path / "usr-src")
    return tmp_path


def left_behind(top: Path) -> list[Path]:
    return [*(top / "src").glob("**/*"), *(paths.BUILD / "tmp").glob("*")]


@pytest.mark.parametrize("command", ["build", "export"])
def test_no_network_and_no_source(
    no_source: Path, fake: Fake, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    fake("apt-get", 'echo "E: Failed to fetch: Could not resolve host" >&2; exit 100')
    directory = [str(no_source / "out")] if command == "export" else []
    assert __main__.main([command, *directory]) == 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("swathe: linux-source-6.12 could not be fetched (no network?)")
    assert left_behind(no_source) == []
    assert not (no_source / "out").exists()


def test_an_interrupted_fetch_leaves_nothing(no_source: Path, fake: Fake) -> None:
    fake("apt-get", "echo half >linux-source-6.12_1_all.deb; kill -INT $PPID; sleep 5")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    assert __main__.main(["build"]) == 130
    assert left_behind(no_source) == []


def test_a_damaged_package_is_refused(no_source: Path, fake: Fake) -> None:
    fake("apt-get", "echo damaged >linux-source-6.12_1_all.deb")
    fake("apt-cache", f"echo SHA256: {'0' * 64}")
    with pytest.raises(CheckFailed, match="is damaged"):
        source.get("6.12")
    assert left_behind(no_source) == []


def tarball(tree: Path, name: str) -> Path:
    path = tree.parent / name
    subprocess.run(["tar", "-cJf", path, "-C", tree.parent, tree.name], check=True)
    return path


def test_an_installed_tarball_is_unpacked_once(
    no_source: Path, small_tree: Path, fake: Fake
) -> None:
    (no_source / "usr-src").mkdir()
    tarball(small_tree, "x.tar.xz").rename(no_source / "usr-src/linux-source-6.12.tar.xz")
    found = source.get("6.12")
    assert (found.tree.name, found.ours) == ("linux-6.12.117", True)
    fake("tar", "exit 1")
    assert source.get("6.12") == found


def test_half_a_tarball_leaves_nothing(no_source: Path, small_tree: Path) -> None:
    whole = tarball(small_tree, "x.tar.xz")
    whole.write_bytes(whole.read_bytes()[:-100])
    with pytest.raises(CheckFailed, match="unpacking"):
        source.get("6.12", whole)
    assert left_behind(no_source) == []


def test_another_kernel_in_the_package_is_refused(no_source: Path, small_tree: Path) -> None:
    makefile = small_tree / "Makefile"
    makefile.write_text(makefile.read_text().replace("= 12", "= 13"))
    (no_source / "usr-src").mkdir()
    tarball(small_tree, "x.tar.xz").rename(no_source / "usr-src/linux-source-6.12.tar.xz")
    with pytest.raises(CheckFailed, match=r"holds Linux 6\.13\.117, not 6\.12"):
        source.get("6.12")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["bench", "nope"], "the benches are: lazyfree, filemap"),
        (["test", "nope"], "there is no test 'nope'"),
        (["apply", "/nowhere"], "/nowhere is not a directory"),
        (["build", "--source", "/nowhere"], "no such directory or tarball"),
        (["bench", "--json", "/nowhere/x.json"], "there is no directory /nowhere"),
    ],
)
def test_wrong_usage(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(argv) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", list(__main__.COMMANDS))
def test_help_teaches(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        __main__.main([command, "--help"])
    text = capsys.readouterr().out
    assert caught.value.code == 0
    assert f"./swathe {command}" in text
    assert "exit status: 0 done" in text


@pytest.mark.parametrize(("raised", "status"), [(VmLost("x"), 4), (KeyboardInterrupt(), 130)])
def test_statuses(raised: BaseException, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise raised

    monkeypatch.setattr(build, "build", stop)
    assert __main__.main(["build"]) == status


@pytest.mark.parametrize(
    ("found", "advice"), [("/dpkg-query", "with apt-get"), (None, "container")]
)
def test_a_program_that_is_not_installed(
    found: str | None, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: found)
    with pytest.raises(EnvironmentLacks, match=f"no-such-program is not installed: .*{advice}"):
        process.run(["no-such-program"])


def test_a_directory_that_is_missing_is_no_missing_program(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="gone"):
        process.run(["true"], cwd=tmp_path / "gone")


def test_atomic_write_keeps_the_old_on_failure(tmp_path: Path) -> None:
    path = tmp_path / "a"
    paths.write_atomically(path, b"old")
    with pytest.raises(TypeError):
        paths.write_atomically(path, "new")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_leftovers_of_the_dead_are_swept(tmp_path: Path) -> None:
    (tmp_path / "fetch.999999999.abc").mkdir()
    (tmp_path / f"fetch.{os.getpid()}.abc").mkdir()
    paths.sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"fetch.{os.getpid()}.abc"]


@pytest.mark.skipif(not shutil.which("dpkg-query"), reason="not a Debian system")
def test_the_launcher_names_what_is_missing(fake: Fake) -> None:
    fake("dpkg-query", "exit 1")
    fake("apt-get", "exit 100")
    done = subprocess.run([paths.ROOT / "swathe"], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "coccinelle" in done.stderr.splitlines()[-1]


def test_the_launcher_ignores_the_encoding_of_the_locale(tmp_path: Path, fake: Fake) -> None:
    """Elsewhere the comments of hooked files would change, and patches not apply."""
    fake("dpkg-query", 'for name in "${@:4}"; do echo "installed $name"; done')
    shutil.copy(paths.ROOT / "swathe", tmp_path)
    (tmp_path / "pyproject.toml").write_text("x\n")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    digest = hashlib.sha256(f"{tmp_path}\nx\n".encode()).hexdigest()
    (tmp_path / ".venv/.made-from").write_text(f"{digest}  -\n")
    (tmp_path / "swathe.py").write_text("import sys; print(sys.flags.utf8_mode)\n")
    done = subprocess.run(
        [tmp_path / "swathe"], env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONUTF8": "0"},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("1\n", "", 0)


def test_what_the_tools_found_is_told_if_pytest_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "REPORT", tmp_path / "report")
    monkeypatch.setattr(lab, "TIME_LIMIT", 0.01)
    (found,) = lab.pytest()
    assert (found.name, "did not end within" in found.detail) == ("lab: pytest", True)


def test_junit_reports(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_text(
        '<testsuites><testsuite><testcase classname="tests.test_a" name="b"/>'
        '<testcase classname="tests.test_a" name="c"><failure message="no&#10;more"/></testcase>'
        '<testcase classname="tests.test_a" name="d"><skipped message="why"/></testcase>'
        "</testsuite></testsuites>"
    )
    found = lab.read_junit(path)
    assert verdicts.count(found) == verdicts.Count(1, 1, 1)
    assert (found[1].name, found[1].detail) == ("lab: test_a.c", "no")


def test_every_error_has_a_status() -> None:
    statuses = {error.__name__: error.status for error in SwatheError.__subclasses__()}
    assert statuses == {"CheckFailed": 1, "UsageError": 2, "EnvironmentLacks": 3, "VmLost": 4}


def test_an_interrupted_compiler_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), compiler.partial(tmp_path / "program") as unfinished:
        unfinished.touch()
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_program_is_linked_with_its_own_files_and_the_shared_ones() -> None:
    names = ["memx.c", "memx_run.c", "other.c", "other_part.c", "util.c"]
    files = [Path(name) for name in names]
    mains = [Path("memx.c"), Path("other.c")]
    linked = [path.name for path in compiler.parts(mains[0], mains, files)]
    assert linked == ["memx.c", "memx_run.c", "util.c"]


def test_a_program_has_its_own_directory_of_parts() -> None:
    names = ["lib/memory.c", "memx.c", "other.c", "parts/memx/run.c", "parts/other/run.c"]
    mains = [Path("memx.c"), Path("other.c")]
    linked = compiler.parts(mains[0], mains, [Path(name) for name in names])
    assert linked == [Path(name) for name in ("memx.c", "lib/memory.c", "parts/memx/run.c")]


def test_the_place_of_a_system_call_test_says_what_it_is() -> None:
    home = paths.OVERLAY / paths.SELFTESTS
    mains = [path for path in home.rglob("*.c") if compiler.MAIN.search(path.read_text())]
    assert sorted(mains) == sorted(home.glob("*.c"))
    assert {path.name for path in home.iterdir() if path.is_dir()} == {"lib", compiler.PARTS}
    assert {path.name for path in (home / compiler.PARTS).iterdir()} < {path.stem for path in mains}
