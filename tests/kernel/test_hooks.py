# SPDX-License-Identifier: GPL-2.0-only
"""Series, shapes, and applying to a small tree."""

import errno
import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import HOOK, RULE, LayOut
from msgspec.structs import replace as changed

from swathe import __main__
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import OVERLAY, ROOT
from swathe.kernel import changes, hooks, source, tree
from swathe.kernel.version import Version, in_range, of_tree

STOCK = OVERLAY / "mm/unmap/Kconfig.stock"
INSERTS = """
@@
@@
try_it(...) {
<...
+ note(flags);
  should_work(flags);
...>
}
"""


@pytest.fixture
def repository(lay_out: LayOut) -> Path:
    """An overlay of one file and a series of one hook."""
    files = {
        "hooks/series": HOOK,
        "hooks/rmap__try_it.cocci": RULE,
        "kernel/mm/unmap/Kconfig": "config UNMAP\n\tbool\n",
    }
    return lay_out(files)


def fingerprint(top: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(top.rglob("*")):
        digest.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
    return digest.hexdigest()


@pytest.mark.parametrize(
    ("version", "low", "high", "inside"),
    [
        ("6.12.117", "6.12", "6.13", True),
        ("6.12", "6.12", "6.13", True),
        ("6.13", "6.12", "6.13", False),
        ("6.11.9", "6.12", "", False),
        ("7.3.4", "6.12", "", True),
        ("6.9", "6.12", "", False),
    ],
)
def test_ranges_are_half_open(version: str, low: str, high: str, inside: bool) -> None:
    assert in_range(Version.parse(version), low, high) is inside


def test_a_version_must_look_like_one() -> None:
    with pytest.raises(UsageError, match="not a kernel version"):
        Version.parse("newest")


def test_series() -> None:
    (hook,) = hooks.parse_series(HOOK)
    assert (hook.functions, hook.added, hook.max) == (("try_it",), 1, "6.13")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('why = "to try it"', "", "hook rmap__try_it: .*missing required field `why`"),
        ("fires = 1", 'fires = "1"', "hook rmap__try_it: Expected `int`, got `str` - at `.*fires`"),
        ("fires = 1", "fires 1", "not TOML"),
        ("fires = 1", "fires = 1\nfiles = 2", "hook rmap__try_it: .*unknown field `files`"),
    ],
)
def test_a_wrong_series_says_what_is_wrong(old: str, new: str, said: str) -> None:
    with pytest.raises(CheckFailed, match=said):
        hooks.parse_series(HOOK.replace(old, new))


@pytest.mark.parametrize("kernel", ["5.10.0", "6.15.2", "7.2.12", "7.4.0"])
def test_no_hook_for_this_kernel(kernel: str) -> None:
    """A hook without a range is for the known kernels, not for those before, between or after."""
    with pytest.raises(CheckFailed, match=f"no hook .* Linux {re.escape(kernel)}"):
        hooks.fitting(hooks.load(), Version.parse(kernel))


def test_each_kernel_has_its_own_of_a_pair() -> None:
    """NAME is for 6.12, NAME_7_3 for 7.3; both change the same file for the same reason."""
    found = {hook.name: hook for hook in hooks.load()}
    twins = [name for name in found if name.endswith("_7_3")]
    assert twins
    for name in twins:
        pair = [found[name.removesuffix("_7_3")], found[name]]
        assert pair[0].file == pair[1].file
        assert hooks.fitting(pair, Version.parse("6.12.117")) == pair[:1]
        assert hooks.fitting(pair, Version.parse("7.3.4")) == pair[1:]


BEFORE = """\
#include <a.h>

static int one(int a,
		int b)
{
	return a;
}

int two(void)
{
out:
	return 2;
}
"""


def test_shape_counts_and_places() -> None:
    got = changes.compare(BEFORE, BEFORE.replace("return 2", "return 3"))
    assert (got.added, got.removed) == (1, 1)
    assert {change.function for change in got.changes} == {"two"}
    assert not got.outside(("two",))
    assert got.outside(("one",))


def test_what_moves_repeats_nothing() -> None:
    moved = BEFORE.replace("out:\n\treturn 2;\n", "\treturn 2;\nout:\n")
    got = changes.compare(BEFORE, moved)
    assert (got.added, got.removed, got.repeats(BEFORE)) == (1, 1, False)


def test_what_only_removes_repeats_nothing() -> None:
    got = changes.compare(BEFORE, BEFORE.replace("\treturn 2;\n", ""))
    assert (got.places, got.repeats(BEFORE)) == (1, False)


