// SPDX-License-Identifier: GPL-2.0-only
/* The calls in which events are counted, after those that are timed: see measure_events.h. */
#include "measure.h"

/* Whether an event was to be counted in any call, and whether it happened. */
static bool tried[NR_EVENTS], happened[NR_EVENTS];

unsigned int nr_rounds(void)
{
	return options.pairs < MAX_ROUNDS ? options.pairs : MAX_ROUNDS;
}

bool stood_still(unsigned int event)
{
	return tried[event] && !happened[event];
}

static void note(struct tally *tallies, const struct sample *sample)
{
	for (unsigned int i = 0; i < NR_EVENTS; i++) {
		const struct count *count = &sample->counts[i];

		tried[i] |= is_chosen(i);
		happened[i] |= count->value > 0;
		if (!count->known)
			continue;
		tallies[i].values[tallies[i].nr++] = count->value / sample->pages;
		tallies[i].scaled |= count->scaled;
	}
}

/* As with pairs, the order changes from round to round. */
static bool count_round(struct result *result, unsigned int nth)
{
	for (unsigned int i = 0; i < nr_states(); i++) {
		enum state state = (nth + i) % nr_states();
		struct sample sample;

		if (!measure_once(result, state, &sample))
			return false;
		note(result->tallies[state], &sample);
	}
	return true;
}

static bool count_set(struct result *result, unsigned int set)
{
	choose_set(set);
	for (unsigned int i = 0; i < nr_rounds(); i++)
		if (!count_round(result, i))
			return false;
	return true;
}

/* What was timed stays, if the machine lacks something by now. */
void count_row(struct result *result)
{
	if (result->row->exits)
		return;
	for (unsigned int set = 0; set < NR_SETS; set++) {
		if (is_countable(set) && !count_set(result, set))
			break;
	}
	choose_set(NO_SET);
	if (result->ending != LEFT_OUT)
		return;
	result->ending = DONE;
	result->uncounted = true;
}
