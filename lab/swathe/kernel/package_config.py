# SPDX-License-Identifier: GPL-2.0-only
"""Configure the kernel of packages: a start, the few options that are changed, and what is lost."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from swathe.base import ui
from swathe.base.paths import write_atomically
from swathe.kernel import config, start_config
from swathe.kernel.source import Source
from swathe.kernel.start_config import Start, is_set

LOCAL_VERSION = "-swathe1"
# Certificates that only the distribution's build has.
CERTIFICATES = ("CONFIG_SYSTEM_TRUSTED_KEYS", "CONFIG_SYSTEM_REVOCATION_KEYS")
EMPTY = ("n", '""')
OWN_KEY = "certs/signing_key.pem"  # the kernel's build makes it if it is not there
# What the compiler and other programs of this machine decide.
PROBED = re.compile(r"CONFIG_(CC|GCC|CLANG|AS|LD|LLD|RUSTC?|PAHOLE|TOOLS|HAVE|ARCH)_")
SHOWN = 12


def fragment(options: Mapping[str, str], debug_info: bool) -> str:
    """Return what is changed in the configuration, as lines of a .config."""
    lines = ["CONFIG_UNMAP=y", f'CONFIG_LOCALVERSION="{LOCAL_VERSION}"',
             "# CONFIG_LOCALVERSION_AUTO is not set", "CONFIG_UNMAP_TABLES=y"]  # fmt: skip
    lines += [f'{name}=""' for name in CERTIFICATES if options.get(name, "n") not in EMPTY]
    if is_set(options, "CONFIG_MODULE_SIG"):
        lines += ["CONFIG_MODULE_SIG_ALL=y", f'CONFIG_MODULE_SIG_KEY="{OWN_KEY}"']
    if not debug_info:
        lines.append("CONFIG_DEBUG_INFO_NONE=y")
    return "".join(f"{line}\n" for line in lines)


def configure(
    command: list[str], prepared: Path, out: Path, start: Start, debug_info: bool
) -> dict[str, str]:
    """Make out/.config unless it is up to date; return its options."""
    out.mkdir(parents=True, exist_ok=True)
    changes, done = out / "swathe.config", out / ".swathe-config"
    write_atomically(changes, fragment(start.options, debug_info).encode())
    digest = hashlib.sha256(start.text.encode()).hexdigest()
    want = f"{digest} {config.stamp(prepared, [changes])}"
    if not ((out / ".config").is_file() and done.is_file() and done.read_text() == want):
        done.unlink(missing_ok=True)
        write_atomically(out / ".config", start.text.encode())
        config.settle(command, prepared, out, [changes])
        write_atomically(done, want.encode())
    return config.parse((out / ".config").read_text())


def lost(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the options that were set and are not any more."""
    return [
        name for name, value in before.items()
        if value in ("y", "m") and not is_set(after, name) and not PROBED.match(name)
    ]  # fmt: skip


def report(start: Start, final: Mapping[str, str], found: Source) -> None:
    """Say what the kernel lacks, and why."""
    for sentence in start_config.losses(final):
        ui.note(sentence)
    if is_set(start.options, "CONFIG_DEBUG_INFO") and not is_set(final, "CONFIG_DEBUG_INFO"):
        ui.note(
            "debug info is off, which saves time and disk space: BPF programs that need BTF "
            "do not run (--debug-info keeps it; that needs pahole)"
        )
    if gone := lost(start.options, final):
        more = f" and {len(gone) - SHOWN} more" if len(gone) > SHOWN else ""
        ui.note(f"set in {start.where}, but not in this kernel: {', '.join(gone[:SHOWN])}{more}")
    if start.version and not start.version.startswith(f"{found.version.series}."):
        ui.note(f"{start.where} is of Linux {start.version}: new options get their defaults")