def test_shape_allows_includes_and_the_stock_name() -> None:
    after = BEFORE.replace("int two(", "int stock_two(").replace(
        "<a.h>\n", "<a.h>\n#include <b.h>\n"
    )
    assert not changes.compare(BEFORE, after).outside(("two",))


def test_apply(repository: Path, small_tree: Path) -> None:
    assert __main__.main(["apply", str(small_tree)]) == 0
    assert "void stock_try_it(int flags)" in (small_tree / "mm/rmap.c").read_text()
    assert (small_tree / "mm/unmap/Kconfig").is_file()
    assert 'source "mm/unmap/Kconfig"\n\nendmenu' in (small_tree / "mm/Kconfig").read_text()
    assert (small_tree / "mm/Makefile").read_text().endswith("+= unmap/\n")


def test_apply_breaks_hard_links(repository: Path, small_tree: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.c"
    os.link(small_tree / "mm/rmap.c", other)
    __main__.main(["apply", str(small_tree)])
    assert "stock_try_it" not in other.read_text()


def test_a_full_disk_leaves_the_tree_as_it_was(
    repository: Path, small_tree: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    before, written, write = fingerprint(small_tree), [], Path.write_bytes

    def fill_up(path: Path, data: bytes) -> int:
        written.append(path)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", fill_up)
    assert __main__.main(["apply", str(small_tree)]) == 3
    assert "the disk is full" in capsys.readouterr().err
    assert fingerprint(small_tree) == before


def test_half_an_application_is_named(
    repository: Path, small_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Someone took mm/unmap out, but not the hooks."""
    __main__.main(["apply", str(small_tree)])
    shutil.rmtree(small_tree / "mm/unmap")
    assert __main__.main(["apply", str(small_tree)]) == 1
    assert "already contains Swathe" in capsys.readouterr().err
    (small_tree / "mm/Kconfig").write_text('menu "Memory"\nendmenu\n')
    (small_tree / "mm/Makefile").write_text("obj-y += rmap.o\n")
    before = fingerprint(small_tree)
    assert __main__.main(["apply", str(small_tree)]) == 1
    said = capsys.readouterr().err
    assert "hook rmap__try_it does not fit mm/rmap.c of Linux 6.12.117: it changes 0" in said
    assert fingerprint(small_tree) == before


def test_a_local_change_beside_a_hook_stays(repository: Path, small_tree: Path) -> None:
    rmap = small_tree / "mm/rmap.c"
    rmap.write_text(rmap.read_text() + "\nint local;\n")
    assert __main__.main(["apply", str(small_tree)]) == 0
    assert "stock_try_it" in rmap.read_text()
    assert rmap.read_text().endswith("\nint local;\n")


def test_a_kernel_without_hooks(
    repository: Path, small_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    makefile = small_tree / "Makefile"
    makefile.write_text(makefile.read_text().replace("= 12", "= 18"))
    before = fingerprint(small_tree)
    assert __main__.main(["apply", str(small_tree)]) == 1
    assert "no hook in hooks/series is for Linux 6.18.117" in capsys.readouterr().err
    assert fingerprint(small_tree) == before


def test_a_second_application_is_refused(
    repository: Path, small_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    __main__.main(["apply", str(small_tree)])
    before = fingerprint(small_tree)
    assert __main__.main(["apply", str(small_tree)]) == 1
    assert "already contains Swathe" in capsys.readouterr().err
    assert fingerprint(small_tree) == before


def test_a_miss_is_named_and_writes_nothing(
    repository: Path, small_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rmap = small_tree / "mm/rmap.c"
    rmap.write_text(rmap.read_text().replace("try_it", "renamed"))
    before = fingerprint(small_tree)
    assert __main__.main(["apply", str(small_tree)]) == 1
    said = capsys.readouterr().err
    assert "hook rmap__try_it does not fit mm/rmap.c of Linux 6.12.117" in said
    assert "it changes 0 places in try_it instead of 1\n" in said
    assert fingerprint(small_tree) == before


@pytest.mark.parametrize(
    ("mends", "text", "mended"),
    [
        ("return", BEFORE, False),
        ("return 3", BEFORE, True),
        ("return", "", False),
        ("", BEFORE, False),
    ],
)
def test_a_bug_is_mended_where_its_function_is_without_it(
    mends: str, text: str, mended: bool
) -> None:
    """A function that is not there at all may have been renamed."""
    hook = changed(hooks.parse_series(HOOK)[0], functions=("two",), mends=mends)
    assert hooks.is_mended(hook, text) is mended


@pytest.mark.parametrize(("mends", "status", "said"), [
    ("gone(", 0, "Linux 6.12.117 has mended what rmap__try_it mends: it is left out"),
    ("try_it(", 1, "hook rmap__try_it does not fit mm/rmap.c"),
])  # fmt: skip
def test_a_hook_for_a_mended_bug_is_left_out(
    repository: Path, small_tree: Path, capsys: pytest.CaptureFixture[str],
    mends: str, status: int, said: str,
) -> None:  # fmt: skip
    """The rule does not fit in either case: only stock's text says whether it has to."""
    series = HOOK.replace("fires = 1", f'fires = 2\nmends = "{mends}"')
    (repository / "hooks/series").write_text(series)
    before = (small_tree / "mm/rmap.c").read_text()
    assert __main__.main(["apply", str(small_tree)]) == status
    assert said in "".join(capsys.readouterr())
    assert (small_tree / "mm/rmap.c").read_text() == before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("fires = 1", "fires = 2", "it changes 1 place in try_it instead of 2"),
        ("added = 1", "added = 2", "instead of 2 and 1"),
        ('functions = ["try_it"]', 'functions = ["other"]', "it changes try_it, not only other"),
    ],
)
def test_a_wrong_shape_is_a_miss(
    repository: Path, small_tree: Path, capsys: pytest.CaptureFixture[str],
    old: str, new: str, said: str,
) -> None:  # fmt: skip
    (repository / "hooks/series").write_text(HOOK.replace(old, new))
    assert __main__.main(["apply", str(small_tree)]) == 1
    assert said in capsys.readouterr().err


def test_a_rule_that_does_not_parse_is_named(
    repository: Path, small_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "hooks/rmap__try_it.cocci").write_text("@rule@\n@@\n- void (\n")
    assert __main__.main(["apply", str(small_tree)]) == 1
    said = capsys.readouterr().err
    assert "rmap__try_it.cocci is not a valid semantic patch" in said
    assert f"for spatch {hooks.spatch_version()}: " in said


def test_a_spatch_that_fails_is_named_with_its_version(
    repository: Path, small_tree: Path, capsys: pytest.CaptureFixture[str],
    fake: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    odd = "echo 'spatch version 9.9 compiled'; [[ $* != *sp-file* ]] || { echo odd; exit 2; }"
    fake("spatch", odd)
    monkeypatch.setattr(hooks, "spatch_version", hooks.spatch_version.__wrapped__)
    assert __main__.main(["apply", str(small_tree)]) == 1
    said = capsys.readouterr().err
    assert "hook rmap__try_it does not fit mm/rmap.c of Linux 6.12.117: odd\n" in said
    assert "rule: hooks/rmap__try_it.cocci; spatch 9.9\n" in said


CALL = "\tshould_work(flags);\n"
NOTED = "\tnote(flags);\n" + CALL


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ("", "it changes 0 places in try_it instead of 1"),
        (CALL + "\tflags++;\n" + CALL, "it changes 2 places in try_it instead of 1"),
        (NOTED, "try_it already contains the lines that it adds: it was applied before"),
    ],
)
def test_matches_are_counted(repository: Path, small_tree: Path, calls: str, said: str) -> None:
    (repository / "hooks/rmap__try_it.cocci").write_text(INSERTS)
    (hook,) = hooks.parse_series(HOOK.replace("removed = 1", "removed = 0"))
    text, kernel = (small_tree / "mm/rmap.c").read_text(), Version.parse("6.12.117")
    assert hooks.apply_one(hook, text, kernel) == text.replace(CALL, NOTED)
    with pytest.raises(hooks.HookMissed, match=f"rmap__try_it does not fit mm/rmap.c .*{said}"):
        hooks.apply_one(hook, text.replace(CALL, calls), kernel)


