// SPDX-License-Identifier: GPL-2.0-only
/* The function has another name. */
void clear_shadows(int type, unsigned long begin, unsigned long end)
{
	forget(type, begin);
}
