# SPDX-License-Identifier: GPL-2.0-only
"""The flavor with a distribution's options, and how they are compared."""

from dataclasses import replace
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import results
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.verdicts import Verdict
from swathe.check import compared, configurations
from swathe.check.compared import ComparedEntry, Exemption
from swathe.cli import bench, test
from swathe.kernel import build, config, debian_config, source, version

ENTRY = ComparedEntry("distro", "x86_64", "debian:file", "why", ("mm", "init/Kconfig"))
EXEMPT = Exemption("no modules here", ("MODULE*",))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Kconfig files that define A, B, C and two options of modules."""
    (tmp_path / "mm" / "below").mkdir(parents=True)
    (tmp_path / "init").mkdir()
    (tmp_path / "mm" / "Kconfig").write_text('config A\n\tbool "a"\n\nmenuconfig B\n\tbool\n')
    (tmp_path / "mm" / "below" / "Kconfig.debug").write_text("  config C\n\t  int\n")
    (tmp_path / "init" / "Kconfig").write_text("config MODULES\nconfig MODULE_SIG\n")
    return tmp_path


def wrong(tree: Path, ours: str, theirs: str, entry: ComparedEntry = ENTRY) -> tuple[str, ...]:
    return compared.compare(entry, tree, config.parse(ours), config.parse(theirs)).wrong


def test_options_of_the_named_kconfig_files_are_compared(tree: Path) -> None:
    names = compared.defined(tree, ENTRY.kconfig)
    assert names == {f"CONFIG_{name}" for name in ("A", "B", "C", "MODULES", "MODULE_SIG")}
    with pytest.raises(CheckFailed, match="has no Kconfig file lib/Kconfig"):
        compared.defined(tree, ["lib/Kconfig"])


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ("CONFIG_A=y\nCONFIG_C=8192\n", "CONFIG_A=y\nCONFIG_C=8192\n", ()),
        ("CONFIG_C=8\n", "CONFIG_C=8192\n", ("CONFIG_C is 8 here and 8192 there",)),
        ("", "CONFIG_A=y\n", ("CONFIG_A is n here and y there",)),
        ("CONFIG_B=y\n", "# CONFIG_B is not set\n", ("CONFIG_B is y here and n there",)),
        ("CONFIG_B=y\n", "CONFIG_A=m\nCONFIG_B=m\n", ()),
        ("CONFIG_DRIVER=y\n", "", ()),
    ],
)
def test_another_value_is_told(tree: Path, ours: str, theirs: str, said: tuple[str, ...]) -> None:
    assert wrong(tree, ours, theirs) == said


def test_exemptions_must_exempt_something(tree: Path) -> None:
    entry = ComparedEntry("distro", "x86_64", "", "", ENTRY.kconfig, (EXEMPT,))
    theirs = "CONFIG_MODULES=y\nCONFIG_MODULE_SIG=y\n"
    found = compared.compare(entry, tree, {}, config.parse(theirs))
    assert (found.compared, found.exempt, found.wrong) == (5, 2, ())
    assert wrong(tree, "", "", entry) == ("CONFIG_MODULE* is exempt, but has the same value",)


def compare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ours: str) -> list[str]:
    """Run `test configs/distro` with a kernel and a distribution of a few options."""
    args = __main__.parser().parse_args(["test", "configs/distro"])
    request = test.request_from(args).configs
    catalogue = replace_catalogue(request.catalogue)
    got = source.Source(tmp_path, version.Version.parse("6.12.117"), ours=True)
    monkeypatch.setattr(source, "get", lambda *_: got)
    monkeypatch.setattr(build, "options", lambda *_: config.parse(ours))
    monkeypatch.setattr(debian_config, "read", lambda *_: b"CONFIG_A=y\n")
    monkeypatch.setattr(results, "HERE", tmp_path)
    found = configurations.run(replace(request, catalogue=catalogue))
    return [f"{each.verdict is Verdict.PASSED} {each.detail}" for each in found]


def replace_catalogue(
    catalogue: configurations.Configurations,
) -> configurations.Configurations:
    assert [item.name for item in catalogue.compared] == ["distro"]
    assert (catalogue.compiled, catalogue.booted) == ((), ())
    return configurations.Configurations(catalogue.arches, (), (), (ENTRY,))


def test_the_command_compares(
    monkeypatch: pytest.MonkeyPatch, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(monkeypatch, tree, "CONFIG_A=y\n") == ["True "]
    assert "5 of 5 options are the same" in " ".join(capsys.readouterr().out.split())
    assert compare(monkeypatch, tree, "") == ["False CONFIG_A is n here and y there"]


def test_the_catalogue_names_a_flavor_that_there_is() -> None:
    text = configurations.FILE.read_text()
    assert [entry.name for entry in configurations.parse(text).compared] == ["distro"]
    with pytest.raises(CheckFailed, match="there is no flavor district"):
        configurations.parse(text.replace('name = "distro"', 'name = "district"'))


def test_the_flavor_is_bench_with_the_distributions_options() -> None:
    fragments = config.Flavor("distro", "x86_64", False).fragments()
    assert [path.stem for path in fragments] == ["base", "x86_64", "bench", "distro", "swathe"]
    asked = config.request(fragments)
    on = ("LRU_GEN_ENABLED", "MEM_SOFT_DIRTY", "PSI", "INIT_ON_ALLOC_DEFAULT_ON", "XEN_PV",
          "MITIGATION_PAGE_TABLE_ISOLATION", "PREEMPT_DYNAMIC", "HARDENED_USERCOPY")  # fmt: skip
    assert {asked[f"CONFIG_{name}"] for name in on} == {"y"}
    assert asked["CONFIG_NR_CPUS"] == "8192"
    # What the guest needs is still built in.
    assert {asked[f"CONFIG_{name}"] for name in ("ZRAM", "XFS_FS", "VIRTIO_MMIO")} == {"y"}


def test_another_architecture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "build", lambda _: pytest.fail("a kernel was built"))
    for words in (["bench"], ["build"], ["run"], ["profile"]):
        rest = {"run": ["/bin/true"], "profile": ["zap", "64K"]}.get(words[0], [])
        argv = [*words, "--flavor", "distro", "--arch", "arm64", *rest]
        assert __main__.main(argv) == UsageError.status


def test_goals_are_for_the_lean_kernel() -> None:
    def judged(words: list[str]) -> bool:
        args = __main__.parser().parse_args(["bench", "lazyfree", *words])
        return bench.with_goals(bench.request_from(args))

    assert judged([])
    assert judged(["--kernel", "7.3"])
    assert judged(["--kernel", "6.18", "--source", "/tree"])
    assert not judged(["--source", "/tree"])
    assert not judged(["--flavor", "distro"])
    assert not judged(["--kernel", "7.3", "--arch", "arm64"])
