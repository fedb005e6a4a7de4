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
# The line before the first one that COMPLAINT matches.
AT = re.compile(r"kernel BUG at ")
# An error message ends with its call trace, or where another one begins.
END = re.compile(r"---\[ end |</TASK>|={20}|\[ cut here \]|BUG: |Kernel panic")
TIME = re.compile(r"^\[ *\d+\.\d+\](?:\[ *[CT]\d+\])? ?")


def plain(console: str) -> list[str]:
    """Return the lines without their time stamps."""
    return [TIME.sub("", line).strip() for line in console.splitlines()]


def find(console: str) -> list[str]:
    """Return the first line of each error message, without the time stamp."""
    return [line for line in plain(console) if COMPLAINT.search(line)]


def first_report(console: str) -> list[str]:
    """Return the lines of the first error message, up to the end of its call trace."""
    report: list[str] = []
    for line in plain(console):
        if report and END.search(line):
            break
        if report or COMPLAINT.search(line) or AT.match(line):
            report.append(line)
    return report
