# SPDX-License-Identifier: GPL-2.0-only
"""Configurations: which are chosen, how they are made, what in a log is a warning of ours."""

import json
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from swathe.__main__ import parser
from swathe.base import process, release, results
from swathe.base.errors import CheckFailed, UsageError, VmLost
from swathe.base.verdicts import Test, Verdict
from swathe.check import compile_warnings, configurations, rotation, selftest_guests, selftests
from swathe.check.compile_warnings import Compilation, Cross
from swathe.check.configurations import CompiledEntry, ConfigurationRow, Configurations, Variant
from swathe.cli import test, test_parts
from swathe.kernel import apt, build, config, debian_config, hooks, source, tree, version
from swathe.kernel.arch import ARM64

NATIVE = Cross((), (), "amd64")
TREE = Path("/t/6.12")
FOUND = source.Source(TREE, version.Version.parse("6.12.117"), ours=True)
HOOKS = [
    changed(hooks.load()[0], name="a", file="mm/memory.c", functions=("zap_pmd_range",)),
    changed(hooks.load()[0], name="b", file="mm/userfaultfd.c", functions=("move_pages",)),
    changed(hooks.load()[0], name="c", file="mm/internal.h", functions=("#include",)),
]
MAKEFILE = (
    "mmu-$(CONFIG_MMU) := highmem.o memory.o \\\n  mlock.o\n"
    "obj-$(CONFIG_SWAP) += page_io.o swap_state.o\n"
    "obj-$(CONFIG_USERFAULTFD) += userfaultfd.o\n"
)


def request(names: list[str]) -> test_parts.TestRequest:
    return test.request_from(parser().parse_args(["test", *names]))


def chosen(names: list[str]) -> tuple[list[str], list[str]]:
    found = request(names).configs.catalogue
    return [item.name for item in found.compiled], [item.name for item in found.booted]


def test_the_file_is_as_it_should_be() -> None:
    catalogue = configurations.load()
    assert {"amd64", "cloud-amd64", "rt-amd64", "arm64"} <= {e.name for e in catalogue.compiled}
    # "light" checks less than the debug kernel: it is for volume. "inet" is for a bug of stock.
    others = set(config.variants()) - {"light", "inet", "mglru"}
    assert {item.name for item in catalogue.booted} == others
    for item in catalogue.booted:
        assert set(item.programs or ()) <= set(selftests.names()), item.name
    for entry in catalogue.compiled:
        cross = catalogue.arches[entry.arch]
        assert cross.debian or not entry.start.startswith(compile_warnings.DEBIAN), entry.name
        assert cross.compiler.endswith("gcc")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('[[booted]]\nname = "nobody"\nwhy = ""\n', "configs/variants has no nobody"),
        ('[[booted]]\nname = "up"\nwhy = ""\n' * 2, "'up' is taken"),
        ('[[compiled]]\nname = "a"\narch = "z80"\nstart = "x"\nwhy = ""\n', "no such arch"),
    ],
)
def test_mistakes_in_the_file(wrong: str, said: str) -> None:
    rest = "".join(f"{key} = []\n" for key in ("compiled", "booted") if f"[{key}]" not in wrong)
    with pytest.raises(CheckFailed, match=said):
        configurations.parse(f"{rest}[arch.x]\nmake = []\npackages = []\n{wrong}")
    with pytest.raises(CheckFailed, match="unknown field `hwy`"):
        configurations.parse('compiled = []\n[arch]\n[[booted]]\nname = "up"\nhwy = ""\n')


def test_names_choose() -> None:
    assert chosen(["configs/arm64", "configs/up"]) == (["arm64"], ["up"])
    everything = configurations.load()
    assert chosen(["configs"])[0] == [entry.name for entry in everything.compiled]
    assert chosen(["configs/booted"]) == ([], [item.name for item in everything.booted])
    assert chosen([]) == ([], [])
    with pytest.raises(UsageError, match="configs/arm64"):
        request(["configs/z80"])


