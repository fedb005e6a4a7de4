# SPDX-License-Identifier: GPL-2.0-only
"""What the plugin sees of locks in machine code, and of preemption and interrupts."""

from collections.abc import Callable
from pathlib import Path

import pytest
from machine_code import BEGIN, CALL, END, NOP, REPORT, RET, block, compiled, fed, marked

from swathe.measure import locks
from swathe.measure.locks import Hold, LockRegion

# Where each function begins; what follows a function belongs to it.
ENTRY, FAULT, TIMER, STUBS = 0x1000, 0x1100, 0x1200, 0x1300
ONE, OTHER, THIRD = 0x2000, 0x2100, 0x2200
SPIN, TRY, SAVE, READ = 0x3000, 0x3100, 0x3200, 0x3300
DOWN_READ, DOWN_WRITE, TRY_WRITE, UP_READ, UP_WRITE, DOWNGRADE = range(0x4000, 0x4600, 0x100)
TRY_READ, AGENT = 0x4600, 0x4700
ALLOC = 0x5000
KERNEL = {
    "entry_SYSCALL_64": ENTRY,
    "asm_exc_page_fault": FAULT,
    "asm_sysvec_apic_timer_interrupt": TIMER,
    "irq_entries_start": STUBS,
    "one": ONE,
    "other": OTHER,
    "third": THIRD,
    "_raw_spin_lock": SPIN,
    "_raw_spin_trylock": TRY,
    "_raw_spin_lock_irqsave": SAVE,
    "_raw_read_lock": READ,
    "down_read": DOWN_READ,
    "down_write": DOWN_WRITE,
    "down_write_trylock": TRY_WRITE,
    "up_read": UP_READ,
    "up_write": UP_WRITE,
    "downgrade_write": DOWNGRADE,
    "down_read_trylock": TRY_READ,
    "folio_lruvec_lock": AGENT,
    "pte_alloc_one": ALLOC,
    "___pte_free_tlb": 0x5100,
    "native_flush_tlb_global": 0x5200,
    "native_flush_tlb_multi": 0x5300,
}
LOCK, SECOND = 0xA000, 0xB000
CLI, STI, IRET = "fa", "fb", "48cf"


def cmpxchg(lock: int) -> str:
    return f"3e0fb117 w {lock:x}"


def xadd(lock: int) -> str:
    return f"3e0fc107 w {lock:x}"


def movb(lock: int) -> str:
    return f"c60700 w {lock:x}"


def takes(function: int, caller: int = ONE, lock: int = LOCK) -> str:
    """A call whose update and return are part of the hold: two instructions."""
    return block(caller, CALL) + block(function, NOP, cmpxchg(lock), RET)


def releases(after: int = 0, lock: int = LOCK, caller: int = ONE) -> str:
    """An inlined release of a spinlock, after so many instructions."""
    return block(caller + 5, *[NOP] * after, movb(lock))


def ups(function: int, lock: int = LOCK) -> str:
    """A call that releases a lock that sleeps, with two instructions of the hold."""
    return block(ONE, CALL) + block(function, NOP, xadd(lock), RET)


def begin() -> str:
    return block(0x10, BEGIN)


def end() -> str:
    return block(0x20, END) + block(0x30, REPORT)


@pytest.fixture
def see(tmp_path: Path) -> Callable[[str], LockRegion]:
    def run(blocks: str) -> LockRegion:
        text = fed(compiled(1), tmp_path, "locks", blocks, KERNEL.items())
        (found,) = locks.parse(text.splitlines())
        return found

    return run


See = Callable[[str], LockRegion]


def holds(region: LockRegion) -> dict[str, tuple[int, int, int, int]]:
    """Acquisitions, holds, their sum and the longest, by taker."""
    found = sum_by_taker(region)
    return {
        who: (one.acquired, one.times, one.total, one.longest)
        for who, one in found.items()
        if one.acquired or one.times
    }


def sum_by_taker(region: LockRegion) -> dict[str, Hold]:
    found: dict[str, Hold] = {}
    for one in region.taken:
        found[one.hold.who] = found.get(one.hold.who, Hold()) + one.hold
    return found


