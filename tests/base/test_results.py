# SPDX-License-Identifier: GPL-2.0-only
"""How results are recorded, and that those of docs/results are read as what they are."""

import json
from pathlib import Path

import pytest
from msgspec import Struct
from rich.console import Console

from swathe.base import reading, results, table
from swathe.base.errors import CheckFailed
from swathe.base.paths import BUILD, ROOT
from swathe.check import configurations, kcsan, proof
from swathe.kselftests import judge

KINDS = {
    "configs": configurations.Rows,
    "kcsan": kcsan.RecordedRaces,
    "kselftests": judge.Recorded,
    "proof": dict[str, proof.ResultTable],
}


class Thing(Struct):
    names: list[str]


def add(name: str, keep: bool) -> list[Path]:
    def make(before: Thing | None) -> tuple[Thing, str]:
        thing = Thing([*(before.names if before else []), name])
        return thing, " ".join(thing.names)

    return results.record("things", keep, Thing, make)


def test_each_place_is_brought_up_to_date_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "HERE", tmp_path / "here")
    monkeypatch.setattr(results, "KEPT", tmp_path / "kept")
    assert add("a", keep=False) == [tmp_path / "here" / "things.md"]
    assert [path.read_text() for path in add("b", keep=True)] == ["a b", "b"]
    assert json.loads((tmp_path / "kept" / "things.json").read_text()) == {"names": ["b"]}
    (tmp_path / "here" / "things.json").write_text('{"names": [1]}')
    with pytest.raises(CheckFailed, match=r"things\.json: Expected `str`, got `int`"):
        add("c", keep=False)


def test_a_row_is_a_line() -> None:
    rows: list[object] = [{"case": "4K", "points": [[1, 2], [3, 4]]}, {"case": "64K", "points": []}]
    data = {"environment": {"cpus": 1, "memory": "4G"}, "rows": rows, "table": [["a"], ["b"]]}
    lines = results.json_text(data).splitlines()
    assert lines[1] == '"environment": {"cpus": 1, "memory": "4G"},'
    assert lines[3:5] == [f"{json.dumps(rows[0])},", json.dumps(rows[1])]
    assert lines[6:10] == ['"table": [', '["a"],', '["b"]', "]"]


def test_a_long_row_has_a_line_for_each_row_in_it() -> None:
    cases = [["a case", "pass"]] * results.LONG_ROW
    text = results.json_text([{"test": "x", "cases": cases}])
    assert len(text.splitlines()) == len(cases) + 7
    assert json.loads(text) == [{"test": "x", "cases": cases}]


@pytest.mark.parametrize("path", sorted(results.KEPT.glob("*.json")), ids=lambda path: path.name)
def test_what_is_recorded_is_as_it_is_written(path: Path) -> None:
    assert path.read_text() == f"{results.json_text(json.loads(path.read_text()))}\n"


@pytest.mark.parametrize("name", KINDS)
def test_what_is_recorded_can_be_read(name: str) -> None:
    paths = list(results.KEPT.glob(f"{name}-*.json"))
    assert paths
    for path in paths:
        assert reading.json(path.read_text(), KINDS[name], path.name)


@pytest.mark.parametrize("text", ["names = [", "names = 1"])
def test_a_wrong_file_is_told_of_in_a_sentence(text: str) -> None:
    with pytest.raises(CheckFailed, match=r"^x\.toml"):
        reading.convert(reading.toml(text, "x.toml"), Thing, "x.toml")


def test_a_table_is_the_same_rows_wherever_it_is_written() -> None:
    cells = (table.Cell("4 KiB"), table.Cell("[red]1.5 %", table.Tone.BAD))
    made = table.make("Some <i>", ("case", table.Column("change")), [cells])
    console = Console(width=80)
    with console.capture() as capture:
        console.print(table.terminal(made))
    lines = [line.split() for line in capture.get().splitlines() if line.strip(" ─")]
    assert lines == [["Some", "<i>"], ["case", "change"], ["4", "KiB", "[red]1.5", "%"]]
    assert table.markdown(made).splitlines() == [
        r"Some \<i\>:", "", "| case | change |", "|---|---:|", r"| 4 KiB | \[red\]1.5 % |",
    ]  # fmt: skip
    shown = table.html(made).replace("\N{NO-BREAK SPACE}", " ")
    assert "<caption>Some &lt;i&gt;</caption>" in shown
    assert '<th scope="col" class="n">change</th>' in shown
    assert '<th scope="row">4 KiB</th><td class="bad n">[red]1.5 %</td>' in shown


def test_records_name_no_place_of_this_machine() -> None:
    """What a failed test names is below a kernel tree, wherever that was."""
    named = f"failed: {BUILD}/tree/6.12.117-mutants/mm/a.c:1; {ROOT}/lab/b.py; /mnt/scene"
    assert proof.HERE.sub("", named) == "failed: mm/a.c:1; lab/b.py; /mnt/scene"
    for path in results.KEPT.iterdir():
        text = path.read_text()
        assert "/build/tree/" not in text, path.name
        assert f"{ROOT}/" not in text, path.name
