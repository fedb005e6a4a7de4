# SPDX-License-Identifier: GPL-2.0-only
"""Compile the programs of the bench allocators, which use the heaps of jemalloc and Go.

Their packages are large, and cannot be installed without root or network. So they are required
only if that bench is named.
"""

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path

from swathe.base import process
from swathe.base.errors import CheckFailed, EnvironmentLacks
from swathe.base.paths import BUILD, WORKLOADS
from swathe.kernel import apt, compiler
from swathe.kernel.arch import Arch
from swathe.measure import benches

BENCH = "allocators"
SOURCES = WORKLOADS / BENCH
# The Debian package's Go, even if PATH has another one first.
GO = Path("/usr/bin/go")
GO_FLAGS = ("-trimpath", "-ldflags=-buildid=")
GO_ARCHES = {"x86_64": "amd64", "arm64": "arm64"}
JEMALLOC = ("-ljemalloc", "-lpthread", "-lm", "-ldl")


def files(bench: str, target: Arch) -> dict[str, Path]:
    """Return the programs that the bench allocators starts in the guest; none for other benches."""
    if bench != BENCH:
        return {}
    apt.need(next(known.packages for known in benches.BENCHES if known.name == bench))
    made = {"go": go(target)}
    if not target.foreign:  # Debian's static jemalloc is for the host only: the bench skips it
        made["jemalloc"] = jemalloc()
    return {f"/bin/{BENCH}_{name}": path for name, path in made.items()}


def jemalloc() -> Path:
    return compiler.compile_program([SOURCES / "jemalloc.c"], libraries=JEMALLOC)


@functools.cache
def go_version() -> str:
    if not GO.is_file():
        raise EnvironmentLacks("Go is not installed: apt-get install golang-go")
    return process.run([str(GO), "version"], quiet=True, env=go_environment()).output.strip()


def go_environment() -> Mapping[str, str]:
    """Return an environment without the user's Go settings; Go's caches are below build/."""
    kept = BUILD / "cache"
    return {
        "CGO_ENABLED": "0", "GOENV": "off", "GOFLAGS": "", "GOROOT": "", "GO111MODULE": "off",
        "GOTOOLCHAIN": "local", "GOPATH": str(kept / "gopath"), "GOCACHE": str(kept / "go"),
        "GOOS": "linux",
    }  # fmt: skip


def go(target: Arch) -> Path:
    """Compile the static Go program for an architecture; it is reused until the source changes."""
    source = SOURCES / "heap.go"
    env = {**go_environment(), "GOARCH": GO_ARCHES[target.name]}
    known = " ".join([go_version(), target.name, *GO_FLAGS]).encode()
    digest = hashlib.sha256(known + source.read_bytes()).hexdigest()[:16]
    program = BUILD / "bin" / digest / "go"
    if not program.is_file():
        with compiler.partial(program) as unfinished:
            argv = [str(GO), "build", *GO_FLAGS, "-o", str(unfinished), str(source)]
            done = process.run(argv, timeout=300, env=env)
            if not done.ok:
                raise CheckFailed(
                    f"{source.name} does not compile: {process.last_line(done.output)}"
                )
    return program
