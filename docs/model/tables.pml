/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How an empty PTE table is freed, and a full one is dropped, beside all who look at tables,
 * with and without locks.
 *
 * There are two PMD entries ("slots"), each with room for a table of two entries, three tables
 * of memory, two CPUs whose hardware fills its caches when it likes, and two actors, given as
 * FIRST and SECOND (a THIRD if memory allows), such as do_fault.  Without FIRST they are numbers
 * in the environment: to make a search takes longer than to run it.  Each actor does its work
 * once, at an address of its choice, from every state of the tables; only those who punch
 * holes go on as long as somebody waits for a page fault.  Memory is sequentially consistent.
 *
 * Steps: what stands in one d_step is one step to all others.  That is a lock with the test
 * that it is free; accesses of which only one can be seen by those who do not hold the
 * locks in question; taking a lock with what is looked at first under it, and dropping one with
 * what was done last; and rcu_read_lock() with the read after it, rcu_read_unlock() with the
 * unlock before it: a longer read section would only make grace periods longer.
 * want[] and gone[] are the model's own notes, which no actor reads.
 *
 * A law is taken away by defining one of
 *
 *   NO_RECHECK		a fault trusts a PMD read before it had the PTE lock
 *   NO_RCU		a table is memory again at once after the flush
 *   NO_FLUSH		nobody flushes what the CPUs know about a table
 *   LATE_FLUSH		free drops the PMD lock before the flush
 *   NO_SCAN		free trusts the emptiness that it noticed under an earlier lock
 *   NO_MMAP_LOCK	free does without the mmap lock where it came by the rmap lock; so does drop
 *   SECOND_LOOK	the same, but mremap looks at both PMDs again under the PTE locks
 *   MMAP_WAIT		free waits for the mmap lock with the PMD lock held, drop within a fault
 *   NO_CLEARED		free takes empty tables by the rmap lock in which it has cleared nothing
 *   LATE_PMD_LOCK	collapse of files takes the PMD lock when it has cleared the entries (stock)
 *   NO_PMD_REREAD	GUP-fast re-reads the entry, but not the PMD
 *   WRONG_ORDER	free takes the PTE lock first when it came by madvise
 *   PMD_WAIT		the same, and it waits for the PMD lock where it should try for it
 *   DROPPED_PASS	a pass that has dropped the PTE lock halfway is taken for a look at everything
 *   NO_ENTRY_REREAD	GUP-fast re-reads the PMD, but not the entry
 *   JUDGED_BEFORE	drop clears what it has judged under an earlier hold of the PTE lock
 *   NO_STRAYS		drop judges the entries of those VMAs only that are there
 *   RELEASE_FIRST	drop releases the pages, and flushes then
 *   DROPPED_LOCK	drop does without the PTE lock while it flushes
 *   UNHOOK_FIRST	drop unhooks the table before it releases the pages
 *   NO_LEAVE		a table that leaves its PMD stays in the list of those that wait
 *   LATE_LEAVE		the same, until it was handed to RCU
 *   LIST_DROPPED	who picks a table looks at its descriptor when the list's lock is dropped
 */

#ifdef SECOND_LOOK
#define NO_MMAP_LOCK
#endif

#ifdef THIRD
#define ACTORS 3
#else
#define ACTORS 2
#endif

/* What a PMD entry, a walk cache or a TLB entry holds: nothing, a table's number, or this. */
#define NONE 0
#define HUGE 4
#define is_table(value) ((value) != NONE && (value) != HUGE)

/* What a table's memory is.  UNUSED may be anybody's data: no one may look at it. */
#define UNUSED 0
#define TABLE 1
#define WAITING 2	/* for the end of a grace period */
#define DEPOSITED 3	/* kept for the day when the huge page is split */

/*
 * What an entry holds: nothing; a page of the page cache, which a minor fault can have back; a
 * page that nothing else leads to; or drop's note of which page was there, as a migration entry.
 */
#define CACHE 1
#define COPY 2
#define STAND_IN 3
#define present(value) ((value) == CACHE || (value) == COPY)

byte pmd[2];
byte entry[8];		/* by at(table, index) */
byte kind[4];		/* by table; 0 is no table */
bit pte_lock[4];
bit pmd_lock;
#define at(table, index) ((table) * 2 + (index))
#define empty(table) (!entry[at(table, 0)] && !entry[at(table, 1)])

/*
 * Two VMAs: either each slot is one VMA's, or the first entries of both slots are one's and
 * the second ones the other's.  Those who change VMAs hold the mmap lock and the VMA's lock for
 * writing.  For reading, faults hold no more than the VMA's lock, madvise the mmap lock, and
 * truncation, hole punches and reclaim no more than the lock of the VMA's rmap.
 */
bit shared;
byte mmap_readers;
bit mmap_writer;
byte vma_readers[2];
bit vma_writer[2];
byte rmap_readers[2];
bit rmap_writer[2];
/* By VMA: munmap() has taken it from all who find VMAs by address, or from the rmap, too. */
byte left[2];
#define DETACHED 1
#define UNLINKED 2
#define vma_of(slot, index) (shared -> (index) : (slot))

/* RCU, or interrupts being off: who is inside, and for whom a table's grace period waits. */
byte inside;
byte grace[4];
#define ME (1 << _pid)

/* Each CPU's walk cache and TLB, for one address that is chosen at the start. */
bit watched_slot;
bit watched_index;
byte walk[2];
byte tlb[2];

bit want[4];		/* by address: an entry was set and not cleared since */
byte pins[4];		/* by address: who holds a reference to its page by GUP-fast */
bit gone[4];		/* by address: its page was freed */
bit mapped[4];		/* by address: its page counts as mapped */
byte faults;		/* how many are not done */

/*
 * Tables that wait, and at which slot.  What is done under the list's lock is one step.  Unless one of
 * the actors frees what waits, the list is empty.  The policy is to free at once, or to wait.
 */
bit listed[4];
bit place[4];
bit waiters;
bit waits;
byte done;

