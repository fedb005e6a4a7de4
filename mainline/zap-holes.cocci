// SPDX-License-Identifier: GPL-2.0-only
/// Zap looks at eight entries of a hole at a time.

@@
@@
do_zap_pte_range(...) {
<...
- for (nr = 1; nr < max_nr; nr++) {
+		nr = 1;
+		while (nr + 8 <= max_nr && ptes_none(pte + nr, 8))
+			nr += 8;
+		for (; nr < max_nr; nr++) {
  	ptent = ptep_get(pte + nr);
  	if (!pte_none(ptent))
  		break;
  }
...>
}
