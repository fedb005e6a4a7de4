// SPDX-License-Identifier: GPL-2.0-only
@@
identifier d;
@@
drop_step_is_over(const struct drop *d)
{
+	if (unmap_mutated(DROP_HELD)) {
+		preempt_enable();
+		cond_resched();
+		preempt_disable();
+		return !d->steps_left || !d->drops_left;
+	}
	return ...;
}
