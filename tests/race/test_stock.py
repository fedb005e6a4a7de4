# SPDX-License-Identifier: GPL-2.0-only
"""The bugs of stock kernels: the list and the page say the same; what a guest says is judged."""

import argparse
import lzma
import re
import threading
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from swathe import __main__
from swathe.base.errors import CheckFailed, EnvironmentLacks, UsageError, VmLost
from swathe.base.paths import ROOT, SCENES
from swathe.base.verdicts import Verdict
from swathe.cli import stress
from swathe.guest import vm
from swathe.guest.session import Transcript
from swathe.kernel import config, mainline
from swathe.kernel.arch import X86_64
from swathe.kernel.build import KernelRequest
from swathe.race import debian, image, judge, play, stock, stock_built, stock_image
from swathe.race.gates import Report, Seen
from swathe.race.judge import Outcome, Played, Witness
from swathe.race.play import RaceRequest
from swathe.race.scene import Gate, Scene
from swathe.race.stock import Shown, StockBug
from swathe.race.stock_image import ShowingOnImage

PAGE = ROOT / "docs" / "stock-bugs.md"
ROW = re.compile(r"^\| \[[^]]*\]\(#([^)]+)\) \| ([^|]*) \|", re.MULTILINE)
BUGS = stock.load()
BUG = StockBug("page", "odd", ("7.3",), program="odd", control=("control",))
ASKED = RaceRequest(KernelRequest("7.3"), (), 1)
UNTOUCHED = replace(ASKED, kernel=replace(ASKED.kernel, pristine=True))
SHOWING = ShowingOnImage(BUGS.images["7.3"], UNTOUCHED, threading.Event())
GATE = Gate("came", "f", ("g",))


def table() -> dict[str, str]:
    """The kernels of each bug of the page's table, by its heading."""
    return dict(ROW.findall(PAGE.read_text()))


def test_each_bug_of_the_page_has_a_row_and_each_row_a_bug() -> None:
    assert {bug.page for bug in BUGS.bug} == set(table())
    names = [bug.name for bug in BUGS.bug]
    assert len({*names}) == len(names)


def test_rows_name_kernels_that_have_the_bug() -> None:
    known = table()
    for bug in BUGS.bug:
        assert all(kernel in known[bug.page] for kernel in bug.kernels), bug.name
        assert {*bug.kernels} <= {*BUGS.images}, bug.name


@pytest.mark.parametrize("bug", BUGS.bug, ids=lambda bug: bug.name)
def test_a_row_says_what_shows_the_bug_or_why_nothing_does(bug: StockBug) -> None:
    assert [bool(bug.program), bool(bug.scene)].count(True) + bool(bug.why) >= 1
    assert not (bug.program and bug.scene)
    assert bug.built in ["", *config.variants()]
    assert {*bug.patches} <= {patch.name for patch in mainline.load().patch}
    assert bug.mended in ("", "hook") or int(bug.mended, 16)
    if bug.program:
        assert (stock.HOME / f"{bug.program}.c").is_file()
        assert bug.control, "the program could say so always"
    if bug.scene:
        found = stock.scene_of(bug)
        assert (SCENES / Path(bug.scene).parent / f"{found.program}.c").is_file()
        assert not bug.gate or bug.gate in [gate.name for gate in found.gate]


def test_no_program_is_left_over() -> None:
    files = {path.stem for path in stock.HOME.glob("*.c")}
    scenes = {stock.scene_of(bug).program for bug in BUGS.bug if bug.scene.startswith("stock/")}
    assert files == {bug.program for bug in BUGS.bug if bug.program} | scenes


def test_what_is_said() -> None:
    found = Shown(BUG, "", 20, 19, "wrong", Outcome("", 20, 0))
    assert str(found) == "odd: shown: 19 of 20 rounds, control: 0 of 20: wrong"
    assert not found.surprising
    other = replace(found, mended="Linux 6.12 does not have it", seen=0, said="")
    assert str(other) == (
        "odd: not shown (Linux 6.12 does not have it): 0 of 20 rounds, control: 0 of 20"
    )
    assert not other.surprising
    assert replace(found, seen=0).surprising
    assert replace(other, seen=20).surprising
    impossible = Shown(BUG, why="needs a device")
    assert str(impossible) == "odd: not possible here: needs a device"
    assert not impossible.surprising
    assert stock.summary([found, other, impossible]) == "1 shown, 1 not shown, 1 not possible"


