# SPDX-License-Identifier: GPL-2.0-only
"""The environment that figures were measured in; it is printed and stored with them."""

import datetime
import shlex
import sys
from dataclasses import dataclass

from swathe.base import release
from swathe.guest import vm
from swathe.kernel import build, compiler
from swathe.kernel.arch import X86_64


@dataclass(frozen=True)
class Environment:
    kernel: str
    config_hash: str
    qemu: str
    compiler: str
    cpus: int
    memory: str
    command: str
    date: str
    swathe: str
    # What the guest said of its kernel: see settings.py.
    settings: str = ""
    arch: str = X86_64.name

    @property
    def system(self) -> str:
        """The kernel, and its architecture, if that is not the usual one."""
        return self.kernel if self.arch == X86_64.name else f"{self.kernel}-{self.arch}"

    def line(self) -> str:
        return (
            f"Linux {self.system} (configuration {self.config_hash}), {self.qemu}, "
            f"{self.compiler}, {self.cpus} CPU, {self.memory}, swathe {self.swathe}"
        )


def look(built: build.BuiltKernel, cpus: int, memory: str, settings: str = "") -> Environment:
    """Describe the guest, the kernel and the tools in use."""
    return Environment(
        kernel=built.version,
        config_hash=built.config_hash,
        qemu=vm.version(built.target.qemu),
        compiler=compiler.version(built.target.compiler),
        cpus=cpus,
        memory=memory,
        command=shlex.join(["swathe", *sys.argv[1:]]),
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        swathe=release.commit(),
        settings=settings,
        arch=built.target.name,
    )