def test_ci_is_what_seldom_finds_anything_besides() -> None:
    usual, ci = request([]), request(["ci"])
    assert ci.guest == replace(usual.guest, on_only=True)
    besides = {part.name for part in test_parts.of(ci)} - {
        part.name for part in test_parts.of(usual)
    }
    assert besides == {
        "export", "model", "seeded", "race", "newest", "arm64",
        rotation.one_of(test_parts.IN_TURN, ci.commit),
    }  # fmt: skip
    assert not ci.configs.wanted


def test_a_variant_is_the_last_fragment_and_has_a_directory_of_its_own() -> None:
    names = [path.name for path in config.Flavor("debug", "x86_64", False, "up").fragments()]
    assert names[-1] == "up.config"
    wanted = build.KernelRequest(flavor="debug", variant="up")
    assert build.out_directory("6.12.117", wanted).name == "6.12.117-debug-x86_64-up"
    assert request(["--variant", "up"]).guest.kernel.variant == "up"


def test_five_levels_are_booted_where_there_is_no_kasan() -> None:
    usual = request([]).guest
    five = replace(usual, kernel=replace(usual.kernel, variant=selftests.FIVE_LEVELS))
    assert selftests.FIVE_LEVELS in config.variants()
    assert "no5lvl" in usual.words.split()
    assert five.words.split() == [word for word in usual.words.split() if word != "no5lvl"]
    fragments = config.Flavor("debug", "x86_64", False, selftests.FIVE_LEVELS).fragments()
    assert config.request(fragments)["CONFIG_KASAN"] == "n"


def test_with_tables_and_without() -> None:
    entry = CompiledEntry("a", "x", "defconfig", "why", ("CONFIG_A=y",), "both", ("mm/",))
    on, off = configurations.jobs(entry, NATIVE)
    assert (on.label, off.label) == ("a", "a, no tables")
    assert on.directory != off.directory
    assert "CONFIG_UNMAP_TABLES=y\n" in on.fragment()
    assert "# CONFIG_UNMAP_TABLES is not set\n" in off.fragment()
    assert "CONFIG_EXPERT=y" in off.fragment()
    (alone,) = configurations.jobs(changed(entry, tables=""), NATIVE)
    assert "UNMAP_TABLES" not in alone.fragment()
    assert {"CONFIG_UNMAP=y", "CONFIG_A=y"} <= set(alone.fragment().splitlines())
    without = replace(alone, options=("# CONFIG_UNMAP is not set",))
    assert "CONFIG_UNMAP=y" not in without.fragment()


def test_what_is_compiled() -> None:
    job = Compilation("a", NATIVE, "defconfig", targets=("mm/x.o",))
    options = {"CONFIG_UNMAP": "y", "CONFIG_MMU": "y"}
    assert compile_warnings.targets(job, HOOKS, MAKEFILE, options) == [
        "mm/unmap/",
        "mm/memory.o",
        "mm/x.o",
    ]
    arm = changed(HOOKS[0], file="arch/arm64/mm/hugetlbpage.c")
    for on in ("n", "y"):
        made = compile_warnings.targets(job, [arm], MAKEFILE, options | {"CONFIG_ARM64": on})
        assert ("arch/arm64/mm/hugetlbpage.o" in made) is (on == "y")
    options |= {"CONFIG_UNMAP": "n", "CONFIG_USERFAULTFD": "y"}
    assert compile_warnings.targets(job, HOOKS, MAKEFILE, options) == [
        "mm/memory.o", "mm/userfaultfd.o", "mm/x.o",
    ]  # fmt: skip