def test_a_hold_is_from_the_update_to_the_store(see: See) -> None:
    found = see(marked(takes(SPIN), releases(5)))
    assert holds(found) == {"one": (1, 1, 7, 7)}
    assert found.instructions == 1 + 1 + 3 + 6
    assert found.contradictions == 0


def test_the_longest_is_no_mean(see: See) -> None:
    found = see(marked(takes(SPIN), releases(8), takes(SPIN), releases(0), takes(SPIN), releases()))
    assert holds(found) == {"one": (3, 3, 10 + 2 + 2, 10)}
    assert Hold(3, 3, 14, 10).mean() == 14 / 3


def test_what_others_hold_is_their_own(see: See) -> None:
    found = see(
        marked(
            takes(SPIN), releases(3), takes(SPIN, OTHER), releases(4),
            takes(SPIN, OTHER, SECOND), releases(0, SECOND),
        )
    )  # fmt: skip
    assert holds(found) == {"one": (1, 1, 5, 5), "other": (2, 2, 8, 6)}
    assert {one.address for one in found.taken} == {"a000", "b000"}


@pytest.mark.parametrize(
    "store",
    [movb(SECOND), movb(LOCK).replace(" w ", " r "), f"c70700000000 w {LOCK:x}", cmpxchg(LOCK)],
)
def test_what_is_no_release(see: See, store: str) -> None:
    """Another lock, a load, a wider store, the update of a count beside the lock."""
    found = see(marked(takes(SPIN), block(ONE + 5, store), releases(1)))
    assert holds(found) == {"one": (1, 1, 4, 4)}


def test_a_trylock_fails_without_an_update(see: See) -> None:
    fails = block(OTHER, CALL) + block(TRY, NOP, RET)
    found = see(marked(takes(SPIN), fails, releases(), takes(TRY, THIRD), releases()))
    assert holds(found) == {"one": (1, 1, 5, 5), "third": (1, 1, 2, 2)}


@pytest.mark.parametrize("function", [TRY, TRY_WRITE, TRY_READ])
def test_a_trylock_of_a_held_lock_takes_nothing(see: See, function: int) -> None:
    first, last = (SPIN, releases()) if function == TRY else (DOWN_WRITE, ups(UP_WRITE))
    found = see(marked(takes(first), takes(function, OTHER), last))
    assert list(holds(found)) == ["one"]
    assert found.contradictions == 0


def test_an_update_that_is_tried_again_takes_the_lock_once(see: See) -> None:
    loop = block(ONE, CALL) + block(DOWN_READ, cmpxchg(LOCK)) + block(DOWN_READ + 4, cmpxchg(LOCK))
    found = see(marked(loop, ups(UP_READ)))
    assert holds(found) == {"one": (1, 1, 4, 4)}


def test_a_spinlock_that_is_taken_twice_is_a_contradiction(see: See) -> None:
    found = see(marked(takes(SPIN), takes(SPIN, OTHER), releases()))
    assert found.contradictions == 1
    assert holds(found)["other"] == (1, 1, 2, 2)


def test_a_program_runs_without_spinlocks(see: See) -> None:
    assert see(marked(takes(SPIN), takes(SPIN, OTHER, SECOND))).contradictions == 2
    # Before the region nothing counts.
    assert see(takes(SPIN) + marked(takes(SPIN), releases())).contradictions == 0


def test_a_hold_counts_as_far_as_it_lies_between_the_marks(see: See) -> None:
    work = block(OTHER, *[NOP] * 9)
    around = see(takes(DOWN_WRITE) + work + begin() + work + end() + ups(UP_WRITE))
    # The mark of the beginning is counted, too.
    assert holds(around) == {"one": (0, 1, 10, 10)}
    into = see(takes(DOWN_WRITE) + work + begin() + work + ups(UP_WRITE) + work + end())
    assert holds(into) == {"one": (0, 1, 12, 12)}
    outof = see(begin() + work + takes(DOWN_WRITE) + work + end())
    assert holds(outof) == {"one": (1, 1, 11, 11)}