/* --- Memory and RCU --------------------------------------------------------------------- */

/* Looking at a table, and taking its lock, which is in its descriptor. */
inline touch(table)
{
	assert(kind[table] != UNUSED)
}

/* Under a table's lock nobody finds a stand-in, and what is present counts as mapped. */
inline see(slot, index, table)
{
	assert(entry[at(table, index)] != STAND_IN);
	assert(!entry[at(table, index)] || mapped[at(slot, index)])
}

/* Whoever looks for what maps a page finds it: or truncation takes it for a bug. */
inline find(slot, index, table)
{
	see(slot, index, table);
	assert(entry[at(table, index)] || !mapped[at(slot, index)])
}

#define nothing_mapped(slot) (!mapped[at(slot, 0)] && !mapped[at(slot, 1)])

/* Law 17: who takes a table out of its PMD takes it out of the list, before it goes on. */
#ifdef NO_LEAVE
#define leave(table) skip
#else
#define leave(table) listed[table] = 0
#endif
#ifdef LATE_LEAVE
#define leave_first(table) skip
#define leave_last(table) leave(table)
#else
#define leave_first(table) leave(table)
#define leave_last(table) skip
#endif

/* unmap_table_wait(): its lock is held, and it was seen empty. */
inline list_table(slot, table)
{
	listed[table] = 1;
	place[table] = slot
}

/* To free is to give up all knowledge of it: a CPU that has it cached may read it any time. */
inline free_table(table)
{
	assert(empty(table) && !pte_lock[table]);
	assert(pmd[0] != table && pmd[1] != table);
	assert(walk[0] != table && walk[1] != table);
	assert(tlb[0] != table && tlb[1] != table);
	kind[table] = UNUSED
}

inline call_rcu(table)
{
	leave_first(table);
	d_step {
#ifdef NO_RCU
		free_table(table);
#else
		kind[table] = WAITING;
		grace[table] = inside;
#endif
	}
	leave_last(table);
	table = NONE
}

inline leave_rcu()
{
	inside = inside & ~ME;
	grace[1] = grace[1] & ~ME;
	grace[2] = grace[2] & ~ME;
	grace[3] = grace[3] & ~ME
}

#define grace_over(table) (kind[table] == WAITING && grace[table] == 0)

proctype rcu()
{
end:	do
	:: d_step { grace_over(1) -> free_table(1) }
	:: d_step { grace_over(2) -> free_table(2) }
	:: d_step { grace_over(3) -> free_table(3) }
	od
}

/* --- Locks ------------------------------------------------------------------------------- */

inline lock(mutex)
{
	d_step { !mutex -> mutex = 1 }
}

inline lock_table(table)
{
	d_step { !pte_lock[table] -> touch(table); pte_lock[table] = 1 }
}

inline unlock_table(table)
{
	d_step { touch(table); pte_lock[table] = 0 }
}

inline read_lock(readers, writer)
{
	d_step { !writer -> readers++ }
}

inline write_lock(readers, writer)
{
	d_step { !writer && readers == 0 -> writer = 1 }
}

/* A VMA's lock, under the mmap lock, unless what is looked for was taken away. */
inline write_lock_found(vma, away)
{
	d_step { !(away) && !vma_writer[vma] && vma_readers[vma] == 0 -> vma_writer[vma] = 1 }
}

/* pte_offset_map() */
inline map(slot, table)
{
	d_step { inside = inside | ME; table = pmd[slot] }
}

inline unmap()
{
	d_step { leave_rcu() }
}

/* pte_unmap_unlock() */
inline unmap_unlock(table)
{
	d_step { touch(table); pte_lock[table] = 0; leave_rcu() }
}

/* Law 8. */
#ifdef NO_RECHECK
#define moved(slot, table) false
#else
#define moved(slot, table) (pmd[slot] != table)
#endif

/* --- The CPUs' caches ---------------------------------------------------------------------- */

#define agree(one, other) ((one) == NONE || (other) == NONE || (one) == (other))

/* An address is never translated in two ways, not even on two CPUs. */
#define coherent \
	(agree(walk[0], walk[1]) && agree(tlb[0], tlb[1]) && \
	 agree(walk[0], tlb[0]) && agree(walk[0], tlb[1]) && \
	 agree(walk[1], tlb[0]) && agree(walk[1], tlb[1]))

inline hardware_of(cpu)
{
	d_step {
		walk[cpu] == NONE && is_table(pmd[watched_slot]) ->
		walk[cpu] = pmd[watched_slot];
		assert(coherent)
	}
}

/*
 * Caches are filled at any time from what is there, and kept until a flush: what a CPU forgets
 * by itself it could as well not have read.  No step leaves the state as it was, so that
 * pan still notices when all others wait for each other.
 */
proctype hardware(byte cpu)
{
end:	do
	:: hardware_of(cpu)
	:: d_step {
		tlb[cpu] == NONE && walk[cpu] != NONE &&
		present(entry[at(walk[cpu], watched_index)]) ->
		tlb[cpu] = walk[cpu];
		assert(coherent)
	   }
	:: d_step {
		tlb[cpu] == NONE && pmd[watched_slot] == HUGE ->
		tlb[cpu] = HUGE;
		assert(coherent)
	   }
	od
}

#ifdef NO_FLUSH
#define FLUSHES false
#else
#define FLUSHES true
#endif

/* All that is known of a slot, one CPU after the other. */
inline flush_slot(touched)
{
	if
	:: touched && FLUSHES ->
		d_step { walk[0] = NONE; tlb[0] = NONE };
		d_step { walk[1] = NONE; tlb[1] = NONE }
	:: else
	fi
}

/* The translation of one address; what is known of its table stays. */
inline flush_page(slot, index)
{
	if
	:: slot == watched_slot && index == watched_index && FLUSHES ->
		tlb[0] = NONE;
		tlb[1] = NONE
	:: else
	fi
}

