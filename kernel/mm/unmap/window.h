/* SPDX-License-Identifier: GPL-2.0-only */
/* A window: if a test asks for it, wait here, so that other CPUs can race.  See tests/disturb.c. */
#ifndef __MM_UNMAP_WINDOW_H
#define __MM_UNMAP_WINDOW_H

#ifdef CONFIG_UNMAP_DISTURB
void unmap_window(void);
void unmap_long_window(void);
#else
static inline void unmap_window(void)
{
}

static inline void unmap_long_window(void)
{
}
#endif

#endif /* __MM_UNMAP_WINDOW_H */
