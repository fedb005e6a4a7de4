// SPDX-License-Identifier: GPL-2.0-only
/* Races of owners and disturbers: see tables_race.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tables_arena.h"

#define PROCESSES	8
#define WINDOW		500		/* microseconds */
#define LIMIT		500		/* seconds */
#define TURN		60		/* seconds */
#define ROUNDS		100		/* of each owner */
#define DISTURBED	10		/* of each disturber */
#define KILLED		8		/* processes */
#define RUN		5000		/* microseconds */
#define REST		40000		/* microseconds: twice as long as reclaim spares tables */

/* With KASAN, a quarter of the events takes as long as all of them without. */
static long enough(long events)
{
	return clock_is_exact() ? events : (events + 3) / 4;
}

void race_window(bool wide)
{
	table_window(wide ? WINDOW : 0);
}

const char *race_needs(const struct race *race)
{
	bool done, collapses = (race->other[0] | race->other[1]) & BIT(OTHER_COLLAPSE);
	struct arena a = {};

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return "needs two CPUs";
	if (collapses && access("/sys/kernel/mm/transparent_hugepage", F_OK))
		return "needs transparent huge pages";
	if (collapses && race->area == AREA_SHMEM && !collapse_ignores_sysfs())
		return COLLAPSE_ASKS;
	if (race->uffd == UFFD_NONE)
		return NULL;
	if (!make_arena(&a, race->area, UFFD_NONE))
		return "no memory";
	a.mode = race->uffd;
	done = watch_arena(&a);
	drop_arena(&a);
	return done ? NULL : "needs userfaultfd that moves pages and protects shmem";
}

static bool start_owner(struct owner *o)
{
	CHECK(!pipe(o->pipe));
	CHECK(!pthread_create(&o->thread, NULL, own, o));
	return true;
}

static void join_owner(struct owner *o)
{
	pthread_join(o->thread, NULL);
	close(o->pipe[0]);
	close(o->pipe[1]);
}

/* A race: two owners on two CPUs, and up to two disturbers. */

#define NR_OWNERS	2

static unsigned int new_seed(void)
{
	return from_env("TABLES_SEED", time(NULL) ^ (unsigned int)getpid() << 16);
}

static void init_owner(struct owner *o, const struct race *race, struct arena *arena,
		       bool *stop, int index, unsigned int seed)
{
	*o = (struct owner){
		.race = race, .arena = arena, .stop = stop, .index = index, .cpu = index % 2,
		.seed = seed + index * 7919,
	};
}

struct players {
	const struct race *race;
	struct arena arena;
	bool stop;
	struct owner owners[NR_OWNERS];
	struct disturber others[NR_OTHERS];
};

static bool start_players(struct players *p, const struct race *race, unsigned int seed)
{
	p->race = race;
	CHECK(make_arena(&p->arena, race->area, race->uffd));
	for (int i = 0; i < NR_OWNERS; i++) {
		init_owner(&p->owners[i], race, &p->arena, &p->stop, i, seed);
		CHECK(start_owner(&p->owners[i]));
	}
	for (int i = 0; i < NR_OTHERS; i++) {
		p->others[i] = (struct disturber){
			.arena = &p->arena, .stop = &p->stop, .other = race->other[i],
			.seed = seed + 31 * i, .cpu = !i,
		};
		if (race->other[i])
			CHECK(!pthread_create(&p->others[i].thread, NULL, disturb,
					      &p->others[i]));
	}
	return true;
}

static bool finish_players(struct players *p)
{
	long wrong = 0;

	WRITE_ONCE(p->stop, true);
	for (int i = 0; i < NR_OWNERS; i++) {
		join_owner(&p->owners[i]);
		wrong += p->owners[i].wrong;
	}
	for (int i = 0; i < NR_OTHERS; i++) {
		if (p->others[i].other)
			pthread_join(p->others[i].thread, NULL);
		wrong += p->others[i].wrong;
	}
	CHECK_EQ(0, wrong);
	return true;
}

static bool any_wrong(const struct players *p)
{
	for (int i = 0; i < NR_OWNERS; i++)
		if (READ_ONCE(p->owners[i].wrong))
			return true;
	return false;
}

/*
 * What must happen before a race is over, whatever time that takes; TABLES_SECONDS makes it
 * longer.
 *
 * @end: not before
 * @limit: then the race has failed
 * @freed: this many tables must have been freed
 */
struct goal {
	time_t end, limit;
	long long freed;
};

static struct goal new_goal(const struct race *race)
{
	long seconds = from_env("TABLES_SECONDS", 0);

	return (struct goal){
		.end = time(NULL) + seconds, .limit = time(NULL) + seconds + LIMIT,
		.freed = unmap_stat("tables_freed") + enough(race->tables),
	};
}

static bool is_reached(const struct goal *goal)
{
	return time(NULL) >= goal->end && unmap_stat("tables_freed") >= goal->freed;
}

static bool is_late(const struct goal *goal)
{
	return time(NULL) >= goal->limit;
}

/* Whether all threads have done something that counts. */
static bool all_played(const struct players *p)
{
	bool played = true;

	for (int i = 0; i < NR_OWNERS; i++)
		played &= READ_ONCE(p->owners[i].rounds) >= enough(ROUNDS);
	for (int i = 0; i < NR_OTHERS; i++)
		played &= !p->others[i].other ||
			  READ_ONCE(p->others[i].rounds) >= enough(DISTURBED);
	/* Without a collapse such a race was not run. */
	if (p->others[0].other == BIT(OTHER_COLLAPSE))
		played &= READ_ONCE(p->others[0].collapsed) > 0;
	return played;
}