/* The translations of a slot; what is known of its table stays. */
inline flush_entries(slot)
{
	if
	:: slot == watched_slot && FLUSHES ->
		tlb[0] = NONE;
		tlb[1] = NONE
	:: else
	fi
}

/* A page is released when no CPU translates to it.  Who has a reference keeps it. */
inline release(slot, index)
{
	assert(slot != watched_slot || index != watched_index || (tlb[0] == NONE && tlb[1] == NONE));
	mapped[at(slot, index)] = 0;
	gone[at(slot, index)] = !pins[at(slot, index)]
}

/* --- The actors --------------------------------------------------------------------------- */

inline choose(what)
{
	if
	:: what = 0
	:: what = 1
	fi
}

/* __pte_alloc() */
inline install(slot, table)
{
	d_step {
		kind[1] == UNUSED || kind[2] == UNUSED || kind[3] == UNUSED ->
		if
		:: kind[1] == UNUSED -> table = 1
		:: else -> table = (kind[2] == UNUSED -> 2 : 3)
		fi;
		kind[table] = TABLE
	}
	lock(pmd_lock);
	d_step {
		if
		:: pmd[slot] == NONE -> pmd[slot] = table
		:: else -> kind[table] = UNUSED
		fi;
		table = NONE;
		pmd_lock = 0
	}
}

/*
 * What was made sure of is gone.  Each of the others may take a fault's table away for what they
 * have found in it, not again and again: this is all that a fault has to wait for.
 */
inline lose(lost)
{
	lost++;
	assert(lost < ACTORS)
}

/*
 * pte_offset_map_lock(); no table: it is gone, or was never there.  By then nothing counts as
 * mapped through it.
 */
inline begin_pass(slot, table)
{
	d_step {
		inside = inside | ME;
		table = pmd[slot];
		assert(table != NONE || nothing_mapped(slot))
	}
	if
	:: !is_table(table) -> unmap(); table = NONE
	:: else ->
		d_step {
			!pte_lock[table] ->
			touch(table);
			if
			:: pmd[slot] != table ->
				assert(pmd[slot] != NONE || nothing_mapped(slot));
				leave_rcu();
				table = NONE
			:: else -> pte_lock[table] = 1
			fi
		}
	fi
}

inline end_pass(table)
{
	touch(table);
	pte_lock[table] = 0;
	leave_rcu();
	table = NONE
}

/* lock_vma_under_rcu(), which finds no VMA that munmap() has detached */
inline lock_vma(vma, found)
{
	d_step {
		!vma_writer[vma] ->
		found = !left[vma];
		vma_readers[vma] = vma_readers[vma] + found
	}
}

/*
 * handle_pte_fault() and do_anonymous_page(): it makes sure of a table, prepares a page, and maps
 * and locks the table then.  If that is gone it makes another.  If it has found a stand-in it
 * waits for the lock, and begins again: migration_entry_wait().  What it has read without the
 * lock, if not that, it may have read at any time before.  It sets a copy, also over a page of the
 * page cache.
 */
proctype do_fault()
{
	bit slot, index, vma, found;
	byte table, lost;

	atomic { choose(slot); choose(index); vma = vma_of(slot, index); faults++ }
	lock_vma(vma, found);
again:	if
	:: !found || pmd[slot] == HUGE -> goto out
	:: found && pmd[slot] == NONE -> install(slot, table)
	:: found && is_table(pmd[slot])
	fi;
	map(slot, table);
	if
	:: table == HUGE -> unmap(); goto out
	:: table == NONE -> d_step { leave_rcu(); lose(lost) } goto again
	:: is_table(table)
	fi;
	if
	:: d_step { entry[at(table, index)] == STAND_IN -> touch(table); leave_rcu() }
		begin_pass(slot, table);
		if
		:: table == NONE
		:: else -> d_step { find(slot, index, table); end_pass(table) }
		fi
	:: d_step {
		!pte_lock[table] ->
		touch(table);
		if
		:: moved(slot, table) -> leave_rcu(); lose(lost); table = NONE
		:: else -> pte_lock[table] = 1
		fi
	   }
	fi;
	if
	:: table == NONE -> goto again
	:: else
	fi;
	d_step {
		touch(table);
		see(slot, index, table);
		entry[at(table, index)] = COPY;
		mapped[at(slot, index)] = 1;
		want[at(slot, index)] = 1;
		gone[at(slot, index)] = 0;
		pte_lock[table] = 0;
		leave_rcu()
	}
out:	atomic {
		vma_readers[vma] = vma_readers[vma] - found;
		faults--;
		found = 0;
		slot = 0;
		index = 0;
		vma = 0;
		table = 0;
		lost = 0;
		done++
	}
}

#ifdef NO_CLEARED
#define may_note(by_rmap, cleared) true
#else
#define may_note(by_rmap, cleared) (!by_rmap || cleared)
#endif

/* One entry, if it is this VMA's. */
inline clear(slot, index, vma, table, cleared)
{
	d_step {
		if
		:: vma_of(slot, index) == vma ->
			find(slot, index, table);
			cleared = cleared || entry[at(table, index)];
			entry[at(table, index)] = NONE;
			mapped[at(slot, index)] = 0;
			want[at(slot, index)] = 0
		:: else
		fi
	}
}

/*
 * unmap_table_give_back() does not wait for the PMD lock, because it has the PTE lock.  From
 * there to the PMD nothing is to be seen.
 */
#ifdef PMD_WAIT
#define pmd_lock_free true
#define unhook_held(slot) lock(pmd_lock); pmd[slot] = NONE
#else
#define pmd_lock_free !pmd_lock
#define unhook_held(slot) skip
#endif

/*
 * Notice whether nothing is left: by a look, unless the pass has seen everything.  Others'
 * memory, by the rmap lock: only a table in which something was cleared counts.  With the mmap
 * lock, and if it is the only table, it is given back at once, or it is noted.
 */