def test_what_the_control_shows_as_well_is_not_shown() -> None:
    found = Shown(BUG, "", 20, 20, "", Outcome("", 20, 20))
    assert not found.shown
    free = StockBug("page", "odd", ("7.3",), scene="odd", free=True)
    assert replace(found, bug=free).shown
    assert not replace(found, control=None).shown


def test_what_did_not_run_proves_nothing() -> None:
    other = Shown(BUG, "mended by odd", 20, 0, "", Outcome("", 20, 0))
    assert not other.surprising
    assert replace(other, rounds=0).surprising
    assert not Shown(BUG, "", 20, 20, "", Outcome("", 0, 0)).shown


def test_who_must_not_have_a_bug() -> None:
    bug = StockBug("page", "odd", ("7.3",), patches=("uffd-move-again",), mended="0x0004")

    def mended(**given: object) -> str:
        off = int(str(given.pop("off", 0)))
        kernel = KernelRequest(**{"kernel": "7.3"} | given)  # type: ignore[arg-type]
        return stock.mended(bug, replace(ASKED, kernel=kernel, off=off))

    assert mended(kernel="6.12") == "Linux 6.12 does not have it"
    assert mended(pristine=True) == ""
    assert mended(pristine=True, patches=("a",)) == "mended by uffd-move-again"
    assert mended(pristine=True, patches=("zap-holes",)) == ""
    assert mended() == "mended by bit 0x0004"
    assert mended(off=4) == ""
    assert mended(off=1) == "mended by bit 0x0004"
    hooked = msgspec.structs.replace(bug, mended="hook")
    assert stock.mended(hooked, replace(ASKED, off=15)) == "mended by a hook"


def test_a_program_and_its_control_are_judged() -> None:
    text = (
        "@ shows odd\n# lost\nrounds 20 wrong 20\n\n? 1\n"
        "@ control odd\nrounds 20 wrong 0\n\n? 0\n"
    )  # fmt: skip
    found = SHOWING.judged(BUG, Transcript(text, "", vm.Exit(0)))
    assert (found.rounds, found.seen, found.said) == (20, 20, "lost")
    assert found.control == Outcome("", 20, 0)
    nothing = SHOWING.judged(BUG, Transcript("", "", vm.Exit(1)))
    assert str(nothing) == (
        "odd: not shown: 0 of 0 rounds, control: 0 of 0: the program did not run"
    )
    assert nothing.surprising


def test_the_kernel_may_be_what_shows_a_bug() -> None:
    bug = msgspec.structs.replace(BUG, complains="KASAN")
    ended = Transcript("@ shows odd\n", "[    1.0] BUG: KASAN: use\n", VmLost("it ended"))
    assert stock.outcome(bug, stock.SHOWS, ended) == Outcome("", 1, 1, "BUG: KASAN: use")
    other = Transcript("@ shows odd\n", "[    1.0] BUG: odd\n", VmLost("it ended"))
    assert stock.outcome(bug, stock.SHOWS, other) == Outcome("", 0, 0, "the guest ended")
    quiet = Transcript("@ shows odd\nrounds 20 wrong 1\n\n? 1\n", "", vm.Exit(0))
    assert stock.outcome(bug, stock.SHOWS, quiet) == Outcome("", 20, 0)


def test_a_guest_runs_each_program_and_its_control() -> None:
    assert [stock.runs(BUG, way, ASKED) for way in stock.WAYS] == [
        "report shows odd -- timeout 120 /bin/odd 20",
        "report control odd -- timeout 120 /bin/odd 20 control",
    ]


def played(wrong: int, hits: int) -> Played:
    seen = (Seen("came", hits, hits, 0, hits, False, False),)
    scene = Scene("", "p", (GATE,))
    return Played("odd", scene, 20, (Outcome("", 20, wrong, "w"),), Report(20, seen), "", "")


def test_a_scene_is_compared_with_its_control() -> None:
    bug = StockBug("page", "odd", ("7.3",), scene="odd")
    found = stock.compared(bug, "", played(19, 20), played(0, 0))
    assert str(found) == "odd: shown: 19 of 20 rounds, control: 0 of 20: w"
    gated = StockBug("page", "odd", ("7.3",), scene="odd", gate="came")
    found = stock.compared(gated, "", played(0, 18), played(0, 0))
    assert (found.seen, found.shown) == (18, True)
    told = msgspec.structs.replace(bug, complains="Bad page")
    complained = replace(played(0, 18), complaint="BUG: Bad page")
    found = stock.compared(told, "", complained, played(0, 0))
    assert (found.rounds, found.seen, found.shown, found.said) == (20, 1, True, "BUG: Bad page")