def test_only_the_last_region_counts(see: See) -> None:
    first = begin() + takes(SPIN) + releases(7) + block(0x20, END)
    assert holds(see(first + marked(takes(SPIN), releases(1)))) == {"one": (1, 1, 3, 3)}


def test_readers_share_a_hold(see: See) -> None:
    both = takes(DOWN_READ) + takes(DOWN_READ, OTHER)
    found = see(marked(both, ups(UP_READ), ups(UP_READ)))
    assert holds(found) == {"one": (1, 1, 2 + 4 + 4 + 2, 12), "other": (1, 0, 0, 0)}


def test_who_waits_holds_from_the_release(see: See) -> None:
    text = marked(
        takes(DOWN_READ), takes(DOWN_WRITE, OTHER), ups(UP_READ), block(OTHER, NOP), ups(UP_WRITE)
    )
    assert holds(see(text)) == {"one": (1, 1, 8, 8), "other": (1, 1, 2 + 1 + 2, 5)}


def test_a_writer_becomes_a_reader(see: See) -> None:
    both = takes(DOWN_WRITE) + ups(DOWNGRADE) + takes(DOWN_READ, OTHER)
    found = see(marked(both, ups(UP_READ), ups(UP_READ)))
    assert holds(found) == {"one": (1, 1, 2 + 4 + 4 + 4 + 2, 16), "other": (1, 0, 0, 0)}


def test_a_read_lock_is_released_by_an_update(see: See) -> None:
    found = see(marked(takes(READ), block(ONE + 5, movb(LOCK), xadd(LOCK))))
    assert holds(found) == {"one": (1, 1, 3, 3)}
    assert found.off["preemption"].longest == 3


INTERRUPT = block(TIMER, NOP, NOP, NOP, IRET)
# A device's interrupt enters by a stub.
DEVICE = block(STUBS + 8, NOP) + block(OTHER, NOP, NOP, NOP, IRET)


@pytest.mark.parametrize("interrupt", [INTERRUPT, DEVICE])
def test_an_interrupt_in_a_hold_is_left_out(see: See, interrupt: str) -> None:
    found = see(marked(takes(SPIN), interrupt, releases(5)))
    assert holds(found) == {"one": (1, 1, 7, 7)}
    assert found.off["preemption"].longest == 7


def test_an_interrupt_has_holds_of_its_own(see: See) -> None:
    inside = (
        block(TIMER, NOP) + takes(SPIN, OTHER, SECOND) + releases(3, SECOND) + block(OTHER, IRET)
    )
    found = see(marked(takes(SPIN), inside, releases(1)))
    assert holds(found) == {"one": (1, 1, 3, 3), "other": (1, 1, 5, 5)}


def test_a_fault_is_part_of_the_hold(see: See) -> None:
    assert holds(see(marked(takes(SPIN), block(FAULT, NOP, IRET), releases()))) == {
        "one": (1, 1, 4, 4)
    }


def test_no_interrupt_outlives_the_kernel(see: See) -> None:
    """It can leave the kernel in another way than it came."""
    leaves = block(ONE, NOP) + block(TIMER, NOP) + block(0x40, NOP)
    assert holds(see(marked(leaves, takes(SPIN), INTERRUPT, releases(5)))) == {"one": (1, 1, 7, 7)}


def test_a_fault_in_an_interrupt_returns_to_it(see: See) -> None:
    inside = block(TIMER, NOP) + block(FAULT, NOP, IRET) + block(OTHER, *[NOP] * 9, IRET)
    assert holds(see(marked(takes(SPIN), inside, releases(5)))) == {"one": (1, 1, 7, 7)}


def test_an_interrupt_does_not_hide_who_takes_a_lock(see: See) -> None:
    before = block(ONE, CALL) + INTERRUPT + block(SPIN, NOP, cmpxchg(LOCK), RET)
    inside = (
        block(TIMER, NOP) + takes(SPIN, OTHER, SECOND) + releases(0, SECOND) + block(OTHER, IRET)
    )
    within = block(ONE, CALL) + block(SPIN, NOP) + inside + block(SPIN + 1, cmpxchg(LOCK), RET)
    for taken in (before, within):
        assert holds(see(marked(taken, releases(1))))["one"] == (1, 1, 3, 3)


