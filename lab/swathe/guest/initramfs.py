# SPDX-License-Identifier: GPL-2.0-only
"""The guest's root file system: init, busybox, a job, and the files it needs.

The kernel's own gen_init_cpio makes it: that tool needs no root for device
nodes, and makes the same archive from the same content.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from swathe.base import process
from swathe.base.errors import CheckFailed, EnvironmentLacks, UsageError
from swathe.base.paths import BUILD, GUEST_INIT, locked, scratch, write_atomically
from swathe.kernel import apt, compiler
from swathe.kernel.arch import Arch
from swathe.kernel.build import BuiltKernel

DIRECTORIES = ("/bin", "/dev", "/mnt", "/proc", "/root", "/sys", "/tmp")
ENVIRONMENT = {"PATH": "/bin", "HOME": "/root", "TERM": "dumb"}
BUSYBOX = Path("/bin/busybox")
LIBRARY = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)
MISSING = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)


@dataclass(frozen=True)
class Job:
    """The command a guest runs, and the files it gets: file content by path in the guest.

    tty: the command's terminal in the guest; without one its output goes to a port
    bare: the guest has neither ports nor disk nor swap
    """

    argv: Sequence[str]
    files: Mapping[str, Path] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    off: int = 0
    swap: int = 1 << 30
    tty: str = ""
    bare: bool = False

    def settings(self) -> bytes:
        """The content of /job, as lab/guest/init.c reads it."""
        words = [f"arg={word}" for word in self.argv]
        words += [f"env={name}={value}" for name, value in ENVIRONMENT.items()]
        words += [f"off={self.off:#x}"] if self.off else []
        words += [f"swap={self.swap}"] if self.swap and not self.bare else []
        words += ["bare=1"] if self.bare else []
        words += [f"tty={self.tty}"] if self.tty else []
        return b"".join(word.encode() + b"\0" for word in words)


def applets() -> list[str]:
    """Return busybox's commands; a foreign busybox of the same release has the same ones."""
    if not BUSYBOX.is_file():
        raise process.missing("busybox-static")
    return process.run([str(BUSYBOX), "--list"], quiet=True).output.split()


def libraries(program: Path) -> dict[str, Path]:
    """Return a dynamic program's libraries, at their paths on the host; none for a static one."""
    done = process.run(["ldd", str(program)], quiet=True)
    if missing := MISSING.search(done.output):
        raise EnvironmentLacks(f"{program.name} needs {missing[1]}, which is not installed")
    return {path: Path(path).resolve() for path in LIBRARY.findall(done.output)}


def parents(paths: Sequence[str]) -> list[str]:
    """Return the directories that these paths need, outermost first."""
    needed = {str(parent) for path in paths for parent in Path(path).parents}
    return sorted((needed | set(DIRECTORIES)) - {"/"})


def describe(files: Mapping[str, Path]) -> str:
    """Return the archive's contents in the list format of gen_init_cpio."""
    lines = [f"dir {path} 0755 0 0" for path in parents(list(files))]
    lines += ["nod /dev/console 0600 0 0 c 5 1"]
    lines += [f"file {name} {path} 0755 0 0" for name, path in files.items()]
    links = {f"/bin/{name}" for name in applets()} - set(files)
    lines += [f"slink {name} busybox 0777 0 0" for name in sorted(links)]
    return "\n".join(lines) + "\n"


def busybox(target: Arch) -> Path:
    """Return the host's busybox, or for a foreign target that of its Debian package."""
    if not target.foreign:
        return BUSYBOX
    kept = BUILD / "foreign" / target.name / "busybox"
    with locked(f"busybox-{target.name}"):
        if not kept.is_file():
            fetch_busybox(target, kept)
    return kept


def fetch_busybox(target: Arch, kept: Path) -> None:
    with scratch("busybox") as directory:
        deb = apt.fetch_foreign("busybox-static", target.name, directory)
        process.check(["dpkg-deb", "-x", str(deb), str(directory)], f"unpacking {deb.name}")
        found = [path for path in directory.glob("**/bin/busybox") if path.is_file()]
        if len(found) != 1:
            raise CheckFailed(f"{deb.name} does not hold one busybox")
        write_atomically(kept, found[0].read_bytes(), 0o755)


def require_plain(name: str) -> None:
    if any(letter.isspace() for letter in name):
        raise UsageError(f"{name!r}: a file name in the guest cannot contain white space")


def gather(job: Job, stage: Path, target: Arch) -> dict[str, Path]:
    """Put all files of a guest in stage under short names: gen_init_cpio has no quoting."""
    init = compiler.compile_program([GUEST_INIT], compiler=target.compiler)
    given = {"/init": init, "/bin/busybox": busybox(target), **job.files}
    texts = {"/job": job.settings()}
    texts |= {name: text.encode(errors="surrogateescape") for name, text in job.texts.items()}
    found = {}
    for index, name in enumerate(sorted(given.keys() | texts.keys())):
        require_plain(name)
        found[name] = Path(f"f{index}")
        if name in texts:
            (stage / found[name]).write_bytes(texts[name])
        else:
            (stage / found[name]).symlink_to(given[name].resolve())
    return found


def make(job: Job, built: BuiltKernel, home: Path) -> Path:
    """Make a job's archive in the guest's directory with gen_init_cpio from the kernel's build.

    Each guest has its own: one that waits for a processor keeps its archive however many are made.
    """
    tool = built.out / "usr" / "gen_init_cpio"
    if not tool.is_file():
        raise EnvironmentLacks(f"{tool} is missing: build the kernel first")
    stage, archive = home / "root", home / "initramfs.cpio"
    stage.mkdir()
    (stage / "list").write_text(describe(gather(job, stage, built.target)))
    with archive.open("wb") as file:
        done = process.run([str(tool), "-t", "0", "list"], cwd=stage, quiet=True, stdout=file)
    if not done.ok:
        raise CheckFailed(f"making the initramfs failed: {process.last_line(done.output)}")
    return archive


def make_bare(job: Job, target: Arch, home: Path) -> Path:
    """Make the archive without a kernel's build."""
    apt.need(["libarchive-tools"])
    stage, root, archive = home / "files", home / "root", home / "initramfs.cpio"
    stage.mkdir()
    for name, path in gather(replace(job, bare=True), stage, target).items():
        place = root / name.removeprefix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(stage / path, place)
        place.chmod(0o755)
    for name in DIRECTORIES:
        (root / name.removeprefix("/")).mkdir(parents=True, exist_ok=True)
    for name in applets():
        if not (root / "bin" / name).exists():
            (root / "bin" / name).symlink_to("busybox")
    argv = ["bsdtar", "--format", "newc", "--uid", "0", "--gid", "0", "-cf", str(archive), "."]
    process.check(argv, "making the initramfs", cwd=root)
    return archive