def test_kernels_differ_in_compat_headers_alone() -> None:
    """No file asks for a version; headers at the border ask what a kernel has."""
    sources = [path for path in (ROOT / "kernel").rglob("*") if path.suffix in (".c", ".h")]
    texts = {path.name: path.read_text() for path in sources}
    assert [name for name in texts if re.search(r"LINUX_VERSION|KERNEL_VERSION", texts[name])] == []
    asking = {name for name in texts if "CONFIG_UNMAP_STOCK_" in texts[name]}
    assert "unmap_compat.h" in asking
    border = re.compile(r"unmap(_\w+)?\.h|compat(_\w+)?\.h")
    assert [name for name in asking if not border.fullmatch(name)] == []


def test_what_a_kernel_has_is_detected_once_and_asked_for() -> None:
    known = set(re.findall(r"^config (UNMAP_STOCK_\w+)", STOCK.read_text(), re.MULTILINE))
    sources = [path for path in (ROOT / "kernel").rglob("*") if path.suffix in (".c", ".h")]
    asked = {
        name
        for path in sources
        for name in re.findall(r"CONFIG_(UNMAP_STOCK_\w+)", path.read_text())
    }
    assert asked == known


@pytest.mark.parametrize("hook", hooks.load(), ids=lambda hook: hook.name)
def test_rules_use_what_every_spatch_has(hook: hooks.Hook) -> None:
    """Scripting is a build option of spatch, and so is the syntax of regular expressions."""
    rule = hook.rule.read_text()
    assert "@script:" not in rule
    assert "=~" not in rule