inline notice(slot, by_rmap, table, noticed, only)
{
	d_step {
		noticed = noticed || ((all_seen || empty(table)) && may_note(by_rmap, cleared));
		cleared = 0;
		all_seen = 0;
		if
		:: noticed && waits -> list_table(slot, table); noticed = 0; end_pass(table)
		:: noticed && !waits && only && !by_rmap && pmd_lock_free ->
			noticed = 0;
			assert(pmd[slot] == table);
#ifndef PMD_WAIT
			pmd_lock = 1;
			pmd[slot] = NONE
#endif
		:: else -> end_pass(table)
		fi
	}
	if
	:: table == NONE
	:: else ->
		unhook_held(slot);
#ifdef LATE_FLUSH
		pmd_lock = 0;
		flush_slot(slot == watched_slot);
#else
		flush_slot(slot == watched_slot);
		pmd_lock = 0;
#endif
		d_step { touch(table); pte_lock[table] = 0; leave_rcu() }
		call_rcu(table)
	fi
}

#ifdef DROPPED_PASS
#define still_seen(all_seen) all_seen
#else
#define still_seen(all_seen) false
#endif

/*
 * unmap_zap_pmd_range(): clear what is this VMA's in the slot.  A pass sees all entries if all
 * are this VMA's, unless it drops the table's lock halfway and begins again.
 */
inline zap(slot, vma, by_rmap, table, noticed, only)
{
	begin_pass(slot, table);
	if
	:: table == NONE
	:: else ->
		all_seen = !shared && !by_rmap;
		clear(slot, 0, vma, table, cleared);
		if
		:: true
		:: all_seen ->
			d_step { end_pass(table); all_seen = still_seen(all_seen) }
			begin_pass(slot, table)
		fi;
		if
		:: table == NONE -> all_seen = 0
		:: else ->
			clear(slot, 1, vma, table, cleared);
			notice(slot, by_rmap, table, noticed, only)
		fi
	fi
}

#ifdef NO_SCAN
#define may_unhook(table) true
#else
#define may_unhook(table) empty(table)
#endif

/* Law 7: both locks held, all entries seen none. */
inline unhook(slot, table)
{
	d_step {
		!is_table(pmd[slot]) || !pte_lock[pmd[slot]] ->
		if
		:: !is_table(pmd[slot])
		:: else ->
			touch(pmd[slot]);
			if
			:: may_unhook(pmd[slot]) -> table = pmd[slot]; pmd[slot] = NONE
			:: else
			fi
		fi
	}
}

#ifdef NO_MMAP_LOCK
#define needs_mmap_lock(by_rmap) false
#else
#define needs_mmap_lock(by_rmap) (by_rmap)
#endif

/* The mmap lock, where it is not the caller's, and the PMD lock. */
inline unlock_both(by_rmap)
{
	d_step {
		if
		:: needs_mmap_lock(by_rmap) -> mmap_readers--
		:: else
		fi;
		pmd_lock = 0
	}
}

/* Whether munmap() has taken the VMA from those who come by the mmap lock, or by the rmap. */
#define out_of_reach(vma, by_rmap) (left[vma] == UNLINKED || (left[vma] && !(by_rmap)))

/*
 * mm/unmap/tables/table.c.  Both slots are one batch with one flush.  Whoever comes from madvise, or
 * sweeps what was written down, holds the mmap lock.  Truncation and hole punches hold the rmap
 * lock of one VMA and nothing of its neighbour, whose entries share the table; with the PMD
 * lock held they try the mmap lock, and do not wait for it.
 */
proctype do_free()
{
	bit vma, both, by_rmap, cleared, all_seen, was_empty[2];
	byte dead[2];

	atomic { choose(vma); choose(by_rmap); both = shared }
again:	if
	:: by_rmap -> read_lock(rmap_readers[vma], rmap_writer[vma])
	:: else -> read_lock(mmap_readers, mmap_writer)
	fi;
	if
	:: out_of_reach(vma, by_rmap) -> goto out
	:: !out_of_reach(vma, by_rmap) && (both || vma == 0) ->
		zap(0, vma, by_rmap, dead[0], was_empty[0], !both)
	:: else
	fi;
	if
	:: both || vma == 1 -> zap(1, vma, by_rmap, dead[1], was_empty[1], !was_empty[0])
	:: else
	fi;
	if
	:: !was_empty[0] && !was_empty[1] -> goto out
	:: else
	fi;
#ifdef WRONG_ORDER
	if
	:: !by_rmap && was_empty[0] ->
		map(0, dead[0]);
		if
		:: is_table(dead[0]) ->
			lock_table(dead[0]);
			lock(pmd_lock);
			unlock_table(dead[0]);
			pmd_lock = 0
		:: else
		fi;
		unmap();
		dead[0] = NONE
	:: else
	fi;
#endif
#ifdef MMAP_WAIT
	lock(pmd_lock);
	if
	:: by_rmap -> read_lock(mmap_readers, mmap_writer)
	:: else
	fi;
#else
	d_step {
		!pmd_lock ->
		if
		:: !needs_mmap_lock(by_rmap) -> pmd_lock = 1
		:: needs_mmap_lock(by_rmap) && !mmap_writer -> pmd_lock = 1; mmap_readers++
		:: else -> was_empty[0] = 0; was_empty[1] = 0
		fi
	}
	if
	/* Written down, for somebody who holds the mmap lock. */
	:: !was_empty[0] && !was_empty[1] -> goto out
	:: else
	fi;
#endif
	if
	:: was_empty[0] -> unhook(0, dead[0])
	:: else
	fi;
	if
	:: was_empty[1] -> unhook(1, dead[1])
	:: else
	fi;
#ifdef LATE_FLUSH
	unlock_both(by_rmap);
	flush_slot(dead[watched_slot] != NONE);
#else
	flush_slot(dead[watched_slot] != NONE);
	unlock_both(by_rmap);
#endif
	if
	:: dead[0] -> call_rcu(dead[0])
	:: else
	fi;
	if
	:: dead[1] -> call_rcu(dead[1])
	:: else
	fi;
out:	atomic {
		was_empty[0] = 0;
		was_empty[1] = 0;
		if
		:: by_rmap -> rmap_readers[vma]--
		:: else -> mmap_readers--
		fi;
		if
		:: by_rmap && faults -> goto again
		:: true
		fi;
		vma = 0;
		both = 0;
		by_rmap = 0;
		done++
	}
}

