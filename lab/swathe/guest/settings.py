# SPDX-License-Identifier: GPL-2.0-only
"""What changes figures in a guest's kernel: which LRU, huge pages, preemption, mitigations.

The kernel decides some of it when it boots: the processor's model says which mitigations are
needed. So the guest's script asks the running kernel, before the first program.
"""

import re
from collections.abc import Iterable, Sequence

from swathe.guest.sections import Section

WORDS = ("guest",)
LRU = "/sys/kernel/mm/lru_gen/enabled"
HUGE = "/sys/kernel/mm/transparent_hugepage/enabled"
PREEMPT = "/sys/kernel/debug/sched/preempt"
VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"
CPU = "/proc/cpuinfo"
CLEARED = "heap alloc:on"
ISOLATED = "pti"
MITIGATED = "Mitigation: "
LINES = (
    f"settings() {{ grep -Hs . {LRU} {HUGE} {PREEMPT} {VULNERABILITIES}/*",
    f"grep -Hsow -m1 {ISOLATED} {CPU}; dmesg | grep -o '{CLEARED}'; :; }}",
    f"report {' '.join(WORDS)} -- settings",
)
# The choice in force is in brackets: "[always] madvise never", "none (voluntary) full".
CHOSEN = re.compile(r"[\[(](\w+)[\])]")


def choose_lru(mode: str) -> list[str]:
    """Return the line of a guest's script that chooses between the two LRUs."""
    return [f"echo {mode} >{LRU} || exit 9"] if mode else []


def others(sections: Iterable[Section]) -> list[Section]:
    """The reports of programs."""
    return [section for section in sections if section.words != WORDS]


def read(sections: Iterable[Section]) -> str:
    """What the guests' kernels said; the same is said once."""
    said = (describe(section.lines) for section in sections if section.words == WORDS)
    return " / ".join(dict.fromkeys(said))


def describe(lines: Sequence[str]) -> str:
    """One line from those that the guest printed."""
    found = dict(line.split(":", 1) for line in lines if line.startswith("/"))
    return ", ".join([*general(found, lines), mitigations(found)])


def general(found: dict[str, str], lines: Sequence[str]) -> list[str]:
    lru = f"MGLRU {found[LRU]}" if LRU in found else "classic LRU"
    huge = f"huge pages {chosen(found.get(HUGE, '(none)'))}"
    preempt = f"preemption {chosen(found[PREEMPT])}" if PREEMPT in found else ""
    cleared = "pages cleared when allocated" if CLEARED in lines else ""
    isolated = f"page-table isolation {'on' if found.get(CPU) == ISOLATED else 'off'}"
    return [part for part in (lru, huge, preempt, cleared, isolated) if part]


def chosen(text: str) -> str:
    match = CHOSEN.search(text)
    return match[1] if match else text


def mitigations(found: dict[str, str]) -> str:
    """The mitigations in force, each by the fault that it is for."""
    active = {
        path.rpartition("/")[2]: said.removeprefix(MITIGATED)
        for path, said in found.items()
        if path.startswith(VULNERABILITIES) and said.startswith(MITIGATED)
    }
    return f"mitigations: {'; '.join(f'{name} ({how})' for name, how in active.items()) or 'none'}"
