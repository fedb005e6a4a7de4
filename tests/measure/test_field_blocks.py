# SPDX-License-Identifier: GPL-2.0-only
"""Blocks of swathe-field: read as mails bring them, refused when something is missing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base.errors import CheckFailed
from swathe.base.paths import ROOT
from swathe.measure import field_blocks, field_tables
from swathe.measure.field_blocks import CHANGE, COUNTS, EVENTS, TIME_OFF, TIMES, VMPTE_ON

BEGIN = "----- swathe-field 3: from here to its end -----"
END = "----- swathe-field 3: end -----"
BODY = """\
kernel: 6.12.117 #1 SMP x86_64
mitigations: meltdown PTI; spectre_v2 Retpolines;
+ srbds Microcode
left out: swapout:4K, swapout:64K: there is no swap
events: 5 more calls in each state for each of: cycles, instructions; L1D load
+ misses, L2 misses (raw 0x964); dTLB load misses
left out: perf events LLC load misses; dTLB store misses: this machine or
+ kernel has none
rows: 3
row: zap:4K off=105.20 off_mad=1.10 on=88.30 on_mad=0.90 change=-16.10
+ from=-17.00 to=-15.20 pages_off=32768 tlb_off=0.00 tlb_on=0.00 calls_off=0.00
+ calls_on=1.00 vmpte_off=0.00 vmpte_on=0.00 cycles_off=315 cycles_on=265
+ instructions_off=260 instructions_on=210 l1d_off=12.50 l1d_on=~8.25 l2_off=~1.50
+ l2_on=0.0042 dtlb_on=0.0000
row: dontneed:many off=8570.30 off_mad=12.50 on=8571.00 on_mad=13.00 change=+0.10
+ from=-0.90 to=+1.10 pages_off=32768 tlb_off=1520 tlb_on=1520 vmpte_off=256
+ vmpte_on=4.00
row: multifault:1 off=1000.00 off_mad=0.00 on=1000.00 on_mad=0.00 change=+0.00
+ pages_off=32768 vmpte_off=256 vmpte_on=256"""

# Off and on of each event, in the order of EVENT_NAMES: LLC and dTLB stores were not counted.
COUNTED = (315, 265, 260, 210, 12.5, 8.25, 1.5, 0.0042, None, None, None, 0, None, None)
L1D = 4


def block(body: str = BODY, begin: str = BEGIN) -> str:
    lines = [begin, *body.splitlines()]
    return "\n".join([*lines, f"checksum: {field_blocks.checksum(lines):08x}", END, ""])


def quoted(text: str) -> str:
    return "".join(f"> > {line}\n" for line in text.splitlines())


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[str, str], Path]:
    def save(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return save


def read(text: str) -> field_blocks.FieldBlock:
    (found,) = field_blocks.of_text(text, "mail")
    return found


def test_what_a_block_says() -> None:
    found = read(f"Hello,\n\n{block()}\n-- \nA tester\n")
    assert dict(found.heads)["mitigations"].endswith("Retpolines; srbds Microcode")
    assert found.rows == ["zap:4K", "dontneed:many", "multifault:1"]
    assert found.value(TIMES, "zap:4K", TIME_OFF) == 105.2
    assert found.value(TIMES, "zap:4K", CHANGE) == -16.1
    assert found.value(COUNTS, "dontneed:many", VMPTE_ON) == 4
    assert found.tables[EVENTS] == {"zap:4K": COUNTED}
    assert found.scaled == {("zap:4K", L1D + 1), ("zap:4K", L1D + 2)}
    assert [row for row in found.rows if found.beyond(row)] == ["zap:4K"]


@pytest.mark.parametrize(
    "mailed",
    [
        quoted,
        lambda text: quoted(text).replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(" ", "\N{NO-BREAK SPACE}"),
        lambda text: text.replace("  ", "\t"),
        lambda text: "".join(f"    {line}   \n\n" for line in text.splitlines()),
        lambda text: text.replace("-----", "- -----", 1),
        lambda text: "".join(f"| {line}\n" for line in text.splitlines()),
        lambda text: text.replace("=88.30 on_mad", "=88.30\non_mad"),
        lambda text: text.replace("\n+ from=-17", " + from=-17"),
    ],
)
def test_mails_do_no_harm(mailed: Callable[[str], str]) -> None:
    plain = read(block())
    assert read(mailed(block())) == plain


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        (block().replace(END, ""), "has no end"),
        (block().replace(END, "") + block(), "has no end"),
        (block().replace("105.20", "95.20"), "the checksum does not fit"),
        (block().replace("+ srbds Microcode\n", ""), "the checksum does not fit"),
        (block().replace(BODY, BODY[:600]), "the checksum does not fit"),
        (block().replace("checksum: ", "check"), "the checksum does not fit"),
        (block(begin=BEGIN.replace(" 3:", " 2:")), "is of version 2"),
        (block(BODY.replace("105.20", "fast")), "not figures"),
        (block(BODY.replace("105.20 ", " ")), "not figures"),
        (block(BODY.replace("105.20", "inf")), "not figures"),
        (block(BODY.replace("tlb_on", "tlb_in")), "not figures"),
        (block(BODY.replace("=~8.25", "=~")), "not figures"),
        (block(BODY.replace("=~8.25", "=~~8.25")), "not figures"),
        (block(BODY.replace("105.20", "~105.20")), "not figures"),
        (block(BODY.replace("l1d_off", "l3_off")), "not figures"),
        (block(BODY.replace("\nrow: multi", " row: multi")), "2 rows instead of 3"),
        (block(BODY.replace("\nrow: zap:4K", " row: zap:4K")), "2 rows instead of 3"),
        (block(BODY.replace("row: dont", "row:\ndont")), "2 rows instead of 3"),
        (block(BODY.replace("\n", " ")), "0 rows instead of"),
        (block(BODY.replace("row: dontneed:many", "row: zap:4K")), "3 rows instead of 3"),
        (block("what is this\n" + BODY), "not understood"),
        ("Hello,\nno figures today\n", "holds no block"),
        ("", "holds no block"),
    ],
)
def test_damage_is_one_sentence(
    damaged: str,
    said: str,
    saved: Callable[[str, str], Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = saved("mail.txt", damaged)
    assert __main__.main(["field", "--read", str(path)]) == 1
    output = capsys.readouterr()
    assert (output.out, output.err.count("swathe:")) == ("", 1)
    assert said in " ".join(output.err.split())


def test_one_machine_is_shown_in_full(
    saved: Callable[[str, str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert __main__.main(["field", "--read", str(saved("epyc.txt", block()))]) == 0
    words = capsys.readouterr().out.split()
    for word in ("epyc", "105.2", "-16.1", "-17.0", "1520", "315", "PTI;"):
        assert word in words


def test_events_that_were_not_counted_have_no_figure() -> None:
    *_, events = field_tables.tables([read(block())])
    assert [column.name for column in events.columns][1:4] == ["cycles", "instructions", "L1D"]
    assert [[cell.text for cell in row] for row in events.rows] == [
        ["zap:4K", "315 → 265", "260 → 210", "12.5 → ~8.25", "~1.5 → 0.0042", "–", "– → 0", "–"]
    ]


def test_events_of_one_state_alone() -> None:
    body = "rows: 1\nrow: zap:4K now=105.20 now_mad=1.10 cycles_now=315.00 l2_now=~0.0420"
    *_, events = field_tables.tables([read(block(body))])
    assert [cell.text for cell in events.rows[0]] == [
        "zap:4K", "315", "–", "–", "~0.042", "–", "–", "–",
    ]  # fmt: skip


def test_several_machines_have_a_column_each(saved: Callable[[str, str], Path]) -> None:
    start, end = BODY.index("row: dontneed:many"), BODY.index("row: multifault:1")
    other = BODY[:start].replace("rows: 3", "rows: 2") + BODY[end:]
    one = saved("one.txt", block())
    two = saved("two.txt", block(other.replace("6.12.117", "6.12.200")) + "\n" + quoted(block()))
    found = field_blocks.read([one, two])
    assert [each.name for each in found] == ["one", "two 1", "two 2"]
    machines, rows = field_tables.tables(found)
    assert [cell.text for cell in machines.rows[0]][2].startswith("6.12.200")
    assert [column.name for column in rows.columns] == ["row", "one", "two 1", "two 2"]
    by_name = {row[0].text: [cell.text for cell in row[1:]] for row in rows.rows}
    assert by_name["zap:4K"][0] == "105.2 → 88.3  -16.1 %"
    assert by_name["dontneed:many"] == ["8570 → 8571  ~+0.1 %", "–", "8570 → 8571  ~+0.1 %"]


def test_one_state_alone_is_no_change(saved: Callable[[str, str], Path]) -> None:
    body = "rows: 1\nrow: zap:4K now=105.20 now_mad=1.10"
    found = field_blocks.read([saved(f"{name}.txt", block(body)) for name in "ab"])
    *_, rows = field_tables.tables(found)
    assert [cell.text for cell in rows.rows[0]] == ["zap:4K", "105.2", "105.2"]


def test_the_example_of_the_page_can_be_read() -> None:
    (found,) = field_blocks.read([ROOT / "docs" / "hardware.md"])
    assert "QEMU" in dict(found.heads)["processor"]
    assert len(found.rows) == 21


def test_files_that_are_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["field", "--read", "/no/such/mail"]) == 2
    assert "there is no such file" in capsys.readouterr().err
    assert __main__.main(["field", "--proof", "--read", "/no/such/mail"]) == 2


def test_the_checksum_is_that_of_words() -> None:
    with pytest.raises(CheckFailed):
        read(block().replace("32768", "3276 8"))
    assert field_blocks.checksum(["a  b", " c"]) == field_blocks.checksum(["a", "b\tc "])