#ifdef NO_PMD_REREAD
#define same_pmd(slot, table) true
#else
#define same_pmd(slot, table) (pmd[slot] == table)
#endif

#ifdef NO_ENTRY_REREAD
#define same_entry(table, index) true
#else
#define same_entry(table, index) present(entry[at(table, index)])
#endif

/* gup_fast_pte_range(): interrupts are off until it has the reference or gives up. */
proctype do_gup()
{
	bit slot, index;
	byte table;

	atomic { choose(slot); choose(index) }
	map(slot, table);
	if
	:: !is_table(table) -> goto out
	:: else
	fi;
	touch(table);
	if
	:: !present(entry[at(table, index)]) -> goto out
	:: else
	fi;
	pins[at(slot, index)] = pins[at(slot, index)] | ME;
	if
	:: !same_pmd(slot, table) -> goto put
	:: else
	fi;
	touch(table);
	if
	:: !same_entry(table, index) -> goto put
	:: else
	fi;
	unmap();
	/* Whoever has the reference may use the page. */
	assert(!gone[at(slot, index)]);
put:	pins[at(slot, index)] = pins[at(slot, index)] & ~ME;
out:	atomic { leave_rcu(); slot = 0; index = 0; table = 0; done++ }
}

/*
 * try_to_unmap_one().  The PMD is not looked at again: an entry that is not none under the PTE
 * lock is proof enough that the table is in use.
 */
proctype do_evict()
{
	bit slot, index, vma;
	byte table, was;

	atomic { choose(slot); choose(index); vma = vma_of(slot, index) }
	read_lock(rmap_readers[vma], rmap_writer[vma]);
	if
	:: left[vma] == UNLINKED -> goto out
	:: d_step { left[vma] != UNLINKED -> inside = inside | ME; table = pmd[slot] }
	fi;
	if
	:: !is_table(table) -> unmap(); goto out
	:: else
	fi;
	touch(table);
	if
	:: !present(entry[at(table, index)]) -> unmap(); goto out
	:: else
	fi;
	d_step { !pte_lock[table] -> touch(table); pte_lock[table] = 1; see(slot, index, table) }
	if
	:: !entry[at(table, index)] -> unmap_unlock(table); goto out
	:: else
	fi;
	assert(pmd[slot] == table);
	d_step { was = entry[at(table, index)]; entry[at(table, index)] = NONE }
	if
	:: pins[at(slot, index)] ->
		entry[at(table, index)] = was;
		unmap_unlock(table);
		goto out
	:: else ->
		d_step {
			mapped[at(slot, index)] = 0;
			want[at(slot, index)] = 0;
			was = 0;
			if
			:: waiters && empty(table) -> list_table(slot, table)
			:: else
			fi
		}
	fi;
	/* At once, or deferred. */
	if
	:: flush_page(slot, index); unmap_unlock(table)
	:: unmap_unlock(table); flush_page(slot, index)
	fi;
	/* A page that someone took a reference to meanwhile stays his. */
	d_step {
		if
		:: !pins[at(slot, index)] && !want[at(slot, index)] -> gone[at(slot, index)] = 1
		:: else
		fi
	}
out:	atomic { rmap_readers[vma]--; slot = 0; index = 0; vma = 0; table = 0; was = 0; done++ }
}

/* __collapse_huge_page_copy(): the page is copied, and freed. */
inline copy_page(slot, index, table)
{
	d_step {
		find(slot, index, table);
		gone[at(slot, index)] = (entry[at(table, index)] != NONE);
		mapped[at(slot, index)] = 0;
		entry[at(table, index)] = NONE
	}
}

/*
 * collapse_huge_page(), of a slot that is one VMA's.  Nobody unhooks the table that it has seen
 * with the mmap lock held for writing.
 */
proctype do_collapse()
{
	bit slot;
	byte table;

	if
	:: shared -> goto out
	:: !shared -> choose(slot)
	fi;
	write_lock(mmap_readers, mmap_writer);
	if
	:: left[slot] || !is_table(pmd[slot]) -> mmap_writer = 0; goto out
	:: else
	fi;
	write_lock(vma_readers[slot], vma_writer[slot]);
	write_lock(rmap_readers[slot], rmap_writer[slot]);
	lock(pmd_lock);
	d_step { table = pmd[slot]; pmd[slot] = NONE }
	flush_slot(slot == watched_slot);
	pmd_lock = 0;
	/* Or nothing would be put back as if it were a table. */
	assert(is_table(table));
	lock_table(table);
	if
	:: pins[at(slot, 0)] -> goto put_back
	:: else
	fi;
	if
	:: pins[at(slot, 1)] -> goto put_back
	:: else
	fi;
	copy_page(slot, 0, table);
	copy_page(slot, 1, table);
	unlock_table(table);
	leave(table);
	lock(pmd_lock);
	assert(pmd[slot] == NONE);
	d_step { pmd[slot] = HUGE; kind[table] = DEPOSITED }
	pmd_lock = 0;
	goto unlock;
put_back:
	unlock_table(table);
	lock(pmd_lock);
	assert(pmd[slot] == NONE);
	pmd[slot] = table;
	pmd_lock = 0;
unlock:	atomic { rmap_writer[slot] = 0; vma_writer[slot] = 0; mmap_writer = 0 }
out:	atomic { slot = 0; table = 0; done++ }
}

inline clear_one(slot, index, table)
{
	d_step {
		see(slot, index, table);
		entry[at(table, index)] = NONE;
		mapped[at(slot, index)] = 0;
		want[at(slot, index)] = 0
	}
}

