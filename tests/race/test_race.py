# SPDX-License-Identifier: GPL-2.0-only
"""Scenes and their gates: places, the plugin's list and report, verdicts."""

import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import DATA

from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import SCENES
from swathe.base.verdicts import Verdict
from swathe.guest import clock
from swathe.kernel import compiler, mutants
from swathe.kernel.arch import ARM64
from swathe.kernel.build import KernelRequest
from swathe.race import gates, image, judge, places, play, scene
from swathe.race.gates import Report, Seen
from swathe.race.judge import Outcome, Played
from swathe.race.places import Place, Symbols
from swathe.race.scene import Gate, Other, Scene

HOST = DATA / "plugin_host.c"
PROFILER = gates.SHARED[0].parent
MAP = "0000000000001000 T first\n0000000000001000 T alias\n0000000000001080 t twice\n" \
      "0000000000002000 t twice\n0000000000003000 D data\n0000000000003000 T last\n"  # fmt: skip
KERNEL = places.parse(MAP, "System.map")
PROGRAM = places.parse("0000000000400000 T ends\n0000000000400010 T after\n", "prog")
GATE = Gate("flush", "first", ("program:ends",))
BEGIN, END, REPORT = (f"0f1f8400{n:02x}425753" for n in (1, 2, 3))
NOP, RET, LONG = "90", "c3", "0f1f4000"

Feed = Callable[[str, str], list[Report]]


def test_places() -> None:
    assert places.find("first", KERNEL, PROGRAM) == Place(0x1000)
    assert places.find("first+0x1c", KERNEL, PROGRAM) == Place(0x101C)
    assert places.find("first:return", KERNEL, PROGRAM) == Place(0x1000, 0x1080)
    assert places.find("program:ends:return", KERNEL, PROGRAM) == Place(0x400000, 0x400010)
    assert places.find("0x1234", KERNEL, PROGRAM) == Place(0x1234)


def test_the_first_of_several_that_is_there() -> None:
    assert places.find("gone:return|first", KERNEL, PROGRAM) == Place(0x1000)
    assert places.find("first|gone", KERNEL, PROGRAM) == Place(0x1000)
    with pytest.raises(CheckFailed, match="no function gone"):
        places.find("lost|gone", KERNEL, PROGRAM)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("missing", "has no function missing: it may be inlined"),
        ("data", "has no function data"),
        ("twice", "has twice 2 times: give one of 0x1080, 0x2000"),
        ("first+0x80", "first ends before that"),
        ("first+12", "is no place"),
        ("last:return", "the end of the function at 0x3000 is not known"),
        ("program:first", "prog has no function first"),
    ],
)
def test_places_that_are_none(text: str, says: str) -> None:
    with pytest.raises(CheckFailed, match=says.replace("+", r"\+")):
        places.find(text, KERNEL, PROGRAM)


def test_a_list_without_addresses_is_refused() -> None:
    for text in ("", "0000000000000000 T first\n"):
        with pytest.raises(CheckFailed, match="give another --symbols"):
            places.parse(text, "System.map")


def test_gates_are_told_by_address() -> None:
    second = Gate("second", "program:after", ("@flush",), cpu=0, by=-1, hit=0)
    text = gates.told([replace_gate(since="last", nth=2), second], KERNEL, PROGRAM)
    assert text == (
        "flush 20000 1000:0:1:1 3000:0:1:0 400000:0:0:2\n"
        "second 20000 400010:0:0:0 0:0:0:0 @0\n"
    )  # fmt: skip
    with pytest.raises(CheckFailed, match="waits for other, which is no gate"):
        gates.told([Gate("one", "first", ("@other",))], KERNEL, PROGRAM)


def test_a_gate_may_open_elsewhere_on_arm64() -> None:
    gate = replace_gate(nth=3, arm64=Other(("last",)))
    assert gate.on("x86_64") == gate
    assert (gate.on("arm64").until, gate.on("arm64").nth) == (("last",), 3)
    assert replace_gate(arm64=Other(("last",), nth=2)).on("arm64").nth == 2
    assert GATE.on("arm64") == GATE


def replace_gate(**changes: object) -> Gate:
    fields = {name: getattr(GATE, name) for name in Gate.__struct_fields__}
    return Gate(**{**fields, **changes})


def test_what_an_image_is_asked_for() -> None:
    wanted = Scene("", "p", (replace_gate(since="last+0x4", until=("@x", "first:return")),))
    assert image.names([wanted]) == ["first", "last"]


@pytest.mark.parametrize("name", scene.names())
def test_scenes_are_whole(name: str) -> None:
    found = scene.load(name)
    assert (SCENES / f"{found.program}.c").is_file()
    assert {*found.mutants} <= {mutant.name for mutant in mutants.load()}
    assert found.about


