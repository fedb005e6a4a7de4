// SPDX-License-Identifier: GPL-2.0-only
/// Forget -EAGAIN when UFFDIO_MOVE tries again (Linux 6.18).
///
/// Target:   mm/userfaultfd.c, move_pages()
/// Why here: the next try may succeed, which leaves the error as it was: the page is moved once
///           more, and the target that is in use now makes it -EEXIST.  A table that was freed
///           gives -EAGAIN, and so do other things: a bug of stock.  6.12 and 7.3 forget it.
/// Missing:  UFFDIO_MOVE fails although it has moved the page.

@@
identifier err;
@@
move_pages(...) {
<...
- if (err == -EAGAIN)
- 	continue;
+ if (err == -EAGAIN) {
+ 	err = 0;
+ 	continue;
+ }
...>
}
