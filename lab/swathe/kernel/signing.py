# SPDX-License-Identifier: GPL-2.0-only
"""Sign the kernel image in a package, for machines with Secure Boot."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from swathe.base import process
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import scratch, write_atomically

PACKAGES = ("openssl", "sbsigntool")
SUMS = Path("DEBIAN/md5sums")


@dataclass(frozen=True)
class Signer:
    """A private key and its certificate, both PEM files."""

    key: Path
    certificate: Path

    @property
    def stamp(self) -> str:
        """A checksum of the certificate: other packages are made for another one."""
        return hashlib.sha256(self.certificate.read_bytes()).hexdigest()


def public_key(argv: list[str], path: Path, what: str) -> str:
    """Return the public part that openssl finds in a file. It must not ask for a pass phrase."""
    if not path.is_file():
        raise UsageError(f"--sign: there is no {what} {path}")
    done = process.run(["openssl", *argv], quiet=True)
    if not done.ok:
        raise UsageError(f"--sign: {path} is not a {what} in PEM form, or has a pass phrase")
    return done.output.strip()


def check(signer: Signer) -> None:
    """Raise if the key or the certificate cannot be read, or if they do not fit."""
    key, certificate = str(signer.key), str(signer.certificate)
    private = public_key(
        ["pkey", "-in", key, "-passin", "pass:", "-pubout"], signer.key, "private key",
    )  # fmt: skip
    shown = ["x509", "-in", certificate, "-noout", "-pubkey"]
    if private != public_key(shown, signer.certificate, "certificate"):
        raise UsageError(f"--sign: {certificate} is not the certificate of the key {key}")


def sign(package: Path, image: str, signer: Signer) -> None:
    """Sign one file of a package: unpack it, sign, and pack it again."""
    with scratch("sign") as directory:
        root, packed = directory / "root", directory / package.name
        process.check(["dpkg-deb", "-R", str(package), str(root)], f"unpacking {package.name}")
        sign_image(root / image, signer)
        renew_sum(root, image)
        process.check(
            ["dpkg-deb", "--root-owner-group", "-b", str(root), str(packed)],
            f"packing {package.name}", timeout=1800,
        )  # fmt: skip
        packed.rename(package)


def sign_image(image: Path, signer: Signer) -> None:
    """Sign an EFI image in place, and verify the signature."""
    signed = image.with_name(f"{image.name}.signed")
    process.check(
        ["sbsign", "--key", str(signer.key), "--cert", str(signer.certificate),
         "--output", str(signed), str(image)],
        f"signing {image.name}",
    )  # fmt: skip
    verify = ["sbverify", "--cert", str(signer.certificate), str(signed)]
    process.check(verify, f"verifying the signature of {image.name}")
    signed.chmod(image.stat().st_mode & 0o777)
    signed.rename(image)


def renew_sum(root: Path, image: str) -> None:
    """Write the file's new checksum into the package's list."""
    with (root / image).open("rb") as file:
        digest = hashlib.file_digest(file, "md5").hexdigest()
    lines = (root / SUMS).read_text().splitlines()
    known = [line for line in lines if line.split(maxsplit=1)[1:] == [image]]
    if len(known) != 1:
        raise CheckFailed(f"the package's list of checksums does not hold {image} once")
    renewed = [f"{digest}  {image}" if line in known else line for line in lines]
    write_atomically(root / SUMS, "".join(f"{line}\n" for line in renewed).encode())
