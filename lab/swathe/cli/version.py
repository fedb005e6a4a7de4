# SPDX-License-Identifier: GPL-2.0-only
"""Print the version of Swathe, its commit, and the kernels that it is for.

The version is that of pyproject.toml. The commit is printed if this directory
is a git checkout; "-dirty" after it means that files were changed since.
docs/versions.md says what a version promises.

    ./swathe version
"""

import argparse

from swathe.base import release, ui
from swathe.kernel import hooks, source
from swathe.kernel.version import Version


def set_argparser(_: argparse.ArgumentParser) -> None:
    """Add nothing: the command has no arguments."""


def main(_: argparse.Namespace) -> int:
    found = release.current()
    ui.result(f"swathe {found.version}, released {found.released}")
    ui.result(f"commit {release.commit()}")
    for series in source.KERNELS:
        number = len(hooks.meant_for(hooks.load(), Version.parse(series)))
        if number:
            ui.result(f"for Linux {series}.y: {number} hooks")
    return 0
