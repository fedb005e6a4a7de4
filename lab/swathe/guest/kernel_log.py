# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel complains about on its console.

Warnings and bad accesses end the guest (panic_on_warn, oops=panic), but not all complaints are
of that kind: a counter that is not zero when a process ends, or a page in a bad state, is told
in one line, and the guest goes on.

Stalls that RCU notices are left out: a busy host makes any guest stall.
"""

import re

COMPLAINT = re.compile(
    r"BUG: |WARNING: |KASAN: |KCSAN: |UBSAN: |Oops: |Kernel panic|general protection fault"
    r"|unable to handle|possible (?:circular|recursive) locking|inconsistent lock state"
    r"|suspicious RCU usage|INFO: task .* blocked"
)
TIME = re.compile(r"^\[ *\d+\.\d+\](?:\[ *[CT]\d+\])? ?")


def find(console: str) -> list[str]:
    """The lines that begin a complaint, without their times."""
    lines = (TIME.sub("", line).strip() for line in console.splitlines())
    return [line for line in lines if COMPLAINT.search(line)]
