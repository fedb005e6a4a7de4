# SPDX-License-Identifier: GPL-2.0-only
"""The version: it stands in one place, and what quotes it agrees."""

import re
import subprocess
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import release
from swathe.base.errors import CheckFailed
from swathe.base.paths import OVERLAY, ROOT
from swathe.kernel import hooks
from swathe.kernel.source import KERNELS
from swathe.kernel.version import Version

HEADING = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", re.MULTILINE)


def test_the_changelog_has_the_version_and_its_day() -> None:
    now = release.current()
    (version, day), *_ = HEADING.findall((ROOT / "CHANGELOG.md").read_text())
    assert (version, day) == (now.version, str(now.released))


def count(series: str) -> int:
    return len(hooks.fitting(hooks.load(), Version.parse(series)))


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(release, "commit", lambda: "abc-dirty")
    assert __main__.main(["version"]) == 0
    now = release.current()
    assert capsys.readouterr().out.splitlines() == [
        f"swathe {now.version}, released {now.released}",
        "commit abc-dirty",
        *(f"for Linux {series}.y: {count(series)} hooks" for series in KERNELS),
    ]


def test_a_directory_without_git_has_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it may be in another repository."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    identity = ["-c", "user.name=test", "-c", "user.email=test@test.invalid"]
    argv = ["git", "-C", str(tmp_path), *identity, "commit", "-q", "--allow-empty", "-m", "other"]
    subprocess.run(argv, check=True)
    (tmp_path / "swathe").mkdir()
    monkeypatch.setattr(release, "ROOT", tmp_path / "swathe")
    assert release.commit() == release.UNKNOWN
    assert release.name() == release.current().version


def test_a_wrong_version_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(release.FILE.read_text().replace("released =", "releasd ="))
    monkeypatch.setattr(release, "FILE", file)
    with pytest.raises(CheckFailed, match=r"pyproject\.toml: .*`released`"):
        release.current()


def test_the_interface_is_called_what_its_directory_is() -> None:
    """ABI/testing and ABI/stable are promises."""
    guide = (OVERLAY / "Documentation/admin-guide/mm/unmap.rst").read_text()
    (description,) = (OVERLAY / "Documentation/ABI").rglob("sysfs-kernel-mm-unmap")
    assert description.parent.name == ("testing" if release.current().version < "1" else "stable")
    assert f"ABI/{description.parent.name}/sysfs-kernel-mm-unmap" in guide
    assert ("stable ABI" in guide) is (description.parent.name == "stable")