def test_a_guest_switches_bits_off() -> None:
    assert ASKED.lines == [play.EAGER]
    assert "~0x4" in replace(ASKED, off=4).lines[1]


def test_bugs_that_nothing_shows_are_left_out_on_kernels_that_are_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_reading = StockBug("page", "reading", ("7.3",), why="by reading")
    of_another = StockBug("page", "other", ("6.12",), program="odd")
    odd = msgspec.structs.replace(BUG, built="up")
    staged: list[str] = []
    monkeypatch.setattr(stock_built.ShowingOnBuilt, "stage", lambda _, name: staged.append(name))
    monkeypatch.setattr(stock_built.ShowingOnBuilt, "one", lambda _, stage, bug: bug)
    showing = stock_built.ShowingOnBuilt(ASKED, threading.Event())
    found: list[object] = [*showing.all([by_reading, odd, BUG, of_another])]
    assert found == [BUG, odd]
    assert staged == ["light", "up"]


def test_nobody_is_blamed_on_an_image(tmp_path: Path) -> None:
    (tmp_path / "vmlinuz").write_bytes(b"")
    built = image.built(tmp_path / "vmlinuz", X86_64)
    heard = Transcript("@ scene odd\n", "[ 1.0] BUG: Bad page\n", VmLost("it ended"))
    found = judge.judged("odd", Scene("", "p", (GATE,)), 20, Witness(heard, None, built))
    assert (found.complaint, found.blamed) == ("BUG: Bad page", False)


def test_bugs_are_known_by_name() -> None:
    assert [bug.name for bug in stock.named(["ksm_flag"], BUGS)] == ["ksm_flag"]
    assert stock.named([], BUGS) == list(BUGS.bug)
    with pytest.raises(UsageError, match="there is no bug 'odd'; there are lazyfree_fork, "):
        stock.named(["odd"], BUGS)
    with pytest.raises(CheckFailed, match=r"there is no image of Linux 6\.18: 6\.12, 7\.3"):
        stock_image.show([], replace(ASKED, kernel=KernelRequest("6.18")))


def test_modules_come_after_those_that_they_need(tmp_path: Path) -> None:
    for name, needs in (("zram", "lz4_comp,zs"), ("lz4-comp", ""), ("zs", "lz4_comp")):
        data = b"\x7fELF\0name=x\0depends=" + needs.encode() + b"\0"
        (tmp_path / f"{name}.ko.xz").write_bytes(lzma.compress(data))
    found = debian.modules(tmp_path, ["zram"], tmp_path / "kept")
    assert [path.name for path in found] == ["lz4_comp.ko", "zs.ko", "zram.ko"]
    assert found[0].read_bytes().startswith(b"\x7fELF")
    with pytest.raises(CheckFailed, match=r"hold 0 files vmlinuz\* instead of 1"):
        debian.image(tmp_path)


def test_in_ci_each_bug_is_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Shown(BUG, "", 20, 19, "wrong", Outcome("", 20, 0))
    found = [seen, replace(seen, seen=0), Shown(BUG, why="by reading")]
    monkeypatch.setattr(ShowingOnImage, "all", lambda *_: iter(found))
    tests = [*stock_image.tests(SHOWING, BUGS.bug)]
    assert [test.verdict for test in tests] == [Verdict.PASSED, Verdict.FAILED]
    assert tests[0].name == "stock 7.3 odd"


def test_an_image_that_debian_has_not_any_more_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lacks(*_: object) -> None:
        raise EnvironmentLacks("it could not be fetched")

    monkeypatch.setattr(ShowingOnImage, "all", lacks)
    (test,) = stock_image.tests(SHOWING, BUGS.bug)
    assert (test.verdict, test.detail) == (Verdict.SKIPPED, "it could not be fetched")


@pytest.mark.parametrize(
    "words",
    [
        ["race", "uffd_copy", "--built"],
        ["race", "uffd_copy", "--pristine", "--off", "1"],
        ["race", "stock", "--off", "1"],
        ["race", "stock", "--built", "--patches", "a", "--off", "1"],
        ["stress", "--pristine"],
    ],
)
def test_what_does_not_go_together_is_refused(words: list[str]) -> None:
    assert __main__.main(words) == 2


def test_a_kernel_without_swathe_adds_nothing_to_the_proof() -> None:
    parser = argparse.ArgumentParser()
    stress.set_argparser(parser)
    words = ["--pristine", "--only", "memx"]
    assert stress.request_from(parser.parse_args(words)).kernel.pristine
    with pytest.raises(UsageError, match="proves nothing"):
        stress.request_from(parser.parse_args([*words, "--record"]))
