/* SPDX-License-Identifier: GPL-2.0-only */
/* What the administrator can set beside the switch: see control.c.  Read without a lock. */
#ifndef __MM_UNMAP_KNOBS_H
#define __MM_UNMAP_KNOBS_H

extern unsigned int unmap_max_run;
extern unsigned int unmap_drop_idle_ms;
extern unsigned int unmap_drop_share;

#endif /* __MM_UNMAP_KNOBS_H */
