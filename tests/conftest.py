# SPDX-License-Identifier: GPL-2.0-only
"""What several tests share. The lab's build directory is a temporary one here."""

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

# Before anything of the lab is imported: it reads this once.
os.environ["SWATHE_BUILD"] = tempfile.mkdtemp(prefix="swathe-tests.")
atexit.register(shutil.rmtree, os.environ["SWATHE_BUILD"], ignore_errors=True)

from swathe.guest import initramfs, vm  # noqa: E402
from swathe.kernel import hooks, source, tree  # noqa: E402
from swathe.kernel.arch import X86_64  # noqa: E402
from swathe.kernel.build import BuiltKernel  # noqa: E402

DATA = Path(__file__).parent / "data"


def until(happened: Callable[[], bool]) -> bool:
    """Wait for what cannot be undone; a stall of the machine does not use up the polls."""
    for _ in range(60_000):
        if happened():
            return True
        time.sleep(0.01)
    return happened()


def alive(pid: int) -> bool:
    try:
        return ") Z " not in Path("/proc", str(pid), "stat").read_text()
    except FileNotFoundError:
        return False


@pytest.fixture
def data() -> Callable[[str], str]:
    """The text of a recorded log."""
    return lambda name: (DATA / name).read_text()


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Put a shell script before the real program of that name."""
    directory = tmp_path / "fake"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")

    def make(name: str, body: str) -> Path:
        path = directory / name
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)
        return path

    return make


PORTS = """
for word; do
	case $word in
	file,id=verdict,path=*) verdict=${word#*path=} ;;
	file,id=out,path=*) out=${word#*path=} ;;
	*,file=*disk.img) disk=${word#*file=} ;;
	file:*) console=${word#file:} ;;
	esac
done
"""


@pytest.fixture
def qemu(
    fake: Callable[[str, str], Path], kernel: BuiltKernel, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Path]:
    """In QEMU's place, shell that knows where $out, $verdict, $console and $disk are."""
    monkeypatch.setattr(vm, "make_disk", lambda path, size: path.write_text("new\n"))
    monkeypatch.setattr(initramfs, "make", lambda *_: kernel.out / "initramfs")
    return lambda body: fake(kernel.target.qemu, PORTS + body)


@pytest.fixture
def kernel(tmp_path: Path) -> BuiltKernel:
    """One that was not built."""
    (tmp_path / ".config").write_text("")
    return BuiltKernel("6.12.1", tmp_path / "image", tmp_path, tmp_path, "0", X86_64)


MAKEFILE = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\n"
RMAP = """\
#include <linux/mm.h>

static bool should_work(int flags)
{
	return flags;
}

void try_it(int flags)
{
	should_work(flags);
}
"""


HOOK = """
[[hook]]
name = "rmap__try_it"
file = "mm/rmap.c"
functions = ["try_it"]
min = "6.12"
max = "6.13"
fires = 1
added = 1
removed = 1
why = "to try it"
missed = "build"
"""
RULE = """
@@
@@
- void try_it
+ void stock_try_it
  (...) { ... }
"""


LayOut = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def lay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LayOut:
    """Make a repository of these files, and have the lab work with it."""

    def make(files: Mapping[str, str]) -> Path:
        top = tmp_path / "repository"
        for path, text in files.items():
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text)
        monkeypatch.setattr(hooks, "HOOKS", top / "hooks")
        monkeypatch.setattr(hooks, "SERIES", top / "hooks" / "series")
        monkeypatch.setattr(hooks, "MACROS", top / "hooks" / "macros.h")
        monkeypatch.setattr(tree, "OVERLAY", top / "kernel")
        monkeypatch.setattr(tree, "CACHE", tmp_path / "cache")
        monkeypatch.setattr(tree, "TREES", tmp_path / "trees")
        monkeypatch.setattr(source, "SOURCES", tmp_path / "src")
        return top

    return make


@pytest.fixture
def small_tree(tmp_path: Path) -> Path:
    """As much of a kernel tree as applying looks at."""
    top = tmp_path / "linux"
    (top / "mm").mkdir(parents=True)
    (top / "Makefile").write_text(MAKEFILE)
    (top / "mm" / "rmap.c").write_text(RMAP)
    (top / "mm" / "Kconfig").write_text('menu "Memory"\n\nconfig A\n\tbool\n\nendmenu\n')
    (top / "mm" / "Makefile").write_text("obj-y += rmap.o\n")
    return top
