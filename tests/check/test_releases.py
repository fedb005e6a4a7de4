# SPDX-License-Identifier: GPL-2.0-only
"""Point releases: which are found, fetched and skipped, and what is recorded of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from swathe.__main__ import parser
from swathe.base import results
from swathe.base.errors import EnvironmentLacks
from swathe.base.verdicts import Test, Verdict
from swathe.check import every_release, golden
from swathe.check.every_release import ReleaseRow, ReleasesRequest
from swathe.cli import test as command
from swathe.kernel import apt, hooks, releases, source, tree
from swathe.kernel.hooks import HookMissed
from swathe.kernel.version import Version

Fake = Callable[[str, str], Path]
MAKEFILE = "VERSION = {}\nPATCHLEVEL = {}\nSUBLEVEL = {}\n"
MADISON = """\
linux-source-6.12 | 6.12.117-1 | http://mirror.example/s trixie-security/main amd64 Packages
linux-source-6.12 | 6.12.107-1 | http://mirror.example/d trixie/main amd64 Packages
linux-source-6.12 | 6.12.107-1 | http://mirror.example/s trixie-security/main amd64 Packages
linux-source-6.12 | 6.12.107-1~u1 | http://mirror.example/s bookworm-security/main amd64 Packages
linux-source-6.12 | 6.12.118-1 | http://mirror.example/d trixie/main amd64 Packages
linux-source-6.12 | 6.12.118-1 | http://mirror.example/d trixie/main Sources
"""


@pytest.fixture(autouse=True)
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(source, "SOURCES", tmp_path / "src")
    monkeypatch.setattr(results, "HERE", tmp_path / "here")
    monkeypatch.setattr(results, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(golden, "run", list)
    return tmp_path / "src"


def add(top: Path, name: str, *numbers: int) -> Path:
    """A tree with as much in it as finding it needs."""
    (top / name / "mm").mkdir(parents=True)
    (top / name / "mm" / "rmap.c").write_text("")
    for part in releases.parts():
        (top / name / part).parent.mkdir(parents=True, exist_ok=True)
        (top / name / part).touch()
    (top / name / "Makefile").write_text(MAKEFILE.format(*numbers))
    return top / name


def test_what_is_found(sources: Path) -> None:
    add(sources, "linux-6.12.117", 6, 12, 117)
    add(sources, "release-6.12.117", 6, 12, 117)
    add(sources, "release-6.12.94", 6, 12, 94)
    add(sources, "linux-7.3.4", 7, 3, 4)
    add(sources / "tarball-1", "linux-6.12.94", 6, 12, 94)
    (sources / "release-6.12.95").mkdir()
    found = {item.tree.relative_to(sources).as_posix() for item in releases.available()}
    others = {"release-6.12.94", "linux-7.3.4", "tarball-1/linux-6.12.94"}
    assert found == {"linux-6.12.117", *others}


def test_the_series_source_is_no_part_of_one(sources: Path) -> None:
    """What is built is a whole tree."""
    add(sources, "release-6.12.118", 6, 12, 118)
    whole = add(sources, "linux-6.12.117", 6, 12, 117)
    assert source.get("6.12").tree == whole


def test_a_given_tree_is_tried_once(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "plan", lambda *_: tree.Plan({}, {}))
    add(sources, "linux-6.12.117", 6, 12, 117)
    own = add(tmp_path, "linux-6.18.35", 6, 18, 35)
    request = every_release.ReleasesRequest(series="6.18", given=own)
    assert [str(item.version) for item in every_release.tried(request)] == ["6.12.117", "6.18.35"]
    row, _ = every_release.try_hooks(source.get("6.18", own))
    assert (row.release, row.origin) == ("6.18.35", every_release.GIVEN)
    there = every_release.ReleasesRequest(given=sources / "linux-6.12.117")
    assert len(list(every_release.tried(there))) == 1


def test_offers(fake: Fake) -> None:
    fake("apt-cache", f"cat <<'END'\n{MADISON}END")
    found = releases.offers(apt.offered(apt.Apt(), releases.PACKAGE))
    assert {str(version): str(offer) for version, offer in found.items()} == {
        "6.12.117": "6.12.117-1 (trixie-security)",
        "6.12.107": "6.12.107-1 (trixie, trixie-security)",
        "6.12.118": "6.12.118-1 (trixie)",
    }


def test_security_updates_have_their_own_mirror() -> None:
    listing = "http://mirror.example/debian/ bookworm\n"
    assert apt.site_of("trixie", listing) == "http://mirror.example/debian/"
    assert apt.site_of("trixie-security", listing) == "http://mirror.example/debian-security"
    listing += "http://security.example/ bookworm-security\n"
    assert apt.site_of("trixie-security", listing) == "http://security.example/"


APT = r"""
case "$0 $*" in
*indextargets*) echo "http://mirror.example/debian/ bookworm" ;;
*madison*) cat <<'END'
MADISONEND
;;
*download*)
	name=linux-source-6.12 version=${@: -1}
	version=${version#*=}
	mkdir -p pack/usr/src/$name/{mm,net,arch/{arm64/mm,x86/include/asm}} pack/DEBIAN
	cd pack/usr/src
	patch=${version#6.12.}
	printf '%s\n' 'VERSION = 6' 'PATCHLEVEL = 12' "SUBLEVEL = ${patch%%-*}" >$name/Makefile
	echo "mm" >$name/mm/rmap.c
	echo "net" >$name/net/socket.c
	touch $name/arch/arm64/mm/{hugetlbpage.c,mmu.c} $name/arch/x86/include/asm/pgtable.h
	tar -cJf $name.tar.xz $name && rm -r $name
	cd ../../..
	printf '%s\n' "Package: $name" "Version: $version" "Architecture: all" \
		"Maintainer: n <n@n.example>" "Description: d" >pack/DEBIAN/control
	dpkg-deb -b pack p_1_all.deb && rm -r pack ;;
esac
"""


def test_fetching_gets_what_hooks_need(
    fake: Fake, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "KNOWN", (Version(6, 12, 94), Version(6, 12, 107)))
    add(sources, "linux-6.12.117", 6, 12, 117)
    (sources / "release-6.12.107").mkdir()
    for name in ("apt-get", "apt-cache"):
        fake(name, APT.replace("MADISON", MADISON))
    gone = list(releases.fetch_missing())
    assert [str(release) for release, _ in gone] == ["6.12.94"]
    assert "any more" in gone[0][1]
    assert {path.name for path in sources.iterdir()} == {
        "linux-6.12.117", "release-6.12.107", "release-6.12.118",
    }  # fmt: skip
    (item,) = [item for item in releases.available() if item.version.patch == 107]
    assert releases.origin(item) == "6.12.107-1 (trixie, trixie-security)"
    assert (item.tree / "mm/rmap.c").is_file()
    assert not (item.tree / "net").exists()
    assert not (item.tree / "arch/arm64/mm/mmu.c").exists()


def test_nothing_is_offered(fake: Fake) -> None:
    for name in ("apt-get", "apt-cache"):
        fake(name, 'case "$*" in *indextargets*) echo "http://mirror.example/debian/ sid" ;; esac')
    with pytest.raises(EnvironmentLacks, match="no network"):
        list(releases.fetch_missing())


def test_half_a_network_is_told(fake: Fake, sources: Path) -> None:
    """One suite could not be read: its releases are not gone."""
    fake("apt-cache", APT.replace("MADISON", MADISON))
    fake("apt-get", APT.replace("MADISON", MADISON) + '[[ "$*" != *"update --error-on=any" ]]')
    with pytest.raises(EnvironmentLacks, match=r"cannot read trixie, .* \(no network\?\)"):
        list(releases.fetch_missing())


def planned(path: Path, version: Version) -> tree.Plan:
    if version.patch == 95:
        raise HookMissed("hook a does not fit", ["a"])
    steps = tuple(hooks.HookStep(hook, "", "") for hook in hooks.fitting(hooks.load(), version))
    return tree.Plan({"mm/a.c": str(version.patch // 100).encode()}, {}, steps)


def test_the_table(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "plan", planned)
    monkeypatch.setattr(hooks, "spatch_version", lambda: "1.3")
    count = len(hooks.fitting(hooks.load(), Version(6, 12, 117)))
    old = ReleaseRow("6.12.117", "", "1.1.1", 34, (), "0", "old")
    every_release.record([old], keep=True)
    for patch in (117, 95, 107):
        add(sources, f"release-6.12.{patch}", 6, 12, patch)
    tests = every_release.run(ReleasesRequest(keep=True))
    assert [(test.name, test.verdict, test.detail) for test in tests] == [
        ("hooks: Linux 6.12.95", Verdict.FAILED, "hook a does not fit"),
        ("hooks: Linux 6.12.107", Verdict.PASSED, ""),
        ("hooks: Linux 6.12.117", Verdict.PASSED, ""),
    ]
    text = (tmp_path / "kept" / "releases.md").read_text()
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| 6")]
    assert [row[0].strip("| ") for row in rows] == ["6.12.95", "6.12.107", "6.12.117", "6.12.117"]
    assert rows[0][3] == f"{count - 1} of {count}, not `a`"
    assert rows[1][3:5] == [f"{count} of {count}", rows[3][4]]


def test_what_no_archive_has_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "fetch_missing", lambda: iter([(Version(6, 12, 94), "gone")]))
    (found,) = every_release.run(ReleasesRequest(fetch=True))
    assert (found.verdict, found.detail) == (Verdict.SKIPPED, "gone")


def test_without_a_network_what_is_there_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch() -> list[tuple[Version, str]]:
        raise EnvironmentLacks("no network")

    monkeypatch.setattr(releases, "fetch_missing", fetch)
    monkeypatch.setattr(golden, "run", lambda: [Test("golden", Verdict.PASSED)])
    found = every_release.run(ReleasesRequest(fetch=True))
    assert [(test.name, test.verdict) for test in found] == [
        ("golden", Verdict.PASSED), ("hooks: releases", Verdict.FAILED),
    ]  # fmt: skip


def test_the_option_is_passed_on() -> None:
    args = parser().parse_args(["test", "hooks", "--releases", "--record"])
    assert command.request_from(args).releases == ReleasesRequest(fetch=True, keep=True)
