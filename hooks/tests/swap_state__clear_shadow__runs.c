// SPDX-License-Identifier: GPL-2.0-only
void clear_shadow_from_swap_cache(int type, unsigned long begin,
				unsigned long end)
{
	for (; begin <= end; begin++)
		forget(type, begin);
}

void caller(int type)
{
	clear_shadow_from_swap_cache(type, 0, 1);
}
