# SPDX-License-Identifier: GPL-2.0-only
"""Exports: their patches make the tree that applying makes, and each refusal is one sentence."""

import datetime
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import HOOK, RULE, LayOut

from swathe import __main__
from swathe.base import paths, release
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.verdicts import Test, Verdict
from swathe.check import exported
from swathe.kernel import export, hooks, patch_series, patches, source, tree
from swathe.kernel.patches import Patch, PatchOrigin
from swathe.kernel.version import Version, of_tree

SERIES = HOOK + HOOK.replace("try_it", "should_work").replace("to try it", "others call it")
HEADER = """\
// SPDX-License-Identifier: GPL-2.0-only
/// Rename try_it().
///
/// Target:   mm/rmap.c, try_it()
/// Why here: it is the only one,
///           and small.
/// Missing:  it keeps its name.
"""
SHOWS = """
@@
type T;
@@
- static T
+ T
  should_work(...) { ... }
"""
OVERLAY = {
    "mm/unmap/Kconfig": "config UNMAP\n\tbool\n",
    "mm/unmap/evict/evict.c": "int evict;\n",
    "mm/unmap/tests/x_kunit.c": "int x; /* \N{GREEK SMALL LETTER MU}s */",
    "include/linux/unmap.h": "\n",
    "Documentation/mm/unmap.rst": "Text\n\fPage\n",
    "tools/testing/selftests/unmap/x.c": "",
}
NAMES = [
    "0001-unmap-core.patch",
    "0002-unmap-evict.patch",
    "0003-unmap-tests.patch",
    "0004-unmap-documentation.patch",
    "0005-unmap-selftests.patch",
    "0006-rmap__try_it.patch",
    "0007-rmap__should_work.patch",
    "0008-unmap-build.patch",
]


@pytest.fixture
def repository(lay_out: LayOut) -> Path:
    """An overlay with a file for most parts, and a series of two hooks in one file."""
    files = {f"kernel/{path}": text for path, text in OVERLAY.items()} | {
        "hooks/series": SERIES,
        "hooks/rmap__try_it.cocci": HEADER + RULE,
        "hooks/rmap__should_work.cocci": SHOWS,
    }
    return lay_out(files)


def found(where: Path) -> source.Source:
    return source.Source(where, of_tree(where), ours=False)


def verdicts(where: Path) -> dict[str, Test]:
    return {test.name: test for test in exported.trials(found(where))}


def test_both_forms_make_the_tree_of_apply(repository: Path, small_tree: Path) -> None:
    tests = verdicts(small_tree)
    assert list(tests) == [
        "export: two exports are the same",
        "export: git am on Linux 6.12.117",
        "export: patch -p1 on Linux 6.12.117",
    ]
    assert [test.detail for test in tests.values()] == ["", "", ""]


