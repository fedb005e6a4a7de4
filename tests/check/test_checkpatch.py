# SPDX-License-Identifier: GPL-2.0-only
"""What checkpatch.pl says of kernel/: its output, the exceptions, and what is read again."""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

from swathe.base.errors import CheckFailed
from swathe.base.verdicts import Verdict
from swathe.check import checkpatch
from swathe.check.checkpatch import StyleException, StyleFinding, StyleFindings
from swathe.kernel.version import Version

Fake = Callable[[str, str], Path]

OUTPUT = """\
Use of uninitialized value $root in concatenation (.) or string at checkpatch.pl line 1179.
mm/unmap/flush.h:44: WARNING:DATA_RACE: data_race without comment
total: 0 errors, 1 warnings, 0 checks, 122 lines checked
mm/unmap/run.c:5: ERROR:SPACING: spaces required around that '=' (ctx:VxV)
mm/unmap/run.c:7: CHECK:LONG_LINE: line length of 103 exceeds 100 columns
total: 1 errors, 0 warnings, 1 checks, 300 lines checked
"""
RACE = StyleFinding(44, "DATA_RACE", "data_race without comment")
FOUND: StyleFindings = {
    "mm/unmap/flush.h": [RACE],
    "mm/unmap/run.c": [
        StyleFinding(5, "SPACING", "spaces required around that '=' (ctx:VxV)"),
        StyleFinding(7, "LONG_LINE", "line length of 103 exceeds 100 columns"),
    ],
}
ALLOWED = [
    StyleException("mm/unmap/flush.h", ("DATA_RACE",), "the function has it"),
    StyleException("mm/unmap/*.c", ("SPACING", "LONG_LINE"), "for a test"),
]
# In perl's place, shell that finds a volatile, and notes what it read.
PERL = """
for name; do
	case $name in *.[ch]) ;; *) continue ;; esac
	echo "$name" >>"$LOG"
	grep -q volatile "$name" || continue
	echo "$name:1: WARNING:VOLATILE: Use of volatile is usually wrong"
	echo "total: 0 errors, 1 warnings, 0 checks, 1 lines checked"
	found=1
done
exit ${found:-0}
"""
OLDER, NEWER = Version.parse("6.12.117"), Version.parse("7.3.4")
VOLATILE = StyleFinding(1, "VOLATILE", "Use of volatile is usually wrong")
NAMES = ["include/a.h", "mm/unmap/b.c"]


def failures(found: StyleFindings, allowed: list[StyleException]) -> list[tuple[str, str]]:
    tests = list(checkpatch.judge(found, allowed))
    assert len(tests) == len(found) + len(allowed)
    return [
        (test.name.removeprefix("checkpatch: "), test.detail)
        for test in tests
        if test.verdict is Verdict.FAILED
    ]


def test_findings_are_read() -> None:
    assert checkpatch.parse(OUTPUT) == (FOUND, 3)


def test_exceptions_are_no_failures() -> None:
    assert failures(FOUND, ALLOWED) == []


def test_a_new_finding_is_a_failure() -> None:
    """Another kind in a file that has an exception, or the same kind in another file."""
    found = {**FOUND, "mm/unmap/flush.h": [RACE, VOLATILE], "mm/unmap/stat.h": [RACE]}
    assert failures(found, ALLOWED) == [
        ("mm/unmap/flush.h", "line 1: VOLATILE: Use of volatile is usually wrong"),
        ("mm/unmap/stat.h", "line 44: DATA_RACE: data_race without comment"),
    ]


def test_an_exception_for_what_is_not_found_is_a_failure() -> None:
    """Each of its kinds must be found in one of its files."""
    found = {**FOUND, "mm/unmap/run.c": FOUND["mm/unmap/run.c"][:1]}
    assert failures(found, ALLOWED) == [
        ("exception for mm/unmap/*.c", "no longer found: LONG_LINE")
    ]
    assert failures({}, ALLOWED[:1]) == [
        ("exception for mm/unmap/flush.h", "no longer found: DATA_RACE")
    ]


def test_the_exceptions_are_for_files_that_there_are() -> None:
    paths = checkpatch.paths()
    assert {"mm/unmap/run.c", "include/linux/unmap.h"} <= set(paths)
    for exception in checkpatch.exceptions(NEWER):
        assert [path for path in paths if fnmatch(path, exception.files)], exception.files
        assert exception.kinds
        assert exception.reason


def test_what_only_a_newer_script_finds_is_no_exception_for_an_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = 'files = "mm/unmap/*"\nkinds = ["SPACING"]\nreason = "for a test"\n'
    text = f'[[exception]]\n{words}[[exception]]\n{words}min = "7.3"\n'
    monkeypatch.setattr(checkpatch, "FILE", tmp_path / "some.toml")
    checkpatch.FILE.write_text(text)
    assert [each.min for each in checkpatch.exceptions(OLDER)] == [""]
    assert [each.min for each in checkpatch.exceptions(NEWER)] == ["", "7.3"]


@dataclass(frozen=True)
class StyleSetting:
    """Sources, a kernel tree with a script, and what that has read."""

    sources: Path
    tree: Path
    log: Path

    def look(self) -> tuple[StyleFindings, list[str]]:
        """What is found, and the files that are read for it."""
        self.log.write_text("")
        found = checkpatch.findings(self.tree, NAMES)
        return found, sorted(self.log.read_text().split())


@pytest.fixture
def setting(tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> StyleSetting:
    made = StyleSetting(tmp_path / "kernel", tmp_path / "linux", tmp_path / "log")
    sources = [made.sources / name for name in NAMES]
    for path in [*sources, *(made.tree / name for name in checkpatch.READ)]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("int a;\n")
    monkeypatch.setattr(checkpatch, "OVERLAY", made.sources)
    monkeypatch.setattr(checkpatch, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("LOG", str(made.log))
    fake("perl", PERL)
    return made


def test_only_what_changed_is_read_again(setting: StyleSetting) -> None:
    clean: StyleFindings = {name: [] for name in NAMES}
    assert checkpatch.paths() == NAMES
    assert setting.look() == (clean, NAMES)
    assert setting.look() == (clean, [])
    (setting.sources / NAMES[0]).write_text("volatile int a;\n")
    found = {**clean, NAMES[0]: [VOLATILE]}
    assert setting.look() == (found, NAMES[:1])
    assert setting.look() == (found, [])


def test_another_script_reads_all_files_again(setting: StyleSetting) -> None:
    setting.look()
    for name in checkpatch.READ:
        (setting.tree / name).write_text("other\n")
        assert setting.look()[1] == NAMES


@pytest.mark.parametrize(
    "body",
    [
        "echo 'syntax error at checkpatch.pl line 5.' >&2; exit 255",
        "echo 'mm/unmap/b.c: line 5 is odd'; exit 1",
        "echo 'mm/unmap/b.c: line 5 is odd'; echo 'total: 0 errors, 1 warnings, 0 checks,'; exit 1",
        "echo 'total: 0 errors, 0 warnings, 0 checks, 1 lines checked'; exit 1",
    ],
)
def test_output_that_is_not_understood_is_no_pass(
    setting: StyleSetting, fake: Fake, body: str
) -> None:
    fake("perl", body)
    with pytest.raises(CheckFailed, match=r"checkpatch.pl was not understood: "):
        setting.look()
    fake("perl", PERL)
    assert setting.look()[1] == NAMES
