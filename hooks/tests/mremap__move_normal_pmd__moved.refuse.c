// SPDX-License-Identifier: GPL-2.0-only
/* The table is not moved whole. */
static bool move_normal_pmd(struct pagetable_move_control *pmc, pmd_t *old_pmd, pmd_t *new_pmd)
{
	move_ptes(pmc, old_pmd, new_pmd);
	return true;
}
