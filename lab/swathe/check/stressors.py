# SPDX-License-Identifier: GPL-2.0-only
"""The script that runs in a guest under stress, and the parser of its output.

The script runs a command in a memory-limited control group, and meanwhile changes settings and
reclaims memory from outside. Before and after, it drops caches and prints memory counters:

    @ sample before|after
    NAME VALUE
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from swathe.base.errors import EnvironmentLacks
from swathe.base.verdicts import Verdict
from swathe.guest import foreign, initramfs, tap
from swathe.guest.session import Transcript
from swathe.kernel.arch import Arch
from swathe.kernel.version import Version

# stress-ng's memory stressors. --verify makes each of them check its own results.
STRESSORS = (
    "vm", "madvise", "mremap", "fork", "userfaultfd", "tlb-shootdown", "pageswap", "mmap",
    "mmapaddr", "mmapfixed", "mmapfork", "mmaphuge", "mmapmany", "munmap", "memfd", "shm",
    "mlock", "remap", "vm-splice", "brk",
)  # fmt: skip
# stress-ng 0.15 does not survive the poison that it injects into its own memory on Linux 7.3, with
# swathe off, too.
NOT_FROM_7_3 = ("madvise",)
TOGETHER = 4
LIMIT = "192M"
# stress-ng's statuses for a stressor that is not implemented or lacks resources: no failure.
HARMLESS = (3, 4)
# memx --rare: slow operations are chosen this many times less often.
RARE = (1, 8, 64)
# The last argument of the short warm-up run.
WARM = {"stress-ng": "4s", "memx": "0.05"}

# How much each counter may grow, in KiB; 192 MiB are allocated and freed many times a second.
# The bounds allow for per-CPU batches and for caches that are kept for reuse.
BOUNDS = {
    "AnonPages": 2048, "Mapped": 4096, "Shmem": 1024, "PageTables": 1024,
    "SUnreclaim": 16384, "KernelStack": 1024, "Mlocked": 0, "cgroups": 16,
}  # fmt: skip
# In KiB: each CPU keeps up to 64 free swap slots, and as many that were freed (mm/swap_slots.c).
SWAP_OF_CPU = 2 * 64 * 4

SCRIPT = """\
GROUP=/sys/fs/cgroup/stress
REAL=/sys/kernel/mm/unmap
# An untouched kernel has nothing that could be switched.
[ -d $REAL ] || REAL=$(mktemp -d)
sample() {
	sync
	for i in 1 2; do
		echo 3 >/proc/sys/vm/drop_caches
		for cache in /sys/kernel/slab/*/shrink; do echo 1 >$cache; done 2>/dev/null
		sleep 1
	done
	while read name value unit; do echo "${name%:} $value"; done </proc/meminfo
	cat /sys/fs/cgroup/cgroup.stat
}
disturb() { # SEED
	n=$1
	while :; do
		n=$(((n * 1103515245 + 12345) % 2147483648))
		bits=$((n / 65536 % 16))
		[ @FLIP@ = 0 ] || echo $((bits % 4 + bits / 4 % 2 * 8 + bits / 8 * 16)) >$REAL/enabled
		echo $((n / 1048576 % 2 * 100)) >$REAL/drop_idle_ms
		echo 0 >$REAL/drop_share
		case $((n / 524288 % 3)) in
		0) echo adaptive ;; 1) echo eager ;; *) echo pressure ;;
		esac >$REAL/tables_policy
		n=$(((n * 1103515245 + 12345) % 2147483648))
		case $((n / 65536 % 6)) in
		0) echo 1 ;; 1) echo 3 ;; 2) echo 16 ;; 3) echo 100 ;; *) echo 512 ;;
		esac >$REAL/max_run
		echo 16M >$GROUP/memory.reclaim
		echo 16M swappiness=0 >$GROUP/memory.reclaim
		usleep 50000
	done 2>/dev/null
}
inside() { # COMMAND
	sh -c "echo \\$\\$ >$GROUP/cgroup.procs && exec \\"\\$@\\"" inside "$@"
}
mkdir $GROUP
echo @LIMIT@ >$GROUP/memory.max
echo 0 >/sys/kernel/mm/ksm/run
for size in /sys/kernel/mm/transparent_hugepage/hugepages-*/enabled; do echo madvise >$size; done
echo always >/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled
inside @WARM@ >/dev/null 2>&1
report sample before -- sample
disturb @SEED@ &
report stress run -- inside @COMMAND@
kill $!
echo y >$REAL/enabled
echo 512 >$REAL/max_run
echo adaptive >$REAL/tables_policy
sleep 1
echo 1G >$GROUP/memory.reclaim 2>/dev/null
rmdir $GROUP
report sample after -- sample
"""


def fitting(kernel: str) -> tuple[str, ...]:
    """The stressors for a kernel series."""
    left_out = NOT_FROM_7_3 if Version.parse(kernel) >= Version.parse("7.3") else ()
    return tuple(name for name in STRESSORS if name not in left_out)


def need_stress_ng() -> Path:
    found = shutil.which("stress-ng")
    if not found:
        raise EnvironmentLacks("stress-ng is not installed: apt-get install stress-ng")
    return Path(found)


def stress_ng_files(target: Arch) -> dict[str, Path]:
    """Return stress-ng and what it is loaded with, by their places in the guest."""
    if target.foreign:
        root = foreign.root(target, ("stress-ng",))
        program, loaded = root.path / "usr/bin/stress-ng", root.libraries
    else:
        program, loaded = need_stress_ng(), initramfs.libraries
    return {"/bin/stress-ng": program, **loaded(program)}


def stress_ng(names: Sequence[str], seed: int, seconds: int) -> list[str]:
    """Return stress-ng's command: with little memory each, because swapping is slow."""
    amounts = ["--vm-bytes", "48M", "--mmap-bytes", "32M", "--shm-bytes", "4M"]
    chosen = [word for name in names for word in (f"--{name}", "1")]
    return [
        "stress-ng", *chosen, *amounts, "--verify", "--metrics-brief", "--temp-path", "/mnt",
        "--seed", str(seed), "--oomable", "--timeout", f"{seconds}s",
    ]  # fmt: skip


def memx(seed: int, seconds: int, cpus: int) -> list[str]:
    """Return memx's command; the seed chooses how rare slow operations are, and --drop."""
    rare, minutes = RARE[seed % len(RARE)], f"{seconds / 60:.2f}"
    drop = ["--drop"] if seed // len(RARE) % 2 else []
    return [
        "memx", "--seed", str(seed), "--rare", str(rare), "--procs", str(max(2, cpus)), *drop,
        "--minutes", minutes,
    ]  # fmt: skip


def script(command: Sequence[str], seed: int, flip: bool) -> str:
    """Return the guest's script for a command; a short warm-up run comes first."""
    warm = [*command[:-1], WARM[command[0]]]
    text = SCRIPT.replace("@COMMAND@", " ".join(command)).replace("@WARM@", " ".join(warm))
    text = text.replace("@SEED@", str(seed)).replace("@LIMIT@", LIMIT)
    return text.replace("@FLIP@", str(int(flip)))


SAMPLE = re.compile(r"(\S+) (\d+)$")
METRIC = re.compile(r"metrc: \[\d+\] (\S+)\s+(\d+) +[\d.]+ ", re.MULTILINE)
MEMX = re.compile(r"^(?:not )?ok 1 memx: (\d+) operations", re.MULTILINE)
INJECTED = re.compile(r"^# injected (\d+)", re.MULTILINE)
# madvise poisons pages of its own. If it uses one afterwards, it ends with the status FAILED, and
# without a message.
FAILED = 2
POISONED = re.compile(r"Sending SIGBUS to stress-ng\S* due to hardware memory corruption")
COMPLAINT = re.compile(r"^stress-ng: fail: .*", re.MULTILINE)


def operations(text: str) -> int:
    """Return the number of operations, as the program counts them."""
    return sum(int(number) for _, number in METRIC.findall(text)) + sum(
        int(number) for number in MEMX.findall(text)
    )


def injected(text: str) -> int:
    return sum(int(number) for number in INJECTED.findall(text))


def samples(heard: Transcript, when: str) -> dict[str, int]:
    """Return the counters of one sample, and two that are computed from others."""
    lines = [line for section in heard.of("sample", when) for line in section.lines]
    found = {match[1]: int(match[2]) for line in lines if (match := SAMPLE.match(line))}
    if "SwapTotal" in found:
        found["SwapUsed"] = found["SwapTotal"] - found["SwapFree"]
    if "nr_dying_descendants" in found:
        found["cgroups"] = found["nr_dying_descendants"]
    return found


def drift(heard: Transcript, cpus: int) -> list[str]:
    """Return a message for each counter that grew beyond its bound."""
    before, after = samples(heard, "before"), samples(heard, "after")
    bounds = {**BOUNDS, "SwapUsed": max(1024, cpus * SWAP_OF_CPU)}
    missing = [name for name in bounds if name not in before or name not in after]
    if missing:
        return [f"no samples of {', '.join(missing)}"]
    return [
        f"{name} grew by {after[name] - before[name]} (at most {bound})"
        for name, bound in bounds.items()
        if after[name] - before[name] > bound
    ]


def judge(heard: Transcript, cpus: int) -> list[str]:
    """Return the problems: errors that the program found, its status, and memory it leaked."""
    found = heard.of("stress")
    if not found or found[-1].status is None:
        return ["the program did not end"]
    problems = COMPLAINT.findall(heard.text)
    tests = tap.parse(found[-1].text, "memx") if "TAP version" in found[-1].text else []
    problems += [
        f"{test.name} {test.detail}".strip() for test in tests if test.verdict is Verdict.FAILED
    ]
    poisoned = found[-1].status == FAILED and POISONED.search(heard.console)
    if found[-1].status not in (0, *HARMLESS) and not problems and not poisoned:
        problems.append(f"status {found[-1].status}")
    if not operations(heard.text):
        problems.append("the program did no operations")
    return problems + drift(heard, cpus)
