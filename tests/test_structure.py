# SPDX-License-Identifier: GPL-2.0-only
"""The lab's packages: imports go one way, and a name means one thing."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter

import pytest

from swathe import __main__
from swathe.base.paths import ROOT

LAB = ROOT / "lab"
ENTRY = "swathe.__main__"
# Each package may import those before it.
LAYERS = ("base", "kernel", "guest", "measure", "check", "race", "kselftests", "reporting", "cli")


def parsed() -> dict[str, ast.Module]:
    """Every module of the lab by its whole name; a package is not told from its __init__."""
    found = {}
    for path in sorted((LAB / "swathe").rglob("*.py")):
        parts = path.relative_to(LAB).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text())
    return found


MODULES = parsed()


def layer(name: str) -> int:
    """Where a module stands; the entry point is above all, the top package below."""
    parts = name.split(".")
    if name in ("swathe", ENTRY):
        return -1 if name == "swathe" else len(LAYERS)
    return LAYERS.index(parts[1])


def imported(tree: ast.Module, known: Mapping[str, object]) -> Iterator[str]:
    """The lab's modules that one imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else str(node.module) for name in whole]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "swathe")


def upward(modules: Mapping[str, ast.Module]) -> list[str]:
    return [
        f"{name} imports {other}"
        for name, tree in modules.items()
        for other in imported(tree, modules)
        if layer(other) > layer(name)
    ]


def circles(modules: Mapping[str, ast.Module]) -> None:
    """Raises CycleError if there are any."""
    graph = {name: set(imported(tree, modules)) for name, tree in modules.items()}
    tuple(TopologicalSorter(graph).static_order())


def classes(modules: Mapping[str, ast.Module]) -> Iterator[str]:
    for tree in modules.values():
        yield from (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def test_every_package_is_a_layer() -> None:
    packages = {
        path.name for path in (LAB / "swathe").iterdir() if (path / "__init__.py").is_file()
    }
    assert packages == set(LAYERS)
    beside = {name for name in MODULES if name.count(".") == 1 and name.split(".")[1] not in LAYERS}
    assert beside == {ENTRY}


def test_tests_lie_as_the_packages_do() -> None:
    """Those of no package are of all; pytest takes two files of one name for one module."""
    paths = [path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")]
    beside = {path.stem for path in paths if len(path.parts) == 1}
    assert beside == {
        "test_commits",
        "test_docs",
        "test_facts",
        "test_house",
        "test_lab",
        "test_structure",
    }
    assert {path.parent.name for path in paths} - {""} <= set(LAYERS)
    assert len({path.name for path in paths}) == len(paths)


def test_imports_go_one_way() -> None:
    assert upward(MODULES) == []
    circles(MODULES)


def test_an_upward_import_is_seen() -> None:
    known = {**MODULES, "swathe.base.odd": ast.parse("def f():\n    from swathe.guest import vm\n")}
    assert upward(known) == ["swathe.base.odd imports swathe.guest.vm"]


def test_a_circle_is_seen() -> None:
    one, other = "from swathe.base import other", "import swathe.base.one"
    known = {"swathe.base.one": ast.parse(one), "swathe.base.other": ast.parse(other)}
    with pytest.raises(ValueError, match="cycle"):
        circles(known)


def test_no_two_classes_have_one_name() -> None:
    times = Counter(classes(MODULES))
    assert times["KernelRequest"] == 1
    assert [name for name, count in times.items() if count > 1] == []


def test_commands_are_no_libraries() -> None:
    """What several of them need is in a module that is no command."""
    commands = {f"swathe.cli.{name}" for name in __main__.COMMANDS}
    assert commands <= set(MODULES)
    importers = [
        f"{name} imports {other}"
        for name, tree in MODULES.items()
        for other in imported(tree, MODULES)
        if other in commands
    ]
    assert importers == []


def test_guests_are_booted_in_one_place() -> None:
    booting = {
        name
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "vm.boot"
    }
    assert booting == {"swathe.guest.session"}


def test_files_beside_modules_are_packed() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    endings = {path.suffix for path in (LAB / "swathe").rglob("*") if path.is_file()}
    for ending in endings - {".py", ".pyc"}:
        assert f'"*{ending}"' in text
