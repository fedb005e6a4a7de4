// SPDX-License-Identifier: GPL-2.0-only
/*
 * Medians, and whether a change is more than noise: see measure.h.
 *
 * The interval of a change is that of the median of the pairs' changes, with at least 99 %
 * confidence, whatever their distribution: if each pair's change is above the true median
 * with a probability of one half, the number of those above follows the binomial
 * distribution.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define DOUBT	0.01

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts @values. */
static double median_of(double *values, unsigned int nr)
{
	qsort(values, nr, sizeof(*values), compare);
	return (values[(nr - 1) / 2] + values[nr / 2]) / 2;
}

struct figure figure_of(const double *values, unsigned int nr)
{
	double sorted[MAX_PAIRS];
	struct figure figure;

	memcpy(sorted, values, nr * sizeof(*values));
	figure.median = median_of(sorted, nr);
	for (unsigned int i = 0; i < nr; i++)
		sorted[i] = fabs(values[i] - figure.median);
	figure.mad = median_of(sorted, nr);
	return figure;
}

int rank_of_bound(unsigned int nr)
{
	double chance = ldexp(1, -(int)nr), sum = chance;
	int rank = 0;

	for (unsigned int i = 0; 2 * sum <= DOUBT; i++) {
		rank++;
		chance = chance * (nr - i) / (i + 1);
		sum += chance;
	}
	return rank;
}

struct change change_of(const double *off, const double *on, unsigned int nr)
{
	double changes[MAX_PAIRS];
	int rank = rank_of_bound(nr);
	struct change change = { .bounded = rank > 0 };

	for (unsigned int i = 0; i < nr; i++)
		changes[i] = on[i] / off[i] - 1;
	change.median = median_of(changes, nr);
	if (change.bounded) {
		change.low = changes[rank - 1];
		change.high = changes[nr - rank];
	}
	return change;
}
