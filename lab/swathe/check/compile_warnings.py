# SPDX-License-Identifier: GPL-2.0-only
"""Compile mm/unmap, and the stock files that hooks change, in one configuration at W=1.

A warning in a file of ours, or in a function that a hook changes, is a failure.
Warnings elsewhere are stock's own and are ignored.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from swathe.base import parallel, process
from swathe.base.paths import BUILD, locked, write_atomically
from swathe.kernel import apt, build, compiler, config, debian_config
from swathe.kernel.hooks import Hook, by_file
from swathe.kernel.source import Source

DEBIAN = "debian:"
TABLES = "CONFIG_UNMAP_TABLES"
# Debug info takes time and changes no warning; -Werror would stop at stock's own warnings.
ALWAYS = ("CONFIG_DEBUG_INFO_NONE=y", "# CONFIG_WERROR is not set")
OURS = ("mm/unmap/", "include/linux/unmap", "include/trace/events/unmap.h")
OWN_DIRECTORY = "mm/unmap/"
RENAMED = "stock_"
CLEAN = ".swathe-clean"
# A hook that renames a function leaves the kernel-doc comment before it unchanged.
KNOWN = re.compile(r"expecting prototype for (\w+)\(\)\. Prototype was for stock_\1\(\) instead")
# Also matches kernel-doc, Kconfig ("file:12:warning: ...") and objtool ("file.o: warning: ...").
COMPLAINT = re.compile(
    r"^(?P<path>[^\s:]+)(?::\d+(?P<column>:\d+)?)?: ?(?:warning|error|fatal error): ?(?P<said>.*)$"
)
FUNCTION = re.compile(r"^(?P<path>[^\s:]+): (?:In function '(?P<name>\w+)'|At top level)")
NAMED = re.compile(r"'(?:[\w *]*[ *])?(\w+)|(\w+)\(\)")
# kbuild resets LC_ALL, so the compiler would quote in the style of the user's locale.
QUOTES = str.maketrans("‘’", "''")
# The directory of an architecture is named like its option.
ARCH = re.compile(r"arch/(\w+)/")
CONDITION = re.compile(r"\$\((CONFIG_\w+)\)")


class Cross(Struct, frozen=True, forbid_unknown_fields=True):
    """How kernels are cross-compiled for an architecture."""

    make: tuple[str, ...]
    packages: tuple[str, ...]
    debian: str = ""

    @property
    def compiler(self) -> str:
        prefix = [word.partition("=")[2] for word in self.make if word.startswith("CROSS_COMPILE=")]
        return f"{prefix[0] if prefix else ''}{compiler.NATIVE}"


@dataclass(frozen=True)
class Compilation:
    """A configuration to compile; tables is CONFIG_UNMAP_TABLES, None leaves its default."""

    name: str
    cross: Cross
    start: str
    options: tuple[str, ...] = ()
    tables: bool | None = None
    targets: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name}, no tables" if self.tables is False else self.name

    @property
    def directory(self) -> str:
        return f"{self.name}-no-tables" if self.tables is False else self.name

    def fragment(self) -> str:
        """The options to set in addition to the starting configuration."""
        lines = list(ALWAYS)
        if self.tables is not None:
            # The option has a prompt only with CONFIG_EXPERT.
            lines += ["CONFIG_EXPERT=y", config_line(TABLES, self.tables)]
        ours = [] if config_line("CONFIG_UNMAP", False) in self.options else ["CONFIG_UNMAP=y"]
        return "\n".join([*lines, *ours, *self.options, ""])


def config_line(name: str, on: bool) -> str:
    return f"{name}=y" if on else f"# {name} is not set"


def begin(job: Compilation, make: Sequence[str], out: Path, found: Source, kernel: str) -> None:
    """Write the starting configuration to out/.config."""
    if job.start.startswith(DEBIAN):
        name = job.start.removeprefix(DEBIAN)
        write_atomically(out / ".config", debian_config.read(name, job.cross.debian, found, kernel))
    else:
        process.check([*make, job.start], f"make {job.start}")


def configure(
    job: Compilation, make: Sequence[str], tree: Path, out: Path, found: Source, kernel: str
) -> None:
    """Make out/.config unless it is up to date; raise if it lacks a requested option."""
    fragment = out / f"{job.directory}.config"
    out.mkdir(parents=True, exist_ok=True)
    done = out / ".swathe-config"
    write_atomically(fragment, job.fragment().encode())
    want = f"{job.start} {config.stamp(tree, [fragment])}"
    if (out / ".config").is_file() and done.is_file() and done.read_text() == want:
        return
    done.unlink(missing_ok=True)
    begin(job, make, out, found, kernel)
    config.settle(list(make), tree, out, [fragment])
    write_atomically(done, want.encode())


def configured(path: str, makefile: str, options: Mapping[str, str]) -> bool:
    """Whether this configuration compiles a file; makefile has the text of its Makefile."""
    name = Path(path).with_suffix(".o").name
    if (own := ARCH.match(path)) and options.get(f"CONFIG_{own[1].upper()}", "n") == "n":
        return False
    for line in makefile.replace("\\\n", " ").splitlines():
        if name in line.partition("=")[2].split() and (found := CONDITION.search(line)):
            return options.get(found[1], "n") != "n"
    return True


def targets(
    job: Compilation, hooks: Sequence[Hook], makefile: str, options: Mapping[str, str]
) -> list[str]:
    """Return make's targets: the hooked files that this configuration compiles, and ours.

    makefile: the text of the Makefiles of all hooked files.
    """
    sources = [path for path in by_file(list(hooks)) if path.endswith(".c")]
    objects = [
        str(Path(path).with_suffix(".o"))
        for path in sources if configured(path, makefile, options)
    ]  # fmt: skip
    ours = [OWN_DIRECTORY] if options.get("CONFIG_UNMAP") == "y" else []
    return [*ours, *objects, *job.targets]


def makefiles(tree: Path, hooks: Sequence[Hook]) -> str:
    """Return the text of the Makefiles that the hooked files are built by."""
    homes = {(tree / hook.file).parent for hook in hooks}
    return "\n".join((home / "Makefile").read_text() for home in sorted(homes)
                     if (home / "Makefile").is_file())  # fmt: skip


def read(log: str, tree: Path, hooks: Sequence[Hook]) -> list[str]:
    """Return the warnings about our code, without duplicates."""
    changed = {path: {name for hook in chosen for name in hook.functions}
               for path, chosen in by_file(list(hooks)).items()}  # fmt: skip
    ours: dict[str, None] = {}
    inside: dict[str, str] = {}
    for line in log.replace(f"{tree}/", "").translate(QUOTES).splitlines():
        if match := FUNCTION.match(line):
            inside[match["path"]] = match["name"] or ""
        elif (match := COMPLAINT.match(line)) and not KNOWN.search(line):
            path = match["path"]
            # Only the compiler prints columns, and names the function.
            names = [inside.get(path, "") if match["column"] else "", *named(match["said"])]
            if path.startswith(OURS) or concerns(names, changed.get(source_of(path))):
                ours[line] = None
    return list(ours)


def named(said: str) -> list[str]:
    """Return the names in a warning's text."""
    return [quoted or called for quoted, called in NAMED.findall(said)]


