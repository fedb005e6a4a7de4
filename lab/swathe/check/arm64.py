# SPDX-License-Identifier: GPL-2.0-only
"""arm64: all of the kernel is cross-compiled; KUnit and a system-call test run in it.

The kernel is without KASAN and lockdep, and the one program is what is most arm64's own, so that
CI has the time; `./swathe test guest --arch arm64` runs all, with them.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from swathe.base.verdicts import Test
from swathe.check import selftest_guests, selftests
from swathe.guest import initramfs
from swathe.kernel import apt
from swathe.kernel.arch import ARM64

PART = "arm64"
VARIANT = "light"
# Tables beside huge pages of contiguous entries.
PROGRAMS = ("hugetlb",)


def asked(usual: selftests.SelftestRequest) -> selftests.SelftestRequest:
    """What is tested on arm64: of the kernel that is tested on x86-64."""
    kernel = replace(usual.kernel, arch=ARM64.name, variant=VARIANT)
    return replace(usual.in_kernel(kernel), kunit=True, programs=PROGRAMS)


def fetches(_: selftests.SelftestRequest) -> tuple[Callable[[], object], ...]:
    """What can be fetched beforehand."""
    return (partial(apt.need, ARM64.packages), partial(initramfs.busybox, ARM64))


def run(usual: selftests.SelftestRequest) -> list[Test]:
    """Build that kernel, and run the tests in it."""
    return [
        replace(test, name=f"{PART}: {test.name}") for test in selftest_guests.run(asked(usual))
    ]