@pytest.mark.parametrize("option", ["--diff", "--check"])
def test_looking_writes_nothing(
    repository: Path, small_tree: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    before = fingerprint(small_tree)
    assert __main__.main(["apply", option, str(small_tree)]) == 0
    assert fingerprint(small_tree) == before
    shown = capsys.readouterr().out
    assert ("+void stock_try_it" in shown) is (option == "--diff")
    assert "kernel/" not in shown
    if shown:
        argv = ["patch", "-p1", "-d", str(small_tree)]
        subprocess.run(argv, input=shown, text=True, check=True, capture_output=True)
        assert "stock_try_it" in (small_tree / "mm/rmap.c").read_text()
        assert fingerprint(small_tree) != before


def test_a_directory_that_is_no_kernel(tmp_path: Path) -> None:
    assert __main__.main(["apply", str(tmp_path)]) == 2


def prepare(small_tree: Path) -> tree.Prepared:
    return tree.prepare(source.Source(small_tree, of_tree(small_tree), ours=False))


def test_prepare_leaves_the_source_alone(repository: Path, small_tree: Path) -> None:
    before = fingerprint(small_tree)
    made = prepare(small_tree)
    assert "stock_try_it" in (made.path / "mm/rmap.c").read_text()
    assert fingerprint(small_tree) == before


@pytest.mark.parametrize("command", ["apply", "export"])
def test_an_interrupt_leaves_all_or_nothing(
    repository: Path, small_tree: Path, tmp_path: Path, command: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """It comes with the first file: all of them are written before it ends the command."""
    target = small_tree if command == "apply" else tmp_path / "out"
    argv = [str(target)] if command == "apply" else [str(target), "--source", str(small_tree)]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    target.mkdir(exist_ok=True)
    renamed, rename = [], Path.rename

    def interrupted(path: Path, to: Path) -> Path:
        if to.is_relative_to(target) and "/." not in str(to):
            renamed.append(to)
            signal.raise_signal(signal.SIGINT)
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", interrupted)
    assert __main__.main([command, *argv]) == 130
    assert len(renamed) >= 3
    assert not [path for path in renamed if not path.exists()]


def test_prepare_writes_only_what_differs(repository: Path, small_tree: Path) -> None:
    made = prepare(small_tree)
    when = (made.path / "mm/rmap.c").stat().st_mtime_ns
    assert prepare(small_tree) == made
    assert (made.path / "mm/rmap.c").stat().st_mtime_ns == when


def test_prepare_follows_overlay_and_source(repository: Path, small_tree: Path) -> None:
    extra = repository / "kernel/mm/unmap/run.c"
    extra.write_text("int x;\n")
    first = prepare(small_tree)
    extra.unlink()
    (small_tree / "mm/new.c").write_text("int y;\n")
    second = prepare(small_tree)
    assert not (second.path / "mm/unmap/run.c").exists()
    assert (second.path / "mm/new.c").is_file()
    assert second.stamp != first.stamp


@pytest.mark.parametrize("ours", [False, True])
def test_make_sees_that_a_hook_was_taken_out(
    repository: Path, small_tree: Path, ours: bool
) -> None:
    found = source.Source(small_tree, of_tree(small_tree), ours)
    os.utime(small_tree / "mm/rmap.c", (1000, 1000))
    hooked = tree.prepare(found).path / "mm/rmap.c"
    os.utime(hooked, (1000, 1000))
    built = 2000
    for _ in range(2):
        made = tree.prepare(found, "rmap__try_it")
        assert (made.path / "mm/rmap.c").read_text() == (small_tree / "mm/rmap.c").read_text()
        assert (made.path / "mm/rmap.c").stat().st_mtime > built
    tree.prepare(found)
    assert "stock_try_it" in (made.path / "mm/rmap.c").read_text()


def test_a_tree_built_in_place_is_refused(repository: Path, small_tree: Path) -> None:
    (small_tree / ".config").write_text("")
    with pytest.raises(UsageError, match="make mrproper"):
        prepare(small_tree)
