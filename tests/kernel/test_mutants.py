# SPDX-License-Identifier: GPL-2.0-only
"""Ways to break the code on purpose: the series, and every one of them in the code."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from swathe.base import paths
from swathe.base.errors import CheckFailed
from swathe.base.paths import MUTANTS
from swathe.check import broken, selftests
from swathe.kernel import mutants, tree
from swathe.race import scene

ENTRY = """
[[mutant]]
name = "leak"
files = ["run.c"]
breaks = "law 4: a reference stays"
found_by = "memx"
why = ""
"""
RULE = "@@\n@@\n- put(1);\n+ if (!unmap_mutated(LEAK))\n+\tput(1);\n"
OVERLAY = {
    "mm/unmap/internal.h": b'#include "compat.h"\n',
    "mm/unmap/Makefile": b"obj-y += run.o\n",
    "mm/unmap/run.c": b"void run(void)\n{\n\tput(1);\n}\n",
}


SUITE = re.compile(r"^\t\.name = \"(\w+)\"", re.MULTILINE)
SECOND = "// The function is gone.\n@again@\n@@\n- put(2);\n+ put(unmap_mutated(LEAK));\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A series of one mutant."""
    (tmp_path / "leak.cocci").write_text(RULE)
    (tmp_path / "series").write_text(ENTRY)
    monkeypatch.setattr(mutants, "MUTANTS", tmp_path)
    monkeypatch.setattr(mutants, "SERIES", tmp_path / "series")
    return tmp_path


def suites() -> set[str]:
    tests = (paths.OVERLAY / mutants.HOME / "tests").glob("*_kunit.c")
    return {name for path in tests for name in SUITE.findall(path.read_text())}


def test_every_mutant_fits_and_has_a_finder(tmp_path: Path) -> None:
    series = mutants.load()
    found = mutants.mutate(tree.overlay(), tmp_path)
    for mutant in series:
        asked = f"unmap_mutated({mutant.name.upper()})"
        for name in mutant.files:
            assert asked in found[f"mm/unmap/{name}"].decode(), (mutant.name, name)
        program, *arguments = mutant.found_by.split()
        if mutant.scene:
            assert mutant.name in scene.load(mutant.scene).mutants
        else:
            assert program in {broken.KUNIT, *selftests.names()}
        assert program != broken.KUNIT or arguments[0] in suites(), mutant.name
        assert bool(mutant.why) == (mutant.found_by != "memx"), mutant.name
        assert mutant.alone or not (mutant.says or mutant.parallel), mutant.name
    rules = {path.stem for path in MUTANTS.glob("*.cocci")}
    assert rules == {mutant.name for mutant in series}


def test_the_overlay_itself_has_none() -> None:
    assert not [path for path, data in tree.overlay().items() if b"unmap_mutated" in data]


def test_the_rules_of_a_mutant() -> None:
    found = mutants.split("// SPDX\n@one@\nidentifier x;\n@@\n- x();\n\n@ @\n@@\n- y();\n")
    assert [rule.name for rule in found] == ["one", "number 2"]
    assert found[0].text == "@one@\nidentifier x;\n@@\n- x();\n\n"
    assert found[1].text == "@ @\n@@\n- y();\n"


def test_each_rule_must_change_something(home: Path, tmp_path: Path) -> None:
    (home / "leak.cocci").write_text(f"{RULE}\n{SECOND}")
    said = r"mutant leak: rule again changes nothing in run.c; correct mutants/leak.cocci"
    for _ in range(2):  # what is kept is checked, too
        with pytest.raises(CheckFailed, match=said):
            mutants.mutate(OVERLAY, tmp_path / "cache")
    both = OVERLAY["mm/unmap/run.c"].replace(b"put(1)", b"put(1);\n\tput(2)")
    found = mutants.mutate({**OVERLAY, "mm/unmap/run.c": both}, tmp_path / "cache")
    assert b"put(unmap_mutated(LEAK))" in found["mm/unmap/run.c"]


def test_the_code_asks_at_run_time(home: Path, tmp_path: Path) -> None:
    found = mutants.mutate(OVERLAY, tmp_path / "cache")
    assert "if (!unmap_mutated(LEAK))\n\t\tput(1);" in found["mm/unmap/run.c"].decode()
    assert found["mm/unmap/internal.h"].endswith(b'#include "mutants.h"\n')
    assert found["mm/unmap/Makefile"].endswith(b"obj-y += mutants.o\n")
    header = found["mm/unmap/mutants.h"].decode()
    assert "\tUNMAP_MUTANT_LEAK,\n" in header
    assert '#define UNMAP_MUTANT_NAMES "leak"\n' in header


def test_what_was_mutated_once_is_kept(
    home: Path, tmp_path: Path, fake: Callable[[str, str], Path]
) -> None:
    first = mutants.mutate(OVERLAY, tmp_path / "cache")
    fake("spatch", "exit 1")
    assert mutants.mutate(OVERLAY, tmp_path / "cache") == first


@pytest.mark.parametrize(
    ("overlay", "said"),
    [
        ({**OVERLAY, "mm/unmap/run.c": b"int i;\n"}, "leak does not fit mm/unmap/run.c: it chan"),
        ({k: v for k, v in OVERLAY.items() if "run" not in k}, "names run.c, but mm/unmap has no"),
    ],
)
def test_a_mutant_that_does_not_fit_is_an_error(
    home: Path, tmp_path: Path, overlay: dict[str, bytes], said: str
) -> None:
    with pytest.raises(CheckFailed, match=said):
        mutants.mutate(overlay, tmp_path / "cache")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ENTRY.replace('why = ""\n', ""), "mutants/series: Object missing required field `why`"),
        (ENTRY + "more = 1\n", "Object contains unknown field `more`"),
        ("[[mutant", "is not TOML"),
    ],
)
def test_a_series_with_a_mistake_is_an_error(text: str, said: str) -> None:
    with pytest.raises(CheckFailed, match=said):
        mutants.parse(text)