def source_of(path: str) -> str:
    """Return the source file's path; objtool names the object file."""
    return f"{path[:-2]}.c" if path.endswith(".o") else path


def concerns(names: Iterable[str], hooked: set[str] | None) -> bool:
    """Whether a warning with these names in a stock file is about code that a hook changed."""
    return hooked is not None and any(n in hooked or n.startswith(RENAMED) for n in names)


def compile_in(
    job: Compilation, tree: Path, found: Source, kernel: str, hooks: Sequence[Hook]
) -> list[str]:
    """Compile one configuration; return the warnings about our code."""
    apt.need(job.cross.packages)
    out = BUILD / "out" / f"{found.key}-compiled-{job.directory}"
    make = ["make", "-C", str(tree), f"O={out}", f"-j{parallel.processors()}", *job.cross.make]
    with locked(out.name):
        configure(job, make, tree, out, found, kernel)
        options = config.parse((out / ".config").read_text())
        wanted = targets(job, hooks, makefiles(tree, hooks), options)
        return make_objects([*make, "W=1", *wanted], tree, out, hooks)


def make_objects(make: Sequence[str], tree: Path, out: Path, hooks: Sequence[Hook]) -> list[str]:
    """Run make; return the warnings about our code.

    The compiler warns only when it compiles a file, so all files are recompiled until there
    are no warnings.
    """
    clean, log = out / CLEAN, BUILD / "log" / f"{out.name}.log"
    if not clean.is_file():
        for path in (out / "mm").rglob("*.o"):
            path.unlink()
    clean.unlink(missing_ok=True)
    status = process.stream(make, log, lambda _: None, build.REPRODUCIBLE)
    warnings = read(log.read_text(errors="replace"), tree, hooks)
    if status and not warnings:
        raise build.build_failure(log)
    if not warnings:
        write_atomically(clean, b"")
    return warnings
