# SPDX-License-Identifier: GPL-2.0-only
"""Kernels that CI tests beside the usual one: the newest that there are hooks for, and arm64.

They are without KASAN and lockdep, and run KUnit and the programs that say most in the time that
CI has; `./swathe test guest --kernel 7.3` and `--arch arm64` run all, with both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from swathe.base.verdicts import Test
from swathe.check import mm_only, selftest_guests
from swathe.check.selftests import SelftestRequest
from swathe.guest import initramfs
from swathe.kernel import apt, source
from swathe.kernel.arch import ARM64
from swathe.measure import columns

VARIANT = "light"


@dataclass(frozen=True)
class OtherKernel:
    """A part of the tests: what its kernel is instead of the usual one, and what runs in it.

    fetch: what can be fetched beforehand
    """

    part: str
    instead: Mapping[str, Any]
    programs: tuple[str, ...]
    fetch: tuple[Callable[[], object], ...]

    def asked(self, usual: SelftestRequest) -> SelftestRequest:
        kernel = replace(usual.kernel, **self.instead, variant=VARIANT)
        return replace(usual.in_kernel(kernel), kunit=True, programs=self.programs)

    def run(self, usual: SelftestRequest) -> list[Test]:
        """Build that kernel, and run the tests in it."""
        return [
            replace(test, name=f"{self.part}: {test.name}")
            for test in selftest_guests.run(self.asked(usual))
        ]

    def compile(self, usual: SelftestRequest) -> list[Test]:
        return mm_only.run(self.part, self.asked(usual).kernel)


# Discarding, eviction to swap, tables that are freed, neighbours. A given source is of another
# kernel.
NEWEST = OtherKernel(
    "newest", {"kernel": columns.NEWEST, "source": None},
    ("ahead", "discard", "freeing", "kept", "swap"),
    (lambda: source.get(columns.NEWEST),),
)  # fmt: skip
# Tables beside huge pages of contiguous entries: what is most arm64's own.
CROSS = OtherKernel(
    "arm64", {"arch": ARM64.name}, ("hugetlb",),
    (lambda: apt.need(ARM64.packages), lambda: initramfs.busybox(ARM64)),
)  # fmt: skip
