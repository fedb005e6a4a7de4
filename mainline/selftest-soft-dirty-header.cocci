// SPDX-License-Identifier: GPL-2.0-only
/// Tests can get a large folio that only PTEs map.

@@
typedef bool;
@@
- bool thp_is_enabled(void);
+bool thp_is_enabled(void);
+char *thp_map_small(size_t *size);
