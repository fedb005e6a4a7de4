// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU hotplug while memory is evicted and TLBs are flushed.
 *
 * hotplug   threads on every CPU use memory that one of them reclaims, while CPUs go
 *           offline and online: each thread reads what it stored last (a flush must reach
 *           every online CPU, and must not wait for an offline one)
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define LEN	RANGE
#define PAGES	((long)(LEN / PAGE))
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */
#define SECONDS	4
#define MAX_THREADS	8

FIXTURE(races) {
	struct scene scene;
};

FIXTURE_VARIANT(races) {
	enum kind kind;
	unsigned long kib;
	bool on;
};

#define VARIANTS(prefix, what, size) \
	FIXTURE_VARIANT_ADD(races, prefix ## _ ## size ## K_on) { \
		.kind = what, .kib = FOLIO_KIB(size), .on = true }; \
	FIXTURE_VARIANT_ADD(races, prefix ## _ ## size ## K_off) { \
		.kind = what, .kib = FOLIO_KIB(size) }

VARIANTS(anon, ANON, 64);
VARIANTS(lazyfree, LAZYFREE, 64);
VARIANTS(file, FILE_SHARED, 64);

FIXTURE_SETUP(races)
{
	const char *missing = begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	missing = scene_needs(variant->kind);
	if (!missing && access("/sys/devices/system/cpu/cpu1/online", W_OK))
		missing = "needs a second CPU that can be taken offline";
	if (missing) {
		end();
		SKIP(return, "%s", missing);
	}
	self->scene = (struct scene){
		.kind = variant->kind, .kib = variant->kib, .len = LEN, .fd = -1
	};
}

static bool set_online(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return write_number(path, online);
}

static int nr_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_CONF);
}

FIXTURE_TEARDOWN(races)
{
	for (int cpu = 1; cpu < nr_cpus(); cpu++)
		set_online(cpu, true);
	end();
}

struct user {
	pthread_t thread;
	char *mem;
	int cpu;
	enum kind kind;
	bool *stop;
	long wrong, rounds;
};

/* Check and store to this thread's pages: one in MAX_THREADS. */
static void use_once(struct user *user, unsigned char seed)
{
	for (long i = user->cpu; i < PAGES; i += MAX_THREADS) {
		char *at = user->mem + i * PAGE + 7, seen = READ_ONCE(*at);

		/* After MADV_FREE a page may be zero until it is written. */
		if (user->rounds && seen != (char)(seed - 1) &&
		    (user->kind != LAZYFREE || seen))
			user->wrong++;
		WRITE_ONCE(*at, seed);
	}
}

static void *use(void *arg)
{
	struct user *user = arg;

	use_cpu(user->cpu);
	for (; !READ_ONCE(*user->stop); user->rounds++) {
		use_once(user, 2 + user->rounds);
		if (user->kind == LAZYFREE && user->cpu == 0 && user->rounds % 4 == 0)
			madvise(user->mem, LEN, MADV_FREE);
	}
	return NULL;
}

static void *come_and_go(void *arg)
{
	long *turns = arg;

	use_cpu(0);
	for (time_t end = time(NULL) + SECONDS; time(NULL) < end || *turns < 2; (*turns)++) {
		int cpu = 1 + *turns % (nr_cpus() - 1);

		if (!set_online(cpu, false) || !set_online(cpu, true))
			return (void *)1;
	}
	return NULL;
}

/* On a busy host a thread may run late for the first time. */
static bool all_had_turns(const struct user *users, int nr)
{
	for (int i = 0; i < nr; i++)
		if (READ_ONCE(users[i].rounds) < 2)
			return false;
	return true;
}

static bool hotplug(struct scene *scene)
{
	struct user users[MAX_THREADS] = {};
	int nr = nr_cpus() < MAX_THREADS ? nr_cpus() : MAX_THREADS;
	bool stop = false;
	pthread_t hotplugger;
	long turns = 0, wrong = 0;
	void *failed;

	CHECK(scene_make(scene));
	for (int i = 0; i < nr; i++) {
		users[i] = (struct user){
			.mem = scene->mem, .cpu = i, .kind = scene->kind, .stop = &stop
		};
		CHECK(!pthread_create(&users[i].thread, NULL, use, &users[i]));
	}
	CHECK(!pthread_create(&hotplugger, NULL, come_and_go, &turns));
	for (time_t end = time(NULL) + SECONDS; time(NULL) < end || !all_had_turns(users, nr);)
		madvise(scene->mem, LEN, MADV_PAGEOUT);
	pthread_join(hotplugger, &failed);
	WRITE_ONCE(stop, true);
	for (int i = 0; i < nr; i++) {
		pthread_join(users[i].thread, NULL);
		CHECK(users[i].rounds > 1);
		wrong += users[i].wrong;
	}
	CHECK(!failed);
	CHECK(turns > 1);
	CHECK_EQ(0, wrong);
	return true;
}

TEST_LONG(races, hotplug)
{
	EXPECT_TRUE(apart(hotplug, &self->scene));
}

TEST_HARNESS_MAIN