/*
 * collapse_pte_mapped_thp(), of a slot that is one VMA's: the huge page is in the page cache, and
 * every entry maps a part of it, or nothing.  It holds the mmap lock for reading only, so that the
 * table it saw first may be unhooked; from its second look on it holds the PMD lock.
 */
proctype do_collapse_file()
{
	bit slot;
	byte table;

	if
	:: shared -> goto out
	:: !shared -> choose(slot)
	fi;
	read_lock(mmap_readers, mmap_writer);
	if
	:: left[slot] || pmd[slot] == HUGE -> goto unlock
	:: !left[slot] && pmd[slot] == NONE -> goto huge
	:: !left[slot] && is_table(pmd[slot])
	fi;
#ifndef LATE_PMD_LOCK
	lock(pmd_lock);
#endif
	map(slot, table);
	if
	:: !is_table(table) ->
		unmap();
#ifndef LATE_PMD_LOCK
		pmd_lock = 0;
#endif
		goto unlock
	:: else
	fi;
	lock_table(table);
	clear_one(slot, 0, table);
	clear_one(slot, 1, table);
#ifdef LATE_PMD_LOCK
	unlock_table(table);
	lock(pmd_lock);
	lock_table(table);
#endif
	/* It frees what is there, and does not ask. */
	assert(pmd[slot] == table);
	pmd[slot] = NONE;
	flush_slot(slot == watched_slot);
	unmap_unlock(table);
	pmd_lock = 0;
	call_rcu(table);
	/* set_huge_pmd() */
huge:	lock(pmd_lock);
	d_step {
		if
		:: pmd[slot] == NONE -> pmd[slot] = HUGE
		:: else
		fi
	}
	pmd_lock = 0;
unlock:	mmap_readers--;
out:	atomic { slot = 0; table = 0; done++ }
}

/*
 * copy_pte_range(): the parent's table, from which it copies, or the child's, which is in the
 * rmap's trees already.  It looks at neither PMD again.
 */
proctype do_fork()
{
	bit slot, index, vma, child;
	byte table;

	atomic { choose(slot); choose(index); choose(child); vma = vma_of(slot, index) }
	write_lock(mmap_readers, mmap_writer);
	if
	:: left[vma] -> goto out
	:: write_lock_found(vma, left[vma])
	fi;
	if
	:: child && pmd[slot] == NONE -> install(slot, table)
	:: else
	fi;
	map(slot, table);
	if
	:: !is_table(table) -> unmap(); goto out
	:: else
	fi;
	lock_table(table);
	if
	:: child ->
		/* Or fork() fails as if there were no memory. */
		assert(pmd[slot] == table);
		d_step {
			touch(table);
			see(slot, index, table);
			if
			:: !entry[at(table, index)] -> entry[at(table, index)] = CACHE
			:: else
			fi;
			mapped[at(slot, index)] = 1;
			want[at(slot, index)] = 1;
			gone[at(slot, index)] = 0
		}
	:: else ->
		/* What the child gets is what there is. */
		d_step {
			touch(table);
			find(slot, index, table);
			assert((entry[at(table, index)] != NONE) == want[at(slot, index)])
		}
	fi;
	unmap_unlock(table);
out:	atomic {
		vma_writer[vma] = 0;
		mmap_writer = 0;
		slot = 0;
		index = 0;
		vma = 0;
		child = 0;
		table = 0;
		done++
	}
}

/* Or the search would end at the error that SECOND_LOOK is there for. */
#if defined(NO_MMAP_LOCK) && !defined(SECOND_LOOK)
#define MOVES_BACK false
#else
#define MOVES_BACK true
#endif

/*
 * move_page_tables(), from the first slot to the second, and back again if memory is short for
 * another table.  move_ptes() maps the table to which it moves without a second look.
 */
proctype do_mremap()
{
	bit from, index, vma;
	byte table, target, was;

	atomic { choose(index); vma = vma_of(0, index) }
	write_lock(mmap_readers, mmap_writer);
	if
	:: left[vma] || (!shared && left[1]) -> goto out
	:: write_lock_found(vma, left[vma] || (!shared && left[1]))
	fi;
	if
	:: !shared -> write_lock(vma_readers[1], vma_writer[1])
	:: else
	fi;
again:	if
	:: pmd[1 - from] == HUGE -> goto out
	:: pmd[1 - from] == NONE ->
		/* Moving back must not need memory, which is short. */
		assert(from == 0);
		install(1 - from, target)
	:: is_table(pmd[1 - from])
	fi;
	map(from, table);
	if
	:: !is_table(table) -> unmap(); goto out
	:: else
	fi;
	lock_table(table);
	target = pmd[1 - from];
#ifdef NO_MMAP_LOCK
	if
	:: !is_table(target) -> unmap_unlock(table); goto again
	:: else
	fi;
#endif
	lock_table(target);
#ifdef SECOND_LOOK
	if
	:: pmd[from] != table || pmd[1 - from] != target ->
		unlock_table(target);
		unmap_unlock(table);
		goto again
	:: else
	fi;
#endif
	if
	:: entry[at(table, index)] && !entry[at(target, index)] ->
		d_step {
			see(from, index, table);
			was = entry[at(table, index)];
			entry[at(table, index)] = NONE;
			mapped[at(from, index)] = 0;
			want[at(from, index)] = 0
		}
		d_step {
			see(1 - from, index, target);
			entry[at(target, index)] = was;
			was = 0;
			mapped[at(1 - from, index)] = 1;
			want[at(1 - from, index)] = 1;
			gone[at(1 - from, index)] = 0
		}
		flush_page(from, index)
	:: else
	fi;
	unlock_table(target);
	unmap_unlock(table);
	if
	:: MOVES_BACK && from == 0 -> from = 1; goto again
	:: true
	fi;
out:	atomic {
		vma_writer[vma] = 0;
		if
		:: !shared -> vma_writer[1] = 0
		:: else
		fi;
		mmap_writer = 0;
		from = 0;
		index = 0;
		vma = 0;
		table = 0;
		target = 0;
		done++
	}
}