def test_scenes_that_are_wrong(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no scene 'odd'; there are "):
        scene.load("odd")
    path = tmp_path / "odd.toml"
    head = 'about = "a"\nprogram = "p"\n'
    for text, says in (
        (f"{head}gate = []\n", "has no gate"),
        (
            head + '[[gate]]\nname = "second"\nstop = "f"\nuntil = ["g"]\n',
            "two gates have one name",
        ),
        (head + '[[gate]]\nname = "one"\nstop = "f"\nuntil = ["g"]\nodd = 1\n', "odd"),
    ):
        path.write_text(text)
        with pytest.raises(CheckFailed, match=says):
            scene.read(path)


@pytest.fixture(params=[1, 4])
def feed(request: pytest.FixtureRequest, tmp_path: Path) -> Feed:
    """Feed blocks to the plugin, spoken to by an old or a new QEMU."""
    sources = [HOST, *sorted(gates.SOURCE.glob("*.c")), *gates.SHARED]
    headers = [*gates.SOURCE.glob("*.h"), *PROFILER.glob("*.h")]
    flags = (f"-I{PROFILER}", f"-DPLUGIN_API={request.param}", "-Werror")
    program = compiler.compile_c(sources, flags, headers, f"gate-{request.param}")

    def run(told: str, blocks: str) -> list[Report]:
        (tmp_path / "gates").write_text(told)
        words = (f"gates={tmp_path / 'gates'}", f"out={tmp_path / 'seen'}", "arch=x86_64")
        subprocess.run([str(program), *words], input=blocks, text=True, check=True, timeout=60)
        return gates.read(tmp_path)

    return run


def block(address: int, *code: str, cpu: int = 1) -> str:
    lines = [f"block {cpu}"]
    for text in code:
        lines.append(f"{address:x} {text}")
        address += len(text) // 2
    return "\n".join([*lines, "run"]) + "\n"


BEGINS, ENDS, REPORTS = (block(0x10, mark) for mark in (BEGIN, END, REPORT))


def hits(reports: list[Report]) -> list[int]:
    return [seen.hits for report in reports[:1] for seen in report.gates]


def test_gates_work_between_marks_on_their_processor(feed: Feed) -> None:
    told = "one 1 1000:0:1:0 0:0:0:0 2000:0:0:1\n"
    at = block(0x1000, NOP)
    other = block(0x1000, NOP, cpu=0)
    assert hits(feed(told, at + BEGINS + other + block(0x1001, NOP) + ENDS + at)) == [0]
    (report,) = feed(told, BEGINS + at + ENDS)
    assert report == Report(1, (Seen("one", 1, 0, 1, 0, False, False),))


def test_the_nth_time_counts_since_a_place(feed: Feed) -> None:
    at, since = block(0x1000, NOP), block(0x3000, NOP)
    second = "one 1 1000:0:1:2 0:0:0:0 2000:0:0:1\n"
    assert hits(feed(second, BEGINS + at + ENDS + BEGINS + at + ENDS)) == [0]
    assert hits(feed(second, BEGINS + at + at + at + ENDS)) == [1]
    after = "one 1 1000:0:1:1 3000:0:1:0 2000:0:0:1\n"
    assert hits(feed(after, BEGINS + at + ENDS)) == [0]
    assert hits(feed(after, BEGINS + at + since + at + ENDS)) == [1]


def test_returns_of_a_function(feed: Feed) -> None:
    told = "one 1 1000:1010:1:0 0:0:0:0 2000:0:0:1\n"
    assert hits(feed(told, BEGINS + block(0x1000, NOP, NOP, RET) + block(0x1010, RET) + ENDS)) == [
        1
    ]


def test_what_nobody_opens_is_left_open(feed: Feed) -> None:
    told = "one 1 1000:0:1:0 0:0:0:0 2000:0:0:1\n"
    (report,) = feed(told, (BEGINS + block(0x1000, NOP) + ENDS) * 5)
    assert (report.rounds, report.gates[0].late) == (5, 3)


def test_an_offset_that_is_no_instruction(feed: Feed) -> None:
    told = "one 1 1001:0:1:0 0:0:0:0 2000:0:0:1\n"
    (report,) = feed(told, BEGINS + block(0x1000, LONG) + ENDS)
    assert report.gates[0].misplaced
    (report,) = feed(told, BEGINS + block(0x1000, LONG) + block(0x1001, NOP) + ENDS)
    assert not report.gates[0].misplaced


def test_each_program_is_reported(feed: Feed) -> None:
    told = "one 1 1000:0:1:0 0:0:0:0 2000:0:0:1\n"
    one = BEGINS + block(0x1000, NOP) + ENDS
    reports = feed(told, one + one + REPORTS + one)
    assert [(report.rounds, report.gates[0].hits) for report in reports] == [(2, 2), (1, 1)]


PLAIN = Outcome("", 20, 0)
MET = Report(20, (Seen("flush", 20, 20, 0, 20, False, False),))
PLAYED = Played("name", Scene("", "p", (GATE,)), 20, (PLAIN,), MET, "", "")


def details(played: Played) -> list[str]:
    return [test.detail for test in judge.tests(played) if test.verdict is Verdict.FAILED]


def test_a_scene_that_passes() -> None:
    assert details(PLAYED) == []
    assert details(replace(PLAYED, report=None)) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"outcomes": (Outcome("", 20, 3, "odd"),)}, "3 of 20 rounds came out wrong: odd"),
        ({"outcomes": (Outcome("", 7, 0),), "complaint": "BUG: x"}, "7 of 20 rounds: BUG: x"),
        ({"complaint": "WARNING: x"}, "WARNING: x"),
        ({"outcomes": (), "lost": "the VM was lost"}, "the program did not run: the VM was lost"),
    ],
)
def test_a_kernel_that_is_wrong(changes: dict[str, object], says: str) -> None:
    (detail,) = details(replace(PLAYED, **changes))  # type: ignore[arg-type]
    assert detail.startswith(says)


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        ((0, 0, 0, 0, False, False), "gate flush: processor 1 never came to first"),
        ((9, 0, 3, 0, False, False), "gate flush: nobody opened it: program:ends was not executed"),
        ((20, 19, 1, 19, False, False), "gate flush: opened in 19 rounds instead of 20 (20"),
        ((20, 20, 0, 20, True, False), "the guest ended while a processor stood at gate flush"),
        ((0, 0, 0, 0, False, True), "gate flush: an offset of first or ('program:ends',) is no"),
    ],
)
def test_a_gate_that_missed(seen: tuple[int, int, int, int, bool, bool], says: str) -> None:
    report = Report(20, (Seen("flush", *seen),))
    (detail,) = details(replace(PLAYED, report=report))
    assert detail.startswith(says)


