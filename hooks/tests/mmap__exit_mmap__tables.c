// SPDX-License-Identifier: GPL-2.0-only
void exit_mmap(struct mm_struct *mm)
{
	int count = 0;

	/* The last user has gone. */
	mmu_notifier_release(mm);

	mmap_read_lock(mm);
	count += unmap(mm);
	mmap_read_unlock(mm);
}