/*
 * Reclaim spares tables that became empty a moment ago.  So if the policy keeps empty tables, let
 * all threads rest, and then race with the shrinker.
 */
static void let_play(struct players *p)
{
	usleep(RUN);
	if (!p->race->kept)
		return;
	WRITE_ONCE(p->arena.rest, true);
	usleep(REST);
	WRITE_ONCE(p->arena.rest, false);
	write_text("/proc/sys/vm/drop_caches", "2");
}

static void tell(const struct players *p, const struct goal *goal)
{
	printf("# owners ran %ld and %ld rounds, disturbers %ld and %ld (%ld collapses)\n",
	       p->owners[0].rounds, p->owners[1].rounds, p->others[0].rounds,
	       p->others[1].rounds, p->others[0].collapsed);
	printf("# %lld tables freed\n",
	       unmap_stat("tables_freed") - goal->freed + enough(p->race->tables));
}

/* Until the goal is reached, but no longer than @turn without it.  False if memory was wrong. */
static bool play_turn(struct players *p, const struct goal *goal, time_t turn)
{
	time_t end = time(NULL) + turn;

	while (!(is_reached(goal) && all_played(p)) && !any_wrong(p) && !is_late(goal) &&
	       (is_reached(goal) || time(NULL) < end))
		let_play(p);
	CHECK(finish_players(p));
	tell(p, goal);
	return true;
}

static bool play_until(struct players *p, const struct goal *goal)
{
	CHECK(play_turn(p, goal, LIMIT));
	CHECK(is_reached(goal));
	CHECK(all_played(p));
	return true;
}

/* With some seeds no table is freed for minutes: after a while another one has its turn. */
bool race_job(struct scene *scene)
{
	const struct race *race = (const struct race *)scene;
	struct goal goal = new_goal(race);
	bool done;

	do {
		struct players players = {};

		CHECK(start_players(&players, race, new_seed()));
		CHECK(play_turn(&players, &goal, TURN));
		done = is_reached(&goal) && all_played(&players);
		drop_arena(&players.arena);
	} while (!done && !is_late(&goal));
	CHECK(is_reached(&goal));
	CHECK(done);
	return true;
}

static bool play_until_killed(struct scene *scene)
{
	struct players players = {};

	CHECK(start_players(&players, (const struct race *)scene, new_seed()));
	for (;;)
		let_play(&players);
}

/* Until the process has had a processor for @us: on a busy host that takes longer. */
static void let_run(pid_t pid, long us, const struct goal *goal)
{
	struct timespec ran = {};
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock))
		return;
	do {
		usleep(1000);
	} while (!clock_gettime(clock, &ran) && !is_late(goal) &&
		 ran.tv_sec * 1000000L + ran.tv_nsec / 1000 < us);
}

bool race_killed_job(struct scene *scene)
{
	const struct race *race = (const struct race *)scene;
	struct goal goal = new_goal(race);
	unsigned int seed = new_seed();
	long killed = 0;

	for (; (killed < enough(KILLED) || !is_reached(&goal)) && !is_late(&goal); killed++) {
		int pid = start_apart(play_until_killed, scene), status;

		CHECK(pid > 0);
		let_run(pid, 10000 + rand_r(&seed) % 150000, &goal);
		CHECK(!kill(pid, SIGKILL));
		CHECK_EQ(pid, waitpid(pid, &status, 0));
		CHECK(WIFSIGNALED(status));
	}
	printf("# %ld killed\n", killed);
	CHECK(is_reached(&goal));
	return true;
}

/* Stress: one area that all processes share, and one area for each process. */

struct stress {
	struct race race;
	struct arena shared;
	int index;
	unsigned int seed;
};

static bool stress_process(struct scene *scene)
{
	struct stress *stress = (struct stress *)scene;
	struct race *race = &stress->race;
	struct goal goal = new_goal(race);
	struct owner shared;
	struct players own = {};

	init_owner(&shared, race, &stress->shared, &own.stop, stress->index, stress->seed);
	CHECK(start_owner(&shared));
	race->area = stress->index % 2 ? AREA_COPIED : AREA_ANON;
	CHECK(start_players(&own, race, stress->seed + 101 * stress->index));
	CHECK(play_until(&own, &goal));
	join_owner(&shared);
	CHECK_EQ(0, shared.wrong);
	return true;
}

bool race_stress_job(struct scene *scene)
{
	struct stress stress = { .race = *(const struct race *)scene };
	int pids[PROCESSES], failed = 0, status;

	stress.seed = new_seed();
	printf("# seed %u\n", stress.seed);
	CHECK(make_arena(&stress.shared, AREA_SHMEM, UFFD_NONE));
	for (stress.index = 0; stress.index < PROCESSES; stress.index++) {
		pids[stress.index] = start_apart(stress_process, &stress.race.scene);
		CHECK(pids[stress.index] > 0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		CHECK_EQ(pids[i], waitpid(pids[i], &status, 0));
		failed += !!status;
	}
	CHECK_EQ(0, failed);
	return true;
}
