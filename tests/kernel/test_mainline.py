# SPDX-License-Identifier: GPL-2.0-only
"""Patches for mainline: what is written, what refuses them, and that all are described."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import HOOK, RULE, LayOut

from swathe import __main__
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import MAINLINE, ROOT, SCENES
from swathe.base.verdicts import Verdict
from swathe.check import corrections, exported
from swathe.cli import arguments
from swathe.kernel import mainline, source
from swathe.kernel.build import KernelRequest
from swathe.kernel.version import of_tree
from swathe.kselftests import builds
from swathe.measure import instructions

SERIES = """
kernel = "6.12"

[[patch]]
name = "try-harder"
row = "A1"
file = "mm/rmap.c"
functions = ["try_it"]
fires = 1
added = 4
removed = 1
subject = "mm/rmap: try harder"
message = '''
It works.

But not always.
'''
fixes = ['123456789abc ("mm: try")']
note = "Found by reading."
scene = "by reading"

[[patch]]
name = "work"
row = "A2"
file = "mm/rmap.c"
functions = ["should_work"]
fires = 1
added = 1
removed = 1
subject = "mm/rmap: work"
message = "It does not work."
scene = "by reading"
"""
OF_B = """
[[patch]]
name = "work-twice"
row = "B1"
file = "mm/rmap.c"
functions = ["should_work"]
fires = 1
added = 1
removed = 1
needs = ["work"]
subject = "mm: work twice"
message = "Once does not do."
scene = "bench zap"