def test_who_initialises_a_lock_is_known(see: See) -> None:
    made = block(ALLOC, f"c7472800000000 w {LOCK:x}")
    (found,) = see(made + marked(takes(SPIN), releases())).taken
    assert (found.address, found.initialiser, found.hold.who) == ("a000", "pte_alloc_one", "one")


def test_who_lets_others_take_locks_is_told_with_its_caller(see: See) -> None:
    agent = block(ONE, CALL) + block(AGENT, NOP, CALL) + block(OTHER, NOP, RET)
    taken = agent + block(AGENT + 6, CALL) + block(SPIN, NOP, cmpxchg(LOCK), RET)
    found = see(marked(taken, releases(1), takes(SPIN, THIRD, SECOND), releases(0, SECOND)))
    assert holds(found) == {"one;folio_lruvec_lock": (1, 1, 3, 3), "third": (1, 1, 2, 2)}
    assert found.off["preemption"].who == "one;folio_lruvec_lock"


def test_takers_before_the_region_are_told(see: See) -> None:
    before = takes(SPIN, OTHER) + releases() + takes(SPIN, THIRD, SECOND) + releases(0, SECOND)
    found = see(before + marked(takes(SPIN), releases()))
    assert {(one.address, one.hold.who) for one in found.taken} == {
        ("a000", "one"),
        ("a000", "other"),
    }
    assert list(holds(found)) == ["one"]


def test_preemption_is_off_while_any_spinlock_is_held(see: See) -> None:
    nested = takes(SPIN) + takes(SPIN, OTHER, SECOND) + releases(0) + releases(4, SECOND)
    found = see(marked(nested, takes(SPIN, THIRD), releases(), takes(DOWN_READ), ups(UP_READ)))
    off = found.off["preemption"]
    assert (off.times, off.longest, off.who) == (2, 2 + 4 + 1 + 4, "one")
    assert off.total == off.longest + 2


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (block(ONE, CLI, NOP, STI), (1, 2, "one")),
        (block(ONE, CLI, NOP, CLI, NOP, STI, NOP, STI), (1, 4, "one")),
        (block(ONE, CLI) + block(OTHER, NOP) + block(THIRD, NOP, STI), (1, 3, "one")),
        (block(ONE, CALL) + block(SAVE, CLI, RET) + block(ONE + 5, STI), (1, 2, "one")),
        (block(ONE, CLI, NOP) + block(0x40, NOP), (1, 2, "one")),  # returns to a program
        (block(ONE, CLI, NOP, IRET) + block(ONE, NOP), (1, 3, "one")),
        (block(ONE, STI), (0, 0, "[user]")),
    ],
)
def test_interrupts_are_off(see: See, blocks: str, expected: tuple[int, int, str]) -> None:
    # The program's system call comes first: its entry masks interrupts, for one instruction.
    found = see(marked(block(ENTRY, STI), blocks)).off["interrupts"]
    times, longest, who = expected
    assert (found.times - 1, found.longest) == (times, longest)
    assert found.who == (who if times else "entry_SYSCALL_64")


def test_a_system_call_begins_without_interrupts(see: See) -> None:
    found = see(marked(block(ENTRY, NOP, NOP) + block(ONE, NOP, STI))).off["interrupts"]
    assert (found.times, found.longest, found.who) == (1, 3, "entry_SYSCALL_64")


@pytest.mark.parametrize(("first", "longest"), [(block(ONE, STI, NOP), 0), ("", 3)])
def test_interrupts_come_by_chance(see: See, first: str, longest: int) -> None:
    """They mask others while they run: in the kernel this never counts, in a program at first."""
    inside = block(TIMER, *[NOP] * 9, STI, CLI, NOP, IRET)
    found = see(marked(block(ENTRY, STI), block(0x40, NOP), first, inside, block(0x40, NOP)))
    assert found.off["interrupts"].longest == longest
