# SPDX-License-Identifier: GPL-2.0-only
"""Run long tasks in parallel, as memory and processors allow; the first failure stops the rest."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

# The stop signals of all crews at work, and whether all are to stop.
STOPS: set[threading.Event] = set()
END = threading.Event()
A = TypeVar("A")
T = TypeVar("T")
POLL = 0.2


@dataclass(frozen=True)
class Task(Generic[T]):
    """A function that returns soon after the event is set.

    Tasks with a higher cost start first; memory is in bytes.
    """

    run: Callable[[threading.Event], T]
    cost: float = 1
    memory: int = 0


@dataclass
class Crew(Generic[T]):
    """The running and the waiting tasks, their results and failures."""

    limit: int
    memory: int
    waiting: list[tuple[int, Task[T]]]
    stop: threading.Event = field(default_factory=threading.Event)
    running: dict[Future[None], Task[T]] = field(default_factory=dict)
    results: dict[int, T] = field(default_factory=dict)
    failures: list[BaseException] = field(default_factory=list)

    def fits(self, task: Task[T]) -> bool:
        """Whether the task may start now; it always may if no other task runs."""
        used = sum(other.memory for other in self.running.values())
        return not self.running or (
            len(self.running) < self.limit and used + task.memory <= self.memory
        )

    def start(self, pool: ThreadPoolExecutor) -> None:
        """Start the waiting tasks that fit, in order of cost."""
        for entry in list(self.waiting):
            if self.fits(entry[1]):
                self.waiting.remove(entry)
                # The task is charged to the part that this thread works for.
                work = partial(copy_context().run, self.work, *entry)
                self.running[pool.submit(work)] = entry[1]

    def work(self, index: int, task: Task[T]) -> None:
        """Run one task in its thread, and record its result or failure."""
        try:
            self.results[index] = task.run(self.stop)
        except BaseException as error:
            self.failures.append(error)
            self.stop.set()

    def run_tasks(self, pool: ThreadPoolExecutor) -> None:
        """Start tasks until all are done or one has failed."""
        while (self.running or self.waiting) and not self.stop.is_set():
            self.start(pool)
            done, _ = wait(self.running, timeout=POLL, return_when=FIRST_COMPLETED)
            for future in done:
                del self.running[future]

    def run(self) -> list[T]:
        STOPS.add(self.stop)
        if END.is_set():
            self.stop.set()
        with ThreadPoolExecutor(max_workers=self.limit) as pool:
            try:
                self.run_tasks(pool)
            finally:  # the pool joins its threads also after an exception
                self.stop.set()
                STOPS.discard(self.stop)
        if self.failures:
            raise self.failures[0]
        return [self.results[index] for index in sorted(self.results)]


def end_all() -> None:
    """Stop all crews, those that have yet to begin, too."""
    END.set()
    for stop in list(STOPS):
        stop.set()


def available_memory() -> int:
    """Return the bytes that programs can allocate without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def run(tasks: Sequence[Task[T]], limit: int) -> list[T]:
    """Run the tasks, the longest first, and return the results in the order of the tasks."""
    order = sorted(enumerate(tasks), key=lambda entry: -entry[1].cost)
    return Crew(limit, available_memory(), order).run()


def each(work: Callable[[A], T], items: Iterable[A], memory: int = 0) -> list[T]:
    """Call work() for each item, one call per processor at a time, and return the results.

    Calls cannot be stopped early, so work() must be short.
    """
    tasks = [Task(partial(ignore_stop, work, item), memory=memory) for item in items]
    return run(tasks, processors())


def ignore_stop(work: Callable[[A], T], item: A, _: threading.Event) -> T:
    return work(item)


def processors() -> int:
    return len(os.sched_getaffinity(0))