[[patch.part]]
name = "work-twice-zap"
file = "mm/zap.c"
functions = ["zap"]
fires = 1
added = 1
removed = 1
"""
TWICE = """
@@
@@
should_work(...) {
<...
- !flags
+ !!flags
...>
}
"""
ZAP = """
@@
@@
zap(...) {
- work();
+	work_twice();
}
"""
HARDER = """
@@
@@
try_it(...) {
<...
- should_work(flags);
+	/* Not too often. */
+	if (!should_work(flags) &&
+	    flags)
+		should_work(flags);
...>
}
"""
WORK = """
@@
@@
should_work(...) {
<...
- return flags;
+ return !flags;
...>
}
"""


@pytest.fixture
def repository(lay_out: LayOut, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = lay_out({
        "hooks/series": HOOK,
        "hooks/rmap__try_it.cocci": RULE,
        "mainline/series": SERIES,
        "mainline/try-harder.cocci": HARDER,
        "mainline/work.cocci": WORK,
    })  # fmt: skip
    monkeypatch.setattr(mainline, "MAINLINE", top / "mainline")
    monkeypatch.setattr(mainline, "SERIES", top / "mainline" / "series")
    return top


Export = Callable[[], int]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def write(repository: Path, small_tree: Path, out: Path) -> Export:
    """Export; return the status."""
    argv = ["export", "--mainline", str(out), "--source", str(small_tree)]
    return lambda: __main__.main(argv)


def test_mails_are_written(write: Export, out: Path) -> None:
    assert write() == 0
    assert sorted(path.name for path in out.iterdir()) == ["README.txt", "a"]
    names = ["0001-try-harder.patch", "0002-work.patch"]
    assert sorted(path.name for path in (out / "a").iterdir()) == names
    mail = (out / "a" / names[0]).read_text()
    assert "Subject: [PATCH 1/2] mm/rmap: try harder\n\nIt works.\n\nBut not always.\n" in mail
    assert '\n\nFixes: 123456789abc ("mm: try")\nSigned-off-by: ' in mail
    assert "\n---\nFound by reading.\n---\n mm/rmap.c |" in mail
    assert "+\tif (!should_work(flags) &&\n+\t    flags)\n" in mail
    assert corrections.forbidden(mail) == ""
    readme = (out / "README.txt").read_text()
    assert "a/0002-work.patch\n    mm/rmap: work\n    shown: by reading\n" in readme


def verdicts(where: Path, count: int = 6) -> dict[str, str]:
    """What failed of the checks that need no kernel source."""
    found = source.Source(where, of_tree(where), ours=False)
    tests = [test for test in corrections.trials(found) if not test.name.endswith("in style")]
    assert len(tests) == count
    return {test.name: test.detail for test in tests if test.verdict is not Verdict.PASSED}


def test_mails_apply_alone_and_in_order(repository: Path, small_tree: Path) -> None:
    assert verdicts(small_tree) == {}


@pytest.fixture
def second_series(repository: Path, small_tree: Path) -> Path:
    """Add a series b, whose patch changes two files and needs one of series a."""
    (repository / "mainline/series").write_text(SERIES + OF_B)
    (repository / "mainline/work-twice.cocci").write_text(TWICE)
    (repository / "mainline/work-twice-zap.cocci").write_text(ZAP)
    (small_tree / "mm/zap.c").write_text("void zap(void)\n{\n\twork();\n}\n")
    return small_tree


def test_a_series_has_what_it_needs_of_another(
    second_series: Path, write: Export, out: Path
) -> None:
    assert write() == 0
    names = ["0001-work.patch", "0002-work-twice.patch"]
    assert sorted(path.name for path in (out / "b").iterdir()) == names
    mail = (out / "b" / names[1]).read_text()
    assert "-\treturn !flags;\n+\treturn !!flags;\n" in mail
    assert "-\twork();\n+\twork_twice();\n" in mail
    assert "b/0002-work-twice.patch\n    mm: work twice\n" in (out / "README.txt").read_text()


def test_a_patch_applies_with_what_it_needs(second_series: Path) -> None:
    assert verdicts(second_series, 9) == {}


def test_a_need_that_is_not_declared_is_found(repository: Path, second_series: Path) -> None:
    series = repository / "mainline/series"
    series.write_text(series.read_text().replace('needs = ["work"]\n', ""))
    with pytest.raises(CheckFailed, match="patch work-twice does not fit"):
        verdicts(second_series, 9)


def test_a_patch_that_needs_another_is_found(repository: Path, small_tree: Path) -> None:
    rule = HARDER.replace("- should_work(flags);", "  if (!should_work(flags) && flags)")
    rule = re.sub(r"(?m)^\+.*\n", "", rule).replace(
        "flags)\n", "flags)\n- \tshould_work(flags);\n+ \tshould_work(0);\n"
    )
    (repository / "mainline/work.cocci").write_text(rule)
    series = SERIES.replace('functions = ["should_work"]', 'functions = ["try_it"]')
    (repository / "mainline/series").write_text(series)
    failed = verdicts(small_tree)
    assert failed.keys() == {"mainline: work applies alone"}
    assert failed.popitem()[1].startswith("patch work does not fit mm/rmap.c of Linux 6.12.117: ")


def test_a_mail_that_speaks_of_the_option_fails(repository: Path, small_tree: Path) -> None:
    rule = HARDER.replace("&&\n+\t    flags", "&&\n+\t    IS_ENABLED(CONFIG_UNMAP)")
    (repository / "mainline/try-harder.cocci").write_text(rule)
    failed = verdicts(small_tree)
    assert failed == {"mainline: try-harder in words": "it says CONFIG_UNMAP"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("From: Swathe <a@b>\nSigned-off-by: Swathe <a@b>\nstatic int unhook(void)\n", ""),
        ("Made by Swathe.", "it says Swathe"),
        ("see the hook there", "it says hook"),
        ("hooks/memory__finish_fault__unlocked.cocci", "it says hooks"),
        ("as memory__finish_fault__unlocked", "it says memory__finish_fault__unlocked"),
        ("#include <linux/unmap.h>", "it says linux/unmap"),
    ],
)
def test_words(text: str, said: str) -> None:
    assert corrections.forbidden(text) == said


@pytest.mark.parametrize("exists", [False, True])
def test_a_semantic_patch_that_does_not_fit_writes_nothing(
    write: Export, small_tree: Path, out: Path, capsys: pytest.CaptureFixture[str], exists: bool
) -> None:
    if exists:
        out.mkdir()
    rmap = small_tree / "mm/rmap.c"
    rmap.write_text(rmap.read_text().replace("return flags", "return flags + 1"))
    assert write() == 1
    said = "patch work does not fit mm/rmap.c of Linux 6.12.117: it changes 0 places in should_work"
    assert said in re.sub(r"\s+", " ", capsys.readouterr().err)
    assert out.exists() is exists
    assert not exists or not list(out.iterdir())
    assert not list(out.parent.glob(".out.*"))


def test_another_kernel_is_refused(
    write: Export, repository: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "mainline/series").write_text(SERIES.replace("6.12", "7.3"))
    assert write() == 2
    assert "mainline/series is for Linux 7.3, not 6.12.117" in capsys.readouterr().err
    assert not out.exists()


def test_style_is_what_the_script_says(
    fake: Callable[[str, str], Path], small_tree: Path, tmp_path: Path
) -> None:
    found = source.Source(small_tree, of_tree(small_tree), ours=False)
    mail = tmp_path / "x.patch"
    fake("perl", 'echo "x.patch:7: CHECK:BRACES: braces"; exit 1')
    assert corrections.unclean(found, mail) == "line 7: BRACES: braces"
    fake("perl", "echo broken; exit 2")
    assert corrections.unclean(found, mail) == "broken"
    fake("perl", 'echo "total: 0 errors, 0 warnings, 0 checks, 9 lines checked"')
    assert corrections.unclean(found, mail) == ""


def test_every_rule_is_in_the_series() -> None:
    series = mainline.load()
    names = [part.name for patch in series.patch for part in patch.parts]
    assert sorted(names) == sorted(path.stem for path in MAINLINE.glob("*.cocci"))


def test_every_patch_says_what_a_maintainer_asks() -> None:
    for patch in mainline.load().patch:
        assert len(patch.subject) <= 72, patch.name
        assert patch.fixes or "No Fixes tag" in patch.note or patch.letter != "a", patch.name
        assert len(patch.commit_message) > 200, patch.name
        for commit in patch.fixes:
            assert re.fullmatch(r'[0-9a-f]{12} \(".+"\)', commit), patch.name


def test_every_patch_says_what_shows_its_bug() -> None:
    scenes = {path.stem for path in SCENES.glob("*.toml")}
    for patch in mainline.load().patch:
        assert " " in patch.scene or patch.scene in scenes, patch.name
        assert ("not seen" in patch.note) == (patch.scene == mainline.BY_READING), patch.name


def test_the_page_has_every_patch_in_its_row() -> None:
    page = (ROOT / "docs/upstream.md").read_text()
    rows = [line for line in page.splitlines() if re.match(r"\| [A-Z]\d", line)]
    for patch in mainline.load().patch:
        added, removed = (sum(getattr(part, key) for part in patch.parts)
                          for key in ("added", "removed"))  # fmt: skip
        said = f"`{patch.name}` +{added} −{removed}"
        (row,) = [line for line in rows if line.startswith(f"| {patch.row} |")]
        assert re.search(rf"{re.escape(said)}[, ]", row), f"{patch.row}: {said}"
        if " " not in patch.scene:
            assert f"scene `{patch.scene}`" in row, patch.name


def test_git_takes_the_mails(write: Export, out: Path, small_tree: Path) -> None:
    assert write() == 0
    mails = sorted(map(str, out.glob("a/*.patch")))
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"], ["am", "-q", *mails]):
        subprocess.run(["git", *words], cwd=small_tree, env=exported.GIT, check=True)
    log = subprocess.run(
        ["git", "log", "-1", "--skip=1", "--format=%B"], cwd=small_tree, env=exported.GIT,
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "Found by reading" not in log.stdout


def test_every_patch_has_source_files_that_are_compiled() -> None:
    for patch in mainline.load().patch:
        assert patch.objects or patch.selftest, patch.name
        assert all(path.endswith(".c") for path in patch.objects), patch.name


def test_a_tree_with_patches(repository: Path, small_tree: Path) -> None:
    found = source.Source(small_tree, of_tree(small_tree), ours=False)
    with_one = mainline.prepare(found, ["work"])
    assert "return !flags" in (with_one.path / "mm/rmap.c").read_text()
    assert "Not too often" not in (with_one.path / "mm/rmap.c").read_text()
    with_all = mainline.prepare(found, ["a"])
    assert with_all.path == with_one.path != small_tree
    assert with_all.stamp != with_one.stamp
    assert "Not too often" in (with_all.path / "mm/rmap.c").read_text()
    assert "return flags" in (small_tree / "mm/rmap.c").read_text()


def test_patches_are_chosen_by_name_and_by_series(second_series: Path) -> None:
    def names(*words: str) -> list[str]:
        return [patch.name for patch in mainline.chosen(words)]

    assert names("a") == ["try-harder", "work"]
    assert names("work-twice") == names("b") == ["work", "work-twice"]
    assert names() == []
    with pytest.raises(UsageError, match=r"no patch 'c'; there are a, b, try-harder"):
        mainline.chosen(["c"])


@pytest.mark.parametrize(
    ("words", "status"),
    [(["--patches", "nothing"], 2), (["--patches", "work", "--mutants"], 2)],
)
def test_odd_patches_are_refused(repository: Path, words: list[str], status: int) -> None:
    assert __main__.main(["race", "uffd_copy", "--kernel", "7.3", *words]) == status


def test_figures_are_compared_with_a_series(second_series: Path) -> None:
    ours = KernelRequest("7.3")
    assert arguments.others() == ("pristine", "a", "b", "7.3")
    found = instructions.other_kernel(ours, "b")
    assert (found.pristine, found.patches) == (True, ("b",))
    assert instructions.other_kernel(ours, "pristine").patches == ()


def test_patches_of_selftests_say_what_their_cases_show() -> None:
    every = mainline.load().patch
    names = [patch.name for patch in every]
    for patch in every:
        own = patch.file.startswith(str(builds.SELFTESTS))
        assert own == bool(patch.selftest) == patch.subject.startswith("selftests/"), patch.name
        if patch.selftest:
            assert patch.selftest.cases and not patch.objects
            before = names[: names.index(patch.name)]
            assert set(patch.selftest.shows) <= set(before), patch.name
