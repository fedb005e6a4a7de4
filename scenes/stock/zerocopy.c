// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP's zero copy maps what a socket has received.  The first processor has made a page table for it
 * when the second one purges the memory, so that the table goes.
 *
 *	zerocopy ROUNDS [control]
 *
 * Data is there, and the memory is the socket's: the call must not fail.  control: the memory is not
 * purged.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/scene.h"

#define SENT	(16 * PAGE)

static char *mem;
static int receiver, sender;
static bool control;
static int failed;	/* errno */
static unsigned int mapped;	/* bytes */

static bool network_is_up(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	NEED(fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &lo));
	close(fd);
	/* A page that is part of a larger one cannot be mapped. */
	NEED(scene_write("/proc/sys/net/core/high_order_alloc_disable", "1"));
	return true;
}

static bool connected(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(name);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	NEED(listener >= 0 && !bind(listener, (struct sockaddr *)&name, len));
	NEED(!listen(listener, 1));
	NEED(!getsockname(listener, (struct sockaddr *)&name, &len));
	sender = socket(AF_INET, SOCK_STREAM, 0);
	NEED(sender >= 0 && !connect(sender, (struct sockaddr *)&name, len));
	receiver = accept(listener, NULL, NULL);
	NEED(receiver >= 0);
	close(listener);
	return true;
}

static bool prepare(void)
{
	int size = PMD;

	NEED(network_is_up() && connected());
	NEED(!setsockopt(receiver, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
	mem = scene_map(PMD, -1);
	NEED(mem != MAP_FAILED);
	NEED(mmap(mem, PMD, PROT_READ, MAP_SHARED | MAP_FIXED, receiver, 0) == mem);
	return true;
}

/* No page table, and pages to map. */
static bool ready(void)
{
	static char data[SENT];

	failed = 0;
	mapped = 0;
	NEED(!madvise(mem, PMD, MADV_DONTNEED));
	NEED(send(sender, data, SENT, 0) == (ssize_t)SENT);
	usleep(10000);
	return true;
}

static void receive(void)
{
	struct tcp_zerocopy_receive wanted = { .address = (unsigned long)mem, .length = SENT };
	socklen_t len = sizeof(wanted);

	if (getsockopt(receiver, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &wanted, &len))
		failed = errno;
	mapped = wanted.length;
}

static void purge(void)
{
	if (!control && madvise(mem, PMD, MADV_DONTNEED))
		scene_says("MADV_DONTNEED: %m");
}

/* What was not mapped is read. */
static bool right(void)
{
	static char data[SENT];

	while (recv(receiver, data, SENT, MSG_DONTWAIT) > 0)
		;
	if (failed)
		scene_says("the call failed: %s", strerror(failed));
	else if (!mapped)
		scene_says("nothing was mapped");
	return !failed && mapped;
}

static const struct scene scene = { prepare, ready, NULL, receive, purge, right };

int main(int argc, char **argv)
{
	control = argc > 2;
	return scene_main(argc, argv, &scene);
}
