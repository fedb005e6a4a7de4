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

BEGIN = "----- swathe-field 1: from here to the line at the end, for a mail -----"
END = "----- swathe-field 1: end -----"
BODY = """\
kernel: 6.12.117 #1 SMP x86_64
mitigations: meltdown PTI; spectre_v2 Retpolines;
+ srbds Microcode
left out: swapout:4K, swapout:64K: there is no swap
left out: perf event dTLB misses: this machine or kernel has none
ns/page                     off    mad       on    mad change   from     to
zap:4K                    105.2    1.1     88.3    0.9  -16.1  -17.0  -15.2 *
dontneed:many            8570.3   12.5   8571.0   13.0   +0.1   -0.9   +1.1
multifault:1             1000.0    0.0   1000.0    0.0   +0.0      -      -
counts                   pages     tlb      on   calls      on   vmpte      on
zap:4K                   32768       0       0       1       0       0       0
dontneed:many            32768    1520    1520     152     152     256       4
multifault:1             32768       0       0       0       0     256     256
events/page             cycles      on   instr      on    dtlb      on
zap:4K                     315     265     260     210       -       -"""


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
    assert found.tables[EVENTS] == {"zap:4K": (315, 265, 260, 210, None, None)}
    assert found.beyond == {"zap:4K"}


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
        (block().replace("105.2", "95.2"), "the checksum does not fit"),
        (block().replace("+ srbds Microcode\n", ""), "the checksum does not fit"),
        (block().replace(BODY, BODY[:900]), "the checksum does not fit"),
        (block().replace("checksum: ", "check"), "the checksum does not fit"),
        (block(begin=BEGIN.replace(" 1:", " 2:")), "is of version 2"),
        (block(BODY.replace("105.2", "fast")), "not figures"),
        (block(BODY.replace("105.2 ", "")), "not 7 figures"),
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


def test_several_machines_have_a_column_each(saved: Callable[[str, str], Path]) -> None:
    other = "\n".join(line for line in BODY.splitlines() if "dontneed:many" not in line)
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
    body = "\n".join(["ns/page now mad - mad change from to", "zap:4K 105.2 1.1 - - - - -"])
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
