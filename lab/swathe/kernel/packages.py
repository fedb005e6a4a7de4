# SPDX-License-Identifier: GPL-2.0-only
"""Build Debian packages of a kernel with Swathe: its image with modules, and its headers.

linux-libc-dev is not built: the C library of a distribution needs that of the distribution.
Packages with debug symbols are not built either.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile

from swathe.base import ui
from swathe.base.errors import DISK_FULL, CheckFailed, EnvironmentLacks, UsageError
from swathe.base.paths import BUILD, locked, write_atomically
from swathe.kernel import (
    apt,
    build,
    config,
    package_config,
    package_cost,
    signing,
    source,
    start_config,
    tree,
)
from swathe.kernel.arch import X86_64
from swathe.kernel.build import KernelRequest
from swathe.kernel.package_config import LOCAL_VERSION
from swathe.kernel.signing import Signer
from swathe.kernel.source import Source
from swathe.kernel.start_config import DEBIAN_ARCHES, Start, is_set

HOME = BUILD / "deb"
# What dpkg-buildpackage and the kernel's debian/rules call, beside the launcher's packages.
PACKAGES = ("debhelper", "dpkg-dev", "rsync", "cpio", "openssl")
# Packages that single options need.
TOOLS = {
    "CONFIG_KERNEL_LZ4": "lz4",
    "CONFIG_KERNEL_LZO": "lzop",
    "CONFIG_KERNEL_ZSTD": "zstd",
    "CONFIG_MODULE_COMPRESS_ZSTD": "zstd",
    "CONFIG_DEBUG_INFO_BTF": "dwarves",
}
REVISION = "1"
# With these, debian/rules makes the two packages and no other.
TARGETS = ("DPKG_FLAGS=--target=binary-image,binary-headers", "DEB_BUILD_OPTIONS=terse")
INSTALLED = re.compile(r"^  (INSTALL|STRIP|SIGN|XZ|ZSTD|GZIP) ")
STEPS = 4  # for each module: install, strip, sign, compress


@dataclass(frozen=True)
class PackagesRequest:
    """given: one of Debian's configurations, a file, or "" for the machine's own."""

    kernel: KernelRequest
    given: str = ""
    out: Path = HOME
    signer: Signer | None = None
    debug_info: bool = False


@dataclass(frozen=True)
class Packages:
    """The packages of one build, planned or finished; release is what uname -r prints."""

    release: str
    version: str
    image: Path
    headers: Path | None
    signed: bool

    @property
    def files(self) -> list[Path]:
        return [path for path in (self.image, self.headers) if path]


def make(request: PackagesRequest) -> Packages:
    """Build the packages, unless they are up to date."""
    arch = request.kernel.arch
    require_writable(request.out)
    start = start_config.local_start(request.given, arch)
    if request.signer:
        require_signer(request.signer, arch)
    apt.need([*PACKAGES, *request.kernel.target.packages])
    found = source.get(request.kernel.kernel, request.kernel.source)
    if start is None:
        start = start_config.of_debian(request.given, found, request.kernel.kernel)
        start_config.require(start, arch)
    out = BUILD / "out" / f"{found.key}-deb-{start.name}" / "linux"
    with locked(out.parent.name):
        return make_in(out, start, found, request)


def require_writable(directory: Path) -> None:
    """Check before the build whether the packages can be written."""
    above = next(path for path in (directory, *directory.parents) if path.exists())
    if not above.is_dir():
        raise UsageError(f"--out: {above} is not a directory")
    if not os.access(above, os.W_OK | os.X_OK):
        raise UsageError(f"--out: you may not write to {above}")


def require_signer(signer: Signer, arch: str) -> None:
    """Check the key before anything is built."""
    if arch != X86_64.name:
        raise UsageError(f"--sign: images for {arch} cannot be signed here, only for x86_64")
    apt.need(signing.PACKAGES)
    signing.check(signer)


def make_in(out: Path, start: Start, found: Source, request: PackagesRequest) -> Packages:
    """Build in one directory; the packages are made beside it, and copied when complete."""
    needed = package_cost.estimate(start.options, request.debug_info)
    package_cost.require_space(needed.size, out)
    prepared = tree.prepare(found)
    command = build.make_command(prepared.path, out, request.kernel.target)
    final = package_config.configure(command, prepared.path, out, start, request.debug_info)
    package_config.report(start, final, found)
    if request.signer and not is_set(final, "CONFIG_EFI_STUB"):
        raise UsageError(f"--sign: {start.where} does not set CONFIG_EFI_STUB, which signing needs")
    apt.need(sorted({package for name, package in TOOLS.items() if is_set(final, name)}))
    wanted = name_packages(found, final, request)
    # Beside the packages: those of another configuration have the same names, and replace it.
    done = wanted.image.with_name(f".{wanted.image.name}.swathe")
    want = stamp(prepared.stamp, out, request.signer)
    if done.is_file() and done.read_text() == want and all(map(Path.is_file, wanted.files)):
        ui.note("the packages are up to date")
        return wanted
    done.unlink(missing_ok=True)
    ui.note(f"Linux {wanted.release} from {start.where}: {needed.sentence}")
    compile_all(command, out, needed.objects)
    deliver(package_all(command, out, wanted, request.signer), request.out)
    write_atomically(done, want.encode())
    return wanted


def name_packages(found: Source, final: Mapping[str, str], request: PackagesRequest) -> Packages:
    """Return the packages as they will be called; a kernel without modules has no headers."""
    release = f"{found.version}{LOCAL_VERSION}"
    version = f"{found.version}-{REVISION}"
    ending = f"{release}_{version}_{DEBIAN_ARCHES[request.kernel.arch]}.deb"
    headers = request.out / f"linux-headers-{ending}" if is_set(final, "CONFIG_MODULES") else None
    image = request.out / f"linux-image-{ending}"
    return Packages(release, version, image, headers, request.signer is not None)


def stamp(tree_stamp: str, out: Path, signer: Signer | None) -> str:
    """Return a checksum of everything that packages are made from."""
    words = f"{tree_stamp} {config.checksum(out)} {signer.stamp if signer else ''}"
    return hashlib.sha256(words.encode()).hexdigest()


def compile_all(command: list[str], out: Path, first: int) -> None:
    """Compile the image and all modules; a build that was interrupted goes on."""
    log = BUILD / "log" / f"build-{out.parent.name}.log"
    total = build.estimate(out, first)
    count = build.run_make([*command, "headers", "all"], out.parent.name, log, total)
    build.remember(out, count, first)


def package_all(
    command: list[str], out: Path, wanted: Packages, signer: Signer | None
) -> list[Path]:
    """Make the packages beside the build directory, and sign the image."""
    for old in out.parent.glob("*.deb"):
        old.unlink()
    modules = out / "modules.order"
    total = STEPS * len(modules.read_text().splitlines()) if modules.is_file() else 0
    log = BUILD / "log" / f"package-{out.parent.name}.log"
    packager = [*command, f"KDEB_PKGVERSION={wanted.version}", *TARGETS, "bindeb-pkg"]
    build.run_make(packager, out.parent.name, log, total, "packing", INSTALLED)
    made = [out.parent / path.name for path in wanted.files]
    for path in made:
        if not path.is_file():
            raise CheckFailed(f"the kernel's build did not make {path.name}; see {log}")
    if signer:
        signing.sign(made[0], f"boot/vmlinuz-{wanted.release}", signer)
    return made


def deliver(made: Sequence[Path], home: Path) -> None:
    """Copy the packages to where the user wants them; they get their names when complete."""
    home.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=home, prefix=".unfinished.") as directory:
            for path in made:
                copyfile(path, Path(directory, path.name))
            for path in made:
                Path(directory, path.name).rename(home / path.name)
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        raise EnvironmentLacks(
            f"the disk is full: {home} has no room for the packages, which are in {made[0].parent}"
        ) from error
