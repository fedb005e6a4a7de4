/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of multifault. */
#ifndef MULTIFAULT_H
#define MULTIFAULT_H

/* The cases "sparse" and "sparse-kept": multifault_sparse.c. */
void run_sparse(void);
void run_sparse_kept(void);

#endif /* MULTIFAULT_H */
