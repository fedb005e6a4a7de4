// SPDX-License-Identifier: GPL-2.0-only
void try_to_unmap_flush(void)
{
	struct batch *batch = &current->batch;

	if (!batch->required)
		return;
	flush(batch);
}

void try_to_unmap_flush_dirty(void)
{
	if (current->batch.writable)
		try_to_unmap_flush();
}