def test_what_is_a_warning_of_ours(data: Callable[[str], str]) -> None:
    found = compile_warnings.read(data("compiled.log"), TREE, HOOKS)
    assert [line[:44] for line in found] == [
        "mm/unmap/table.c:12:3: warning: unused varia",
        "include/linux/unmap.h:7:9: error: implicit d",
        "include/linux/unmap_mark.h:8:9: warning: unu",
        "include/trace/events/unmap.h:9:9: warning: u",
        "mm/memory.c:4:1: warning: 'stock_zap_pmd_ran",
        "mm/memory.c:9:1: warning: suggest braces aro",
        "mm/unmap/run.c:30: warning: Function paramet",
        "mm/memory.o: warning: objtool: zap_pmd_range",
        "mm/unmap/Kconfig:30:warning: defaults for ch",
    ]
    assert not [line for line in found if str(TREE) in line]


class Make:
    """A stand-in: what it prints, and whether it fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.text, self.status = "", 0
        self.calls: list[list[str]] = []
        monkeypatch.setattr(process, "stream", self)

    def __call__(self, argv: list[str], log: Path, *_: object) -> int:
        self.calls.append(argv)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(self.text)
        return self.status


def test_until_there_is_no_warning_all_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, out = Make(monkeypatch), tmp_path / "out"
    kept = [out / "mm/memory.o", out / "mm/unmap/run.o"]

    def again() -> list[str]:
        for path in kept:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return compile_warnings.make_objects(["make"], TREE, out, HOOKS)

    make.text = f"{TREE}/mm/unmap/run.c:3:1: warning: unused\n"
    assert again() == ["mm/unmap/run.c:3:1: warning: unused"]
    make.text = ""
    assert again() == []
    assert not [path for path in kept if path.exists()]
    assert again() == []
    assert [path for path in kept if path.exists()] == kept
    make.status = 2
    with pytest.raises(CheckFailed, match="does not build"):
        again()
    make.status = 0
    assert again() == []
    assert not [path for path in kept if path.exists()]


def test_a_distributions_configuration_is_fetched_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[tuple[str, str]] = []

    def unpack(argv: list[str], *_: object, **__: object) -> str:
        home = Path(argv[-1]) / "usr/src/linux-config-6.12"
        home.mkdir(parents=True)
        (home / "config.arm64_none_arm64.xz").write_bytes(lzma.compress(b"CONFIG_A=y\n"))
        return ""

    def foreign(package: str, architecture: str, directory: Path) -> Path:
        fetched.append((package, architecture))
        return directory / "x.deb"

    monkeypatch.setattr(apt, "fetch_foreign", foreign)
    monkeypatch.setattr(process, "run", lambda *_, **__: process.Done(0, "amd64\n"))
    monkeypatch.setattr(process, "check", unpack)
    for _ in range(2):
        text = debian_config.read("arm64_none_arm64", "arm64", FOUND, "6.12")
        assert text == b"CONFIG_A=y\n"
    assert fetched == [("linux-config-6.12", "arm64")]
    with pytest.raises(CheckFailed, match="has no configuration nothing"):
        debian_config.read("nothing", "arm64", FOUND, "6.12")


def test_all_mirrors_serve_another_architecture() -> None:
    listing = "http://m/debian/ bookworm\nhttp://m/s/ bookworm-security\nhttp://n/ nodistro\n"
    assert apt.mirrors(listing * 2) == [
        ("http://m/debian/", "bookworm"), ("http://m/s/", "bookworm-security"),
    ]  # fmt: skip


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "HERE", tmp_path / "now")
    monkeypatch.setattr(results, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(release, "commit", lambda: "abc")
    monkeypatch.setattr(source, "get", lambda *_: FOUND)
    monkeypatch.setattr(tree, "prepare", lambda _: tree.Prepared(TREE, ""))
    return tmp_path


def test_one_that_fails_does_not_keep_the_others(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    booted: list[tuple[str, int]] = []

    def compile_in(job: Compilation, *_: object) -> list[str]:
        if job.name == "um":
            raise CheckFailed("this kernel cannot be configured with CONFIG_A=y")
        return ["mm/unmap/run.c:3: warning: unused"] if job.tables is False else []

    def guest(wanted: selftests.SelftestRequest) -> list[Test]:
        booted.append((wanted.kernel.variant, wanted.cpus))
        assert wanted.kunit
        if wanted.kernel.variant == "preempt-rt":
            raise VmLost("the VM was lost: panic; its console is in /x")
        return [Test("guest tables: a", Verdict.PASSED), Test("b", Verdict.SKIPPED, "no huge")]

    monkeypatch.setattr(compile_warnings, "compile_in", compile_in)
    monkeypatch.setattr(selftest_guests, "run", guest)
    names = [f"configs/{name}" for name in ("tiny", "um", "riscv", "up", "preempt-rt", "memcg-v1")]
    tests = configurations.run(replace(request(names).configs, keep=True))
    failed = [found.name for found in tests if found.verdict is Verdict.FAILED]
    assert failed == ["configs tiny, no tables", "configs um", "configs preempt-rt"]
    assert "configs up: guest tables: a" in [found.name for found in tests]
    assert booted == [("up", 1), ("preempt-rt", 2), ("memcg-v1", 2)]
    text = (recorded / "kept" / "configs-6.12.117.md").read_text()
    assert "| up | booted | 1 passed, 0 failed, 1 skipped | 0 |" in text
    assert "| tiny, no tables | compiled | FAILED: 1 warning | 0 |" in text
    assert "| riscv | compiled | no warning | 0 |" in text
    assert "| preempt-rt | booted | FAILED: the VM was lost: panic | 0 |" in text
    assert "preempt-rt" in capsys.readouterr().out


def test_a_variant_of_another_architecture_is_booted_there() -> None:
    usual = request(["configs/booted"]).configs.guest
    variant = Variant("pages-16k", "why", arch="arm64", programs=("swap",))
    there = configurations.guest(usual, variant)
    assert (there.kernel.arch, there.kernel.variant) == ("arm64", "pages-16k")
    assert there.kunit and there.programs == ("swap",)
    assert there.timeout == usual.timeout * ARM64.patience
    same = configurations.guest(usual, Variant("up", "why", cpus=1))
    assert (same.kernel.arch, same.cpus) == (usual.kernel.arch, 1)
    assert (same.programs, same.timeout) == (usual.programs, usual.timeout)


def test_a_variant_that_a_kernel_cannot_have_is_not_booted(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = replace(FOUND, version=version.Version.parse("7.3.4"))
    monkeypatch.setattr(source, "get", lambda *_: new)
    monkeypatch.setattr(selftest_guests, "run", lambda _: [Test("a", Verdict.PASSED)])
    names = ["configs/no-paravirt", "configs/up"]
    found = configurations.run(request(names).configs)
    skipped = Test(
        "configs no-paravirt", Verdict.SKIPPED, "Linux 7.3.4 cannot be configured like this"
    )
    assert found == [Test("configs up: a", Verdict.PASSED), skipped]
    monkeypatch.setattr(source, "get", lambda *_: FOUND)
    assert len(configurations.run(request(names).configs)) == 2
    assert skipped not in configurations.run(request(names).configs)


def test_what_was_not_tried_stays_as_it_was(recorded: Path) -> None:
    old = ConfigurationRow("up", "booted", "no SMP", True, "9 passed", 3, "old")
    gone = replace(old, name="no-such-one")
    configurations.record("6.12.117", [old, gone], keep=False)
    configurations.record("6.12.117", [replace(old, name="um", kind="compiled")], keep=False)
    kept = json.loads((recorded / "now" / "configs-6.12.117.json").read_text())
    assert [row["name"] for row in kept] == ["um", "up"]
    assert not (recorded / "kept").exists()


def test_the_catalogue_of_one_variant_boots_no_other() -> None:
    only = Configurations({}, (), (Variant("up", "no SMP", 1),))
    assert only.chosen(["configs/up"]) == only
    assert only.chosen(["configs/compiled"]).booted == ()