def test_the_command_writes_all_of_it(
    repository: Path, small_tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out"
    assert __main__.main(["export", str(target), "--source", str(small_tree)]) == 0
    flat = f"0001-linux-6.12.117-swathe-{release.current().version}.patch"
    assert sorted(path.name for path in target.iterdir()) == [
        flat, "README.txt", "series", "swathe.nix",
    ]  # fmt: skip
    assert sorted(path.name for path in (target / "series").iterdir()) == NAMES
    assert f"patch = ./{flat};" in (target / "swathe.nix").read_text()
    assert "UNMAP_DEFAULT_ON = lib.kernel.yes;" in (target / "swathe.nix").read_text()
    assert flat in (target / "README.txt").read_text()
    assert "8 patches for git" in capsys.readouterr().err
    left = [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert left == []


def test_a_hook_says_its_reason(repository: Path, small_tree: Path) -> None:
    wanted = tree.plan(small_tree, of_tree(small_tree))
    found = {patch.name: patch for patch in patch_series.series(wanted)}
    hook = found["rmap__try_it"]
    assert hook.subject == "mm/rmap: rename try_it()"
    assert hook.message.splitlines() == [
        "Purpose: to try it.",
        "",
        "Why here: it is the only one, and small.",
        "",
        "Without it: it keeps its name.",
        "",
        "Made by the semantic patch hooks/rmap__try_it.cocci.",
    ]
    assert found["rmap__should_work"].subject == "mm/rmap: others call it"


def test_every_added_file_is_in_one_patch() -> None:
    added = tree.overlay()
    parts = [path for part in patch_series.parted(added).values() for path in part]
    assert sorted(parts) == sorted(added)
    assert all(patch_series.parted(added).values())


def test_the_header_of_each_rule_is_read() -> None:
    for hook in hooks.load():
        fields = patch_series.header(hook.rule.read_text())
        assert fields.keys() == {"", "Target", "Why here", "Missing"}, hook.name


ORIGIN = PatchOrigin(
    release.Release("1.2", datetime.date(2027, 1, 2), (release.Author("A B", "a@b.invalid"),)),
    "1.2 (git 123)",
    "6.12.117",
    "v6.12.117",
)


def test_a_mail_is_the_same_whenever_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a hook of git, which names its own repository in the environment."""
    (tmp_path / "a").write_text("1\n2\n")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    series = [Patch(f"x{n}", "mm: x", "Because.", {"a": b"1\n%d\n" % n}) for n in range(3, 15)]
    mails = patches.mails(tmp_path, series, ORIGIN)
    assert mails == patches.mails(tmp_path, series, ORIGIN)
    mail, first = mails["0003-x5.patch"].decode(), mails["0001-x3.patch"].decode()
    assert "From: A B <a@b.invalid>\nDate: Sat, 2 Jan 2027 00:00:03 +0000\n" in mail
    assert "Subject: [PATCH 03/12] mm: x\n" in mail
    assert "Because.\n\nFrom Swathe 1.2 (git 123), for Linux 6.12.117.\n" in mail
    assert "Signed-off-by: A B <a@b.invalid>\n---\n a | 2 +-\n 1 file changed" in mail
    assert "\n@@ -1,2 +1,2 @@\n 1\n-4\n+5\n" in mail
    assert "base-commit" not in mail
    assert "base-commit: v6.12.117\n-- \nswathe 1.2\n" in first
    assert not (tmp_path / "other").exists()


def git(where: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", where, *words], env={**os.environ, **exported.GIT},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_the_base_is_a_commit_if_the_tree_has_one(small_tree: Path) -> None:
    kernel, names = of_tree(small_tree), ["mm/rmap.c"]
    assert export.base_commit(small_tree, Version.parse("6.12"), names) == "v6.12"
    assert export.base_commit(small_tree, kernel, names) == "v6.12.117"
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        git(small_tree, *words)
    assert export.base_commit(small_tree, kernel, names) == git(small_tree, "rev-parse", "HEAD")
    (small_tree / "mm/rmap.c").write_text("int local;\n")
    assert export.base_commit(small_tree, kernel, names) == "v6.12.117"


def other_release(tmp_path: Path, small_tree: Path, text: str) -> None:
    """Put an older release below build/src whose mm/rmap.c is this."""
    older = tmp_path / "src" / "linux-6.12.94"
    (older / "mm").mkdir(parents=True)
    for name in ("Makefile", "mm/Kconfig", "mm/Makefile"):
        (older / name).write_text((small_tree / name).read_text().replace("117", "94"))
    (older / "mm" / "rmap.c").write_text(text)


def on_older(where: Path) -> Test:
    """The test of the flat patch on the older release."""
    (test,) = [test for name, test in verdicts(where).items() if name.endswith("6.12.94")]
    return test


@pytest.mark.parametrize(
    ("old", "new", "said", "shown"),
    [
        ("int above_0;\n", "int above_0;\nint more;\n", "", "1   none"),
        ("int above_8;\n", "long above_8;\n", "", "mm/rmap.c (1)"),
        (
            "int flags)\n{\n\tshould", "long flags)\n{\n\tshould",
            "it rejects 1 hunk of mm/rmap.c; a patch for that release: ./swathe export DIR --s",
            "mm/rmap.c (1)",
        ),
    ],
    ids=["moved", "fuzzy", "rejected"],
)  # fmt: skip
def test_other_releases_are_tried(
    repository: Path, small_tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    old: str, new: str, said: str, shown: str,
) -> None:  # fmt: skip
    rmap = small_tree / "mm/rmap.c"
    rmap.write_text(text := "".join(f"int above_{i};\n" for i in range(9)) + rmap.read_text())
    assert old in text
    other_release(tmp_path, small_tree, text.replace(old, new))
    test = on_older(small_tree)
    assert test.verdict is (Verdict.FAILED if said else Verdict.PASSED)
    assert test.detail.startswith(said)
    assert bool(test.detail) == bool(said)
    assert shown in capsys.readouterr().out


def test_a_misplaced_hunk_is_found(repository: Path, small_tree: Path, tmp_path: Path) -> None:
    """patch is content, but hooks change another place of that release, or do not fit."""
    text = (small_tree / "mm/rmap.c").read_text()
    other_release(tmp_path, small_tree, text + text.replace("should_work", "twice"))
    assert on_older(small_tree).detail.startswith("it applies, but hook rmap__try_it does not fit")


def test_what_patch_says_is_read() -> None:
    fit = exported.read_fit(
        "patching file mm/a.c\n"
        "Hunk #1 succeeded at 12 (offset 3 lines).\n"
        "Hunk #2 succeeded at 40 with fuzz 2.\n"
        "patching file mm/b.c\n"
        "Hunk #1 FAILED at 7.\n"
        "1 out of 3 hunks FAILED -- saving rejects to file mm/b.c.rej\n"
    )
    assert (fit.moved, fit.fuzzy, fit.rejected) == (1, {"mm/a.c": 1}, {"mm/b.c": 1})


def test_differences_are_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same").write_text("x")
    assert exported.difference(tmp_path / "one", tmp_path / "two") == ""
    (tmp_path / "two" / "same").chmod(0o755)
    assert exported.difference(tmp_path / "one", tmp_path / "two") == "same differs"
    (tmp_path / "two" / "more").write_text("y")
    said = exported.difference(tmp_path / "one", tmp_path / "two")
    assert said == "more differs, and 1 other file"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: (path.mkdir(), (path / "file").touch()), "is not empty: name a new or"),
        (lambda path: path.touch(), "is a file: name a new or an empty directory"),
        (lambda path: path.parent.rmdir(), "there is no directory .*: make it first"),
    ],
    ids=["files", "file", "no-parent"],
)
def test_a_directory_that_cannot_be_used(
    small_tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    make: Callable[[Path], object], said: str,
) -> None:  # fmt: skip
    target = tmp_path / "parent" / "out"
    target.parent.mkdir()
    make(target)
    assert __main__.main(["export", str(target), "--source", str(small_tree)]) == 2
    assert re.search(said, capsys.readouterr().err)
    if target.is_dir():
        assert [path.name for path in target.iterdir()] == ["file"]


def test_an_empty_directory_stays_the_one_that_it_was(tmp_path: Path) -> None:
    """A shell that is in it sees the files."""
    target = tmp_path / "out"
    target.mkdir()
    inode = target.stat().st_ino
    with paths.new_directory(target) as made:
        (made / "x").touch()
    assert target.stat().st_ino == inode
    assert [path.name for path in target.iterdir()] == ["x"]


@pytest.mark.parametrize("exists", [False, True])
def test_an_error_leaves_nothing(tmp_path: Path, exists: bool) -> None:
    target = tmp_path / "out"
    if exists:
        target.mkdir()
    with pytest.raises(OSError), paths.new_directory(target) as made:
        (made / "x").touch()
        raise OSError
    assert list(tmp_path.rglob("*")) == ([target] if exists else [])


def test_a_tree_that_has_swathe_is_not_exported(repository: Path, small_tree: Path) -> None:
    tree.install(small_tree, tree.plan(small_tree, of_tree(small_tree)).all)
    with pytest.raises(CheckFailed, match="already contains Swathe"):
        export.write(found(small_tree), small_tree.parent / "out")
    assert not (small_tree.parent / "out").exists()


def test_a_directory_without_linux_is_not_exported(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    argv = ["export", str(tmp_path / "out"), "--source", str(tmp_path / "empty")]
    assert __main__.main(argv) == 2
    with pytest.raises(UsageError, match="is not a Linux source tree"):
        found(tmp_path / "empty")
