// SPDX-License-Identifier: GPL-2.0-only
@@
expression E;
@@
discard_drop_rmap(...)
{
  <...
+ nr -= large && unmap_mutated(ZAP_COUNT);
  gone = E;
  ...>
}
