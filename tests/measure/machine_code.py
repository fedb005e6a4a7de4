# SPDX-License-Identifier: GPL-2.0-only
"""Machine code for the profiler's plugin, and a stand-in for QEMU that runs it."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from conftest import DATA

from swathe.kernel import compiler
from swathe.measure import plugin

HOST = DATA / "plugin_host.c"
BEGIN, END, REPORT, START = (f"0f1f8400{n:02x}425753" for n in (1, 2, 3, 4))
NOP, CALL, RET, JMP, LOCK_INC = "90", "e800000000", "c3", "e900000000", "f0ff07"


def block(address: int, *code: str, cpu: int = 0) -> str:
    """A block of instructions, each "BYTES" or "BYTES r|w ADDRESS"."""
    lines = [f"block {cpu}"]
    for text in code:
        lines.append(f"{address:x} {text}")
        address += len(text.split()[0]) // 2
    return "\n".join([*lines, "run"]) + "\n"


def marked(*blocks: str) -> str:
    """These blocks between a program's markers, and its report."""
    return block(0x10, BEGIN) + "".join(blocks) + block(0x20, END) + block(0x30, REPORT)


def compiled(api: int) -> Path:
    """The plugin, compiled with the stand-in into one program."""
    sources = [HOST, *sorted(plugin.PROFILER.glob("*.c"))]
    flags = (f"-I{plugin.PROFILER}", f"-DPLUGIN_API={api}", "-Werror")
    headers = list(plugin.PROFILER.glob("*.h"))
    return compiler.compile_c(sources, flags, headers, f"plugin-{api}")


def fed(
    program: Path,
    home: Path,
    mode: str,
    blocks: str,
    functions: Iterable[tuple[str, int]],
    arch: str = "x86_64",
    caches: str = "",
) -> str:
    """What the plugin writes of these blocks, or its complaint."""
    symbols, out = home / "symbols", home / "out"
    symbols.write_text("".join(f"{addr:x} {name}\n" for name, addr in functions))
    argv = [str(program), f"mode={mode}", f"symbols={symbols}", f"out={out}", f"arch={arch}"]
    argv += [f"caches={caches}"] if caches else []
    done = subprocess.run(argv, input=blocks, text=True, capture_output=True, check=False)
    return out.read_text() if done.returncode == 0 else done.stderr