def test_mutants_must_be_found() -> None:
    found = (PLAIN, Outcome("one", 20, 1), Outcome("two", 20, 0), Outcome("three", 0, 0))
    assert details(replace(PLAYED, outcomes=found)) == ["not found", "not found"]
    assert details(replace(PLAYED, outcomes=found, complaint="BUG: x")) == [
        "not found",
        "not found",
    ]
    assert details(replace(PLAYED, outcomes=found, complaint="BUG: x", blamed=True)) == [
        "not found"
    ]


def test_mutants_must_be_tried() -> None:
    found = replace(PLAYED, outcomes=(PLAIN, Outcome("one", 20, 1)), mutants=("one", "two"))
    assert details(found) == ["not tried: the guest had ended"]


def some(rounds: int, late: int = 0, openings: int = 20) -> Played:
    """A guest whose gate was opened in some of 20 rounds."""
    seen = Seen("flush", openings + late, openings, late, rounds, False, False)
    return replace(PLAYED, report=Report(20, (seen,)))


def test_a_round_that_missed_its_window_is_played_again() -> None:
    short = some(19, late=1)
    assert judge.is_short(short)
    assert details(short) == ["gate flush: opened in 19 rounds instead of 20 (21 hits, 1 late)"]
    whole = judge.with_more(short, some(20))
    assert not judge.is_short(whole)
    assert not details(whole)
    assert judge.hits(whole) == "gate flush: 41 hits, 40 openings, in 39 of 40 rounds"


def test_what_another_guest_does_not_mend() -> None:
    assert not judge.is_short(PLAYED)
    assert not judge.is_short(some(0, openings=0))
    wrong = replace(some(19), outcomes=(Outcome("", 20, 1, "lost"),))
    assert not judge.is_short(wrong)
    again = judge.with_more(some(19), wrong)
    assert details(again) == ["1 of 20 rounds came out wrong: lost"]
    complains = judge.with_more(some(19), replace(some(20), complaint="BUG: x"))
    assert details(complains) == ["BUG: x"]


def test_hits_are_told() -> None:
    assert judge.hits(PLAYED) == "gate flush: 20 hits, 20 openings, in 20 of 20 rounds"
    assert judge.hits(replace(PLAYED, report=None)) == "without gates"


def test_symbols_know_where_a_function_ends() -> None:
    assert Symbols("x", ((1, "a"), (5, "b"))).end(1) == 5


def test_a_machine_without_a_clock_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "tsc_khz", lambda: 0)
    (found,) = play.test(KernelRequest(), ["purge_private"])
    assert found.verdict is Verdict.SKIPPED
    assert "time-stamp counter is not known" in found.detail


def test_scenes_are_for_kernels_and_architectures() -> None:
    built = image.built(Path(__file__), ARM64)
    there = play.meant(["uffd_move_late", "purge_private"], replace(built, version="6.12.117"))
    assert [*there] == ["uffd_move_late"]
    assert not play.meant(["uffd_move_late"], replace(built, version="7.3.4"))


def test_a_place_that_is_not_there_fails_its_scene_only() -> None:
    built = image.built(Path(__file__), ARM64)
    request = play.RaceRequest(KernelRequest(), ("x",), 1, image=Path(__file__))
    on = play.Stage(built, KERNEL, request)
    one = Scene("", "p", (replace_gate(stop="missing"),))
    played = play.attempt(on, "x", one, Path("/bin/true"), threading.Event())
    (detail,) = details(played)
    assert detail.startswith("the program did not run: ")