#ifdef NO_STRAYS
#define stray_may_go true
#else
#define stray_may_go false
#endif
#ifdef UNHOOK_FIRST
#define LEFT_THERE NONE
#else
#define LEFT_THERE STAND_IN
#endif

/*
 * Which VMA faults do not fill from the page cache: none, or the second one that shares tables.
 * Only drop_judge() wants to know.
 */
#define fills(vma) (!(special && (vma) == 1))
#define vma_may(vma) (left[vma] || fills(vma))
#define had_back(slot, index, table) \
	(entry[at(table, index)] == CACHE && fills(vma_of(slot, index)))
#define entry_may(slot, index, table) \
	(!entry[at(table, index)] || \
	 (left[vma_of(slot, index)] -> stray_may_go : had_back(slot, index, table)))

/* Law 15.  An empty table has its own ways to go. */
#define may_drop(slot, table) \
	(!empty(table) && vma_may(vma_of(slot, 0)) && vma_may(vma_of(slot, 1)) && \
	 entry_may(slot, 0, table) && entry_may(slot, 1, table))

/* drop_clear_entry(): what goes, a fault can have back. */
inline drop_clear(slot, index, table)
{
	d_step {
		if
		:: entry[at(table, index)] ->
			see(slot, index, table);
			assert(had_back(slot, index, table));
			entry[at(table, index)] = LEFT_THERE;
			want[at(slot, index)] = 0
		:: else
		fi
	}
}

/* drop_release_run(): what drop has cleared, nobody wants there any more. */
inline drop_release(slot, index, table)
{
	d_step {
		if
		:: mapped[at(slot, index)] && !want[at(slot, index)] ->
			entry[at(table, index)] = NONE;
			release(slot, index)
		:: else
		fi
	}
}

inline drop_flush_and_release(slot, table)
{
#ifndef RELEASE_FIRST
	flush_entries(slot);
#endif
	drop_release(slot, 0, table);
	drop_release(slot, 1, table);
#ifdef RELEASE_FIRST
	flush_entries(slot);
#endif
}

/*
 * unmap_table_give_back(), if the PMD lock is free and there is room for a table that waits for
 * its grace period; or unmap_batch_free().
 */
inline give_back(slot, table)
{
	if
	:: d_step {
		!pmd_lock ->
		assert(pmd[slot] == table && empty(table));
		pmd_lock = 1;
		pmd[slot] = NONE
	   }
	:: d_step { end_pass(table) }
	fi;
	if
	:: table == NONE ->
		lock(pmd_lock);
		unhook(slot, table);
		flush_slot(table != NONE && slot == watched_slot);
		pmd_lock = 0
	:: else ->
		flush_slot(slot == watched_slot);
		pmd_lock = 0;
		unmap_unlock(table)
	fi
}

#define no_vma(slot) (left[vma_of(slot, 0)] && left[vma_of(slot, 1)])
#ifdef NO_MMAP_LOCK
#define LOCKS_MMAP false
#else
#define LOCKS_MMAP true
#endif
#ifdef MMAP_WAIT
#define gives_up false
#else
#define gives_up mmap_writer
#endif

/*
 * mm/unmap/drop/drop_table.c: a full table, of which nobody knows more than the page cache does.
 * Everything up to the release is one hold of the PTE lock.  It comes to the table by a VMA.  The
 * mmap lock is only tried for, because those who need memory may hold other locks: those within a
 * fault, the VMA's.
 */
proctype do_drop()
{
	bit slot, special, within;
	byte table;

	atomic {
		choose(slot);
		if
		:: shared -> special = 1
		:: !shared -> within = 1
		:: true
		fi
	}
	if
	:: within -> lock_vma(slot, within)
	:: else
	fi;
	if
	:: (LOCKS_MMAP && gives_up) || no_vma(slot) -> goto out
	:: d_step {
		!(LOCKS_MMAP && mmap_writer) && !no_vma(slot) ->
		mmap_readers = mmap_readers + LOCKS_MMAP
	   }
	fi;
	begin_pass(slot, table);
	if
	:: table == NONE -> goto unlock
	:: else
	fi;
	if
	:: !may_drop(slot, table) -> d_step { end_pass(table) } goto unlock
	:: else
	fi;
#ifdef JUDGED_BEFORE
	d_step { end_pass(table) }
	begin_pass(slot, table);
	if
	:: table == NONE -> goto unlock
	:: else
	fi;
#endif
	drop_clear(slot, 0, table);
	drop_clear(slot, 1, table);
#ifdef DROPPED_LOCK
	unlock_table(table);
	flush_entries(slot);
	lock_table(table);
#endif
#ifdef UNHOOK_FIRST
	give_back(slot, table);
	drop_flush_and_release(slot, table);
#else
	drop_flush_and_release(slot, table);
	give_back(slot, table);
#endif
	if
	:: table -> call_rcu(table)
	:: else
	fi;
unlock:	mmap_readers = mmap_readers - LOCKS_MMAP;
out:	atomic {
		vma_readers[slot] = vma_readers[slot] - within;
		slot = 0;
		special = 0;
		within = 0;
		table = 0;
		done++
	}
}

/*
 * Under the list's lock: the descriptor of a table that waits is read, and the mmap lock tried for.
 * Nothing else keeps the table from going.
 */
inline pick(table)
{
	listed[table] && !mmap_writer ->
	assert(kind[table] == TABLE);
	mmap_readers++;
	listed[table] = 0;
	at_slot = place[table];
	picked = table
}

#ifdef LIST_DROPPED
#define look_again(table) touch(table)
#else
#define look_again(table) skip
#endif

/*
 * unmap_waiting_free(): a table is picked from the list, and from then on only its place counts.
 * Whatever is empty there goes, and a neighbour that looks empty with it, if a VMA overlaps them.
 */
