# SPDX-License-Identifier: GPL-2.0-only
"""Share this machine's processors between parts that run side by side.

Whoever is about to keep a processor busy for long (a guest, a build, a search) takes one first.
Builds go before guests: other parts wait for them.
"""

import contextlib
import heapq
import itertools
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from swathe.base import parallel, ui


def seconds() -> float:
    return time.monotonic()


@dataclass
class Account:
    """The seconds in which a part wanted a processor, and had none.

    Of several parts that want one, that with the lowest rank gets it.
    """

    name: str
    rank: int = 0
    wanting: int = 0
    having: int = 0
    since: float = 0.0
    waited: float = 0.0

    def change(self, wanting: int, having: int) -> None:
        """Add to what is wanted and had; the caller holds the lock."""
        now = seconds()
        if self.wanting and not self.having:
            self.waited += now - self.since
        self.wanting += wanting
        self.having += having
        self.since = now


@dataclass
class Processors:
    """So many processors, and who waits for one: urgent ones first, then by rank, in order."""

    free: int
    changed: threading.Condition = field(default_factory=threading.Condition)
    waiting: list[tuple[bool, int, int]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def take(self, account: Account, urgent: bool) -> None:
        with self.changed:
            place = (not urgent, account.rank, next(self.numbers))
            heapq.heappush(self.waiting, place)
            account.change(wanting=1, having=0)
            while not self.free or self.waiting[0] != place:
                self.changed.wait()
            heapq.heappop(self.waiting)
            self.free -= 1
            account.change(wanting=-1, having=1)
            self.changed.notify_all()

    def give_back(self, account: Account) -> None:
        with self.changed:
            self.free += 1
            account.change(wanting=0, having=-1)
            self.changed.notify_all()


@dataclass
class Shared:
    """The processors that are shared now, if any."""

    processors: Processors | None = None


SHARED = Shared()
CURRENT: ContextVar[Account | None] = ContextVar("account", default=None)


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """Have one() share this machine's processors, until the block ends."""
    SHARED.processors = Processors(parallel.processors())
    try:
        yield
    finally:
        SHARED.processors = None


@contextlib.contextmanager
def charged(account: Account) -> Iterator[None]:
    """Charge what this thread, and tasks that it starts, wait for to an account."""
    token = CURRENT.set(account)
    label = ui.LABEL.set(account.name)
    try:
        yield
    finally:
        ui.LABEL.reset(label)
        CURRENT.reset(token)


@contextlib.contextmanager
def one(urgent: bool = False) -> Iterator[None]:
    """Hold a processor, if they are shared. Who holds one must not ask for another."""
    processors = SHARED.processors
    if not processors:
        yield
        return
    account = CURRENT.get() or Account("")
    processors.take(account, urgent)
    try:
        yield
    finally:
        processors.give_back(account)
