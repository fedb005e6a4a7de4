# SPDX-License-Identifier: GPL-2.0-only
"""Fetching a package: the machine's own sources first, then a suite of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from swathe.base.errors import CheckFailed, EnvironmentLacks
from swathe.kernel import apt

Fake = Callable[[str, str], Path]

TARGETS = """\
http://mirror.example/security/ bookworm-security
http://mirror.example/debian/ bookworm-updates
http://mirror.example/debian/ bookworm
"""


def test_the_mirror_is_the_machines_own() -> None:
    assert apt.mirror(TARGETS) == ("http://mirror.example/debian/", "bookworm")


def test_no_mirror() -> None:
    with pytest.raises(EnvironmentLacks, match="--source"):
        apt.mirror("http://mirror.example/ubuntu/ noble\n")


def fake_apt(fake: Fake, script: str) -> None:
    """apt-get and apt-cache that do what the script says."""
    for name in ("apt-get", "apt-cache"):
        fake(name, script)


ONLY_PRIVATE = f"""
case "$0 $*" in
*indextargets*) printf '{TARGETS}' ;;
*SourceList*download*) : >p_1_all.deb ;;
*download*) exit 100 ;;
*apt-cache*) echo "SHA256: SUM" ;;
esac
"""
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_suite_the_machine_does_not_use(fake: Fake, tmp_path: Path) -> None:
    fake_apt(fake, ONLY_PRIVATE.replace("SUM", EMPTY))
    assert apt.fetch("p", "trixie-backports", tmp_path).name == "p_1_all.deb"
    line = (tmp_path / "apt" / "sources.list").read_text()
    assert "http://mirror.example/debian/ trixie-backports main" in line
    assert "signed-by=" in line


def test_a_damaged_package(fake: Fake, tmp_path: Path) -> None:
    fake_apt(fake, ONLY_PRIVATE.replace("SUM", "0" * 64))
    with pytest.raises(CheckFailed, match="damaged"):
        apt.fetch("p", "trixie-backports", tmp_path)


@pytest.mark.parametrize("suite", [None, "trixie-backports"])
def test_no_network(fake: Fake, tmp_path: Path, suite: str | None) -> None:
    script = f"case \"$*\" in *indextargets*) printf '{TARGETS}' ;; *) exit 100 ;; esac"
    fake_apt(fake, script)
    with pytest.raises(EnvironmentLacks, match="no network"):
        apt.fetch("p", suite, tmp_path)
