# SPDX-License-Identifier: GPL-2.0-only
"""Build Debian packages of a kernel with Swathe, from a machine's own configuration.

Two packages are made: the kernel with its modules, and the headers that other
modules are compiled with. There is neither linux-libc-dev (the distribution's
stays) nor a package of debug symbols. The local version is -swathe1.

The configuration is changed in few options: CONFIG_UNMAP and
CONFIG_UNMAP_TABLES are set, the distribution's certificates are left out, and
debug info is off unless --debug-info is given. Modules are signed with a key
made for this build. See docs/install.md.

    ./swathe deb                          as the kernel that runs: /boot/config-$(uname -r)
    ./swathe deb --config cloud-amd64     Debian's kernel for virtual machines
    ./swathe deb --config FILE            any configuration
    ./swathe deb --sign KEY.pem CERT.pem  signed for Secure Boot
"""

import argparse
from pathlib import Path

from swathe.base import ui
from swathe.cli import arguments
from swathe.kernel import packages, start_config
from swathe.kernel.packages import Packages, PackagesRequest
from swathe.kernel.signing import Signer

UNSIGNED = """\
The image is not signed: a machine with Secure Boot will refuse to start it. Build with
--sign KEY CERT, with a certificate that the machine's firmware or shim knows."""
SIGNED = """\
The image is signed. Secure Boot starts it on machines that know the certificate; for shim:
    openssl x509 -in CERT.pem -outform DER -out CERT.der
    sudo mokutil --import CERT.der      then restart, and enrol the key in shim's menu"""


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", default="", metavar="NAME|FILE",
        help=f"one of Debian's ({', '.join(start_config.DEBIAN)}) or a file "
        "(default: that of the running kernel)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=packages.HOME, metavar="DIR",
        help="where the packages go (default: build/deb)",
    )  # fmt: skip
    parser.add_argument(
        "--sign", nargs=2, type=Path, metavar=("KEY", "CERT"),
        help="sign the image with this key and certificate (PEM)",
    )  # fmt: skip
    parser.add_argument(
        "--debug-info", action="store_true",
        help="keep the configuration's debug info and BTF: takes much more time and disk space",
    )  # fmt: skip
    arguments.add_kernel_arguments(parser)
    parser.set_defaults(flavor="deb")


def main(args: argparse.Namespace) -> int:
    request = PackagesRequest(
        arguments.request_from(args, pristine=False), args.config, args.out.absolute(),
        Signer(*args.sign) if args.sign else None, args.debug_info,
    )  # fmt: skip
    made = packages.make(request)
    for path in made.files:
        ui.result(str(path))
    ui.note(advice(made))
    return 0


def advice(made: Packages) -> str:
    """Return how to install, how to go back, and how to remove."""
    names = " ".join(path.name.split("_")[0] for path in made.files)
    return "\n".join((
        f"\nInstall:    sudo dpkg -i {' '.join(map(str, made.files))}",
        "            then restart. GRUB starts the newest version unless told otherwise.",
        f"Check:      uname -r                                {made.release}",
        "            cat /sys/kernel/mm/unmap/enabled",
        'Boot back:  choose another kernel in GRUB\'s menu, under "Advanced options"',
        f"Remove:     start another kernel, then: sudo dpkg --purge {names}",
        SIGNED if made.signed else UNSIGNED,
    ))  # fmt: skip