proctype do_wait()
{
	bit at_slot;
	byte picked, dead, other;

	if
	:: d_step { pick(1) }
	:: d_step { pick(2) }
	:: d_step { pick(3) }
	:: true -> goto out
	fi;
	look_again(picked);
	picked = NONE;
	if
	:: no_vma(at_slot) -> goto unlock
	:: else
	fi;
	lock(pmd_lock);
	unhook(at_slot, dead);
	if
	:: no_vma(1 - at_slot)
	:: !no_vma(1 - at_slot) -> unhook(1 - at_slot, other)
	fi;
	flush_slot(((dead && at_slot == watched_slot) || (other && at_slot != watched_slot)));
	pmd_lock = 0;
	if
	:: dead -> call_rcu(dead)
	:: else
	fi;
	if
	:: other -> call_rcu(other)
	:: else
	fi;
unlock:	mmap_readers--;
out:	atomic { at_slot = 0; picked = 0; done++ }
}

/*
 * munmap(): the VMA is taken away with the mmap lock held for writing; what it maps is unmapped
 * with that lock held for reading, and tables that no VMA needs are freed without any other lock
 * (free_pgtables()).  Other empty tables stay here: they go as in do_free().
 */
proctype do_munmap()
{
	bit slot, vma, cleared;
	byte table;

	atomic { choose(vma) }
	write_lock(mmap_readers, mmap_writer);
	if
	:: left[vma] -> mmap_writer = 0; goto out
	:: write_lock_found(vma, left[vma])
	fi;
	d_step {
		left[vma] = DETACHED;
		vma_writer[vma] = 0;
		mmap_writer = 0;
		mmap_readers++;
		slot = (shared -> 0 : vma)
	}
next_table:
	begin_pass(slot, table);
	if
	:: table == NONE
	:: else ->
		clear(slot, 0, vma, table, cleared);
		clear(slot, 1, vma, table, cleared);
		d_step { end_pass(table); cleared = 0 }
	fi;
	if
	:: shared && slot == 0 -> slot = 1; goto next_table
	:: else
	fi;
	/* unlink_file_vma() and unlink_anon_vmas(): the lock is taken, and dropped */
	d_step { !rmap_writer[vma] && rmap_readers[vma] == 0 -> left[vma] = UNLINKED }
	slot = (shared -> 0 : vma);
next_slot:
	if
	:: d_step {
		is_table(pmd[slot]) && (!shared || left[1 - vma]) ->
		table = pmd[slot];
		pmd[slot] = NONE
	   }
	:: !is_table(pmd[slot]) || (shared && !left[1 - vma])
	fi;
	flush_slot(slot == watched_slot);
	/* What the mmu_gather has kept. */
	d_step {
		if
		:: pmd[slot] != HUGE && vma_of(slot, 0) == vma -> release(slot, 0)
		:: else
		fi;
		if
		:: pmd[slot] != HUGE && vma_of(slot, 1) == vma -> release(slot, 1)
		:: else
		fi
	}
	if
	:: table -> call_rcu(table)
	:: else
	fi;
	if
	:: shared && slot == 0 -> slot = 1; goto next_slot
	:: else
	fi;
	mmap_readers--;
out:	atomic { slot = 0; vma = 0; table = 0; done++ }
}

/* --- The start and the end --------------------------------------------------------------- */

/* Every address is mapped or not; a slot may have no table, or one without entries. */
inline start(slot, table)
{
	if
	:: skip
	:: pmd[slot] = table; kind[table] = TABLE; choose(entry[at(table, 0)]);
		choose(entry[at(table, 1)]);
		want[at(slot, 0)] = entry[at(table, 0)];
		want[at(slot, 1)] = entry[at(table, 1)];
		mapped[at(slot, 0)] = entry[at(table, 0)];
		mapped[at(slot, 1)] = entry[at(table, 1)];
		if
		:: waiters -> list_table(slot, table)
		:: true
		fi
	fi
}

/* What was set and not cleared is found by a walk, and nothing else but by a huge page. */
#define right(slot, index) \
	(pmd[slot] == HUGE || want[at(slot, index)] == \
	 (pmd[slot] != NONE && entry[at(pmd[slot], index)] != NONE))

#ifdef FIRST
#ifdef WAITERS
#define see_waiters waiters = 1
#else
#define see_waiters skip
#endif
#define run_both run FIRST(); run SECOND()
#else
c_decl {
	\#include <stdlib.h>
	static int number_of(const char *variable)
	{
		const char *value = getenv(variable);
		return value ? atoi(value) : -1;
	}
}
byte actor;
#define run_actor \
	if \
	:: actor == 0 -> run do_fault() \
	:: actor == 1 -> run do_free() \
	:: actor == 2 -> run do_gup() \
	:: actor == 3 -> run do_evict() \
	:: actor == 4 -> run do_collapse() \
	:: actor == 5 -> run do_fork() \
	:: actor == 6 -> run do_mremap() \
	:: actor == 7 -> run do_collapse_file() \
	:: actor == 8 -> run do_drop() \
	:: actor == 9 -> run do_munmap() \
	:: actor == 10 -> run do_wait() \
	fi
#define see_waiters \
	c_code { now.waiters = number_of("FIRST") == 10 || number_of("SECOND") == 10; }
#define run_both \
	c_code { now.actor = number_of("FIRST"); }; \
	run_actor; \
	c_code { now.actor = number_of("SECOND"); }; \
	run_actor; \
	actor = 0
#endif

init
{
	atomic {
		see_waiters;
		if
		:: waiters -> waits = 1
		:: true
		fi;
		choose(shared);
		choose(watched_slot);
		choose(watched_index);
		start(0, 1);
		start(1, 2);
		run rcu();
		run hardware(0);
		run hardware(1);
		run_both;
#ifdef THIRD
		run THIRD();
#endif
	}
	d_step {
		done == ACTORS ->
		assert(right(0, 0) && right(0, 1) && right(1, 0) && right(1, 1))
	}
}
