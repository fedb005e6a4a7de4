# SPDX-License-Identifier: GPL-2.0-only
"""Find the kernel's error messages in a console log.

Warnings and bad accesses end the guest (panic_on_warn, oops=panic). Other errors do not: the
kernel prints a line about a nonzero counter of an exiting mm, or about a page in a bad state,
and goes on. It says once that a workqueue is deprecated; only mm/unmap's work is ours.

RCU stall messages are ignored: a busy host makes any guest stall.
"""

import re

COMPLAINT = re.compile(
    r"BUG: |WARNING: |KASAN: |KCSAN: |UBSAN: |Oops: |Kernel panic|general protection fault"
    r"|unable to handle|possible (?:circular|recursive) locking|inconsistent lock state"
    r"|suspicious RCU usage|INFO: task .* blocked|worker_run enqueued on deprecated"
)
TIME = re.compile(r"^\[ *\d+\.\d+\](?:\[ *[CT]\d+\])? ?")


def find(console: str) -> list[str]:
    """Return the first line of each error message, without the time stamp."""
    lines = (TIME.sub("", line).strip() for line in console.splitlines())
    return [line for line in lines if COMPLAINT.search(line)]
