# SPDX-License-Identifier: GPL-2.0-only
"""The newest kernel that there are hooks for: KUnit, and some system-call tests.

The programs are those that say most in the time that CI has; `./swathe test guest --kernel 7.3`
runs all.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from swathe.base.verdicts import Test
from swathe.check import selftest_guests, selftests
from swathe.kernel import source
from swathe.measure.columns import NEWEST

PART = "newest"
VARIANT = "light"
# Discarding, eviction to swap, tables that are freed.
PROGRAMS = ("discard", "kept", "swap")


def asked(usual: selftests.SelftestRequest) -> selftests.SelftestRequest:
    """What is tested of the newest kernel; a given source is of another one."""
    kernel = replace(usual.kernel, kernel=NEWEST, source=None, variant=VARIANT)
    return replace(usual, kernel=kernel, kunit=True, programs=PROGRAMS)


def fetches(wanted: selftests.SelftestRequest) -> tuple[Callable[[], object], ...]:
    """What can be fetched beforehand."""
    return (partial(source.get, wanted.kernel.kernel),)


def run(usual: selftests.SelftestRequest) -> list[Test]:
    """Build that kernel, and run the tests in it."""
    return [
        replace(test, name=f"{PART}: {test.name}") for test in selftest_guests.run(asked(usual))
    ]
