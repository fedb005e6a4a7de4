// SPDX-License-Identifier: GPL-2.0-only
/*
 * init - PID 1 of a Swathe guest.
 *
 * Mounts what programs expect, turns on zram swap, runs one job and tells the
 * host how it ended, then reboots; under "reboot=t" and -no-reboot that ends
 * the machine.
 *
 * /job holds NUL-terminated settings, in any order:
 *
 *	arg=STRING	one element of the job's argument list
 *	env=NAME=VALUE	one variable of its environment
 *	off=BITS	clear these bits of /sys/kernel/mm/unmap/enabled first
 *	swap=BYTES	size of the zram swap; none without it
 *	tty=PATH	the job's terminal, for input and output
 *	bare=1		a kernel that nobody built for this: what it lacks is left out, and the
 *			console takes the place of the ports
 *
 * Without tty= the job's output goes to the virtio port "swathe.out". How it ended goes to
 * "swathe.verdict", as one line: "exit N", "signal N", or "setup WHAT" if
 * the guest could not be set up. The host reads no verdict from the console of a guest that has
 * the port; of one that has none, it reads the line that begins with "swathe.verdict ".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "../../kernel/tools/testing/selftests/unmap/lib/swap_area.h"

#define MAX_WORDS	1024
#define SWITCH		"/sys/kernel/mm/unmap/enabled"

struct job {
	char *argv[MAX_WORDS + 1];
	char *envp[MAX_WORDS + 1];
	unsigned long off;
	const char *swap;
	const char *tty;
};

static int verdict_port = -1;
static bool bare;

static void end_machine(void)
{
	sync();
	umount2("/mnt", 0);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static void say(const char *fmt, ...)
{
	va_list ap;

	if (bare)
		dprintf(verdict_port, "\nswathe.verdict ");
	va_start(ap, fmt);
	if (verdict_port >= 0)
		vdprintf(verdict_port, fmt, ap);
	else
		vfprintf(stderr, fmt, ap);
	va_end(ap);
}

/* Give up unless @ok: in an incomplete guest the job's result would mean nothing. */
static void need(bool ok, const char *what)
{
	if (ok)
		return;
	say("setup %s: %s\n", what, strerror(errno));
	end_machine();
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Read a small file as a string; the caller frees it. */
static char *read_file(const char *path, size_t *len)
{
	static const size_t max = 1 << 20;
	char *text = calloc(1, max + 1);
	int fd = open(path, O_RDONLY);
	ssize_t n = fd >= 0 && text ? read(fd, text, max) : -1;

	if (fd >= 0)
		close(fd);
	need(n >= 0, path);
	if (len)
		*len = n;
	return text;
}

static void mount_all(void)
{
	static const struct {
		const char *type, *dir, *options;
	} mounts[] = {
		{ "proc", "/proc", NULL },
		{ "sysfs", "/sys", NULL },
		{ "devtmpfs", "/dev", NULL },
		{ "tmpfs", "/tmp", NULL },
		{ "tmpfs", "/dev/shm", NULL },
		{ "debugfs", "/sys/kernel/debug", NULL },
		{ "cgroup2", "/sys/fs/cgroup", NULL },
	};

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		mkdir(mounts[i].dir, 0755);
		need(!mount(mounts[i].type, mounts[i].dir, mounts[i].type, 0,
			    mounts[i].options) || errno == EBUSY || bare, mounts[i].dir);
	}
	chmod("/tmp", 01777);
	if (bare)
		return;
	need(write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory"),
	     "cgroup memory controller");
}

static void mount_disk(void)
{
	if (access("/dev/vda", F_OK))
		return;
	mkdir("/mnt", 0755);
	need(!mount("/dev/vda", "/mnt", "xfs", 0, NULL), "/mnt");
}

static void swap_on(const char *bytes)
{
	int fd;

	need(write_file("/sys/block/zram0/disksize", bytes), "zram disksize");
	fd = open("/dev/zram0", O_RDWR);
	need(fd >= 0 && write_swap_area(fd, strtoull(bytes, NULL, 0)), "swap header on /dev/zram0");
	close(fd);
	need(!swapon("/dev/zram0", 0), "swapon /dev/zram0");
}

/* The host chooses a virtio port's number: find the port by its name. */
static int open_port(const char *name)
{
	DIR *ports = opendir("/sys/class/virtio-ports");
	char path[PATH_MAX], *found;
	struct dirent *port;
	int fd = -1;

	while (ports && fd < 0 && (port = readdir(ports))) {
		if (port->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", port->d_name);
		if (access(path, R_OK))
			continue;
		found = read_file(path, NULL);
		snprintf(path, sizeof(path), "/dev/%s", port->d_name);
		if (!strncmp(found, name, strlen(name)) && found[strlen(name)] == '\n')
			fd = open(path, O_WRONLY | O_CLOEXEC);
		free(found);
	}
	if (ports)
		closedir(ports);
	return fd;
}

static void set_word(struct job *job, char *word, int *argc, int *envc)
{
	if (!strncmp(word, "arg=", 4) && *argc < MAX_WORDS)
		job->argv[(*argc)++] = word + 4;
	else if (!strncmp(word, "env=", 4) && *envc < MAX_WORDS)
		job->envp[(*envc)++] = word + 4;
	else if (!strncmp(word, "off=", 4))
		job->off = strtoul(word + 4, NULL, 0);
	else if (!strncmp(word, "swap=", 5))
		job->swap = word + 5;
	else if (!strncmp(word, "tty=", 4))
		job->tty = word + 4;
	else if (!strncmp(word, "bare=", 5))
		bare = true;
}

static void read_job(struct job *job)
{
	size_t len;
	char *text = read_file("/job", &len);
	int argc = 0, envc = 0;

	for (char *word = text; word < text + len; word += strlen(word) + 1)
		set_word(job, word, &argc, &envc);
	errno = ENOENT;
	need(argc > 0, "/job names no program");
}

static void switch_off(unsigned long bits)
{
	char *mask, text[32];

	if (!bits)
		return;
	mask = read_file(SWITCH, NULL);
	snprintf(text, sizeof(text), "%#lx", strtoul(mask, NULL, 0) & ~bits);
	need(write_file(SWITCH, text), SWITCH);
	free(mask);
}

/* The host announces a terminal after its port: wait for it, ten seconds at most. */
static int open_tty(const char *path)
{
	int fd = open(path, O_RDWR | O_NOCTTY);

	for (int i = 0; fd < 0 && i < 1000; i++) {
		usleep(10000);
		fd = open(path, O_RDWR | O_NOCTTY);
	}
	need(fd >= 0, path);
	return fd;
}

static void exec_job(const struct job *job, int out)
{
	int in = open("/dev/null", O_RDONLY);

	setsid();
	if (job->tty) {
		in = open_tty(job->tty);
		out = in;
		ioctl(in, TIOCSCTTY, 0);
	}
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	if (!chdir("/mnt"))
		errno = 0;
	execve(job->argv[0], job->argv, job->envp);
	fprintf(stderr, "%s: %s\n", job->argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Run the job to its end, and reap orphans meanwhile, as PID 1 must. */
static int run_job(const struct job *job, int out)
{
	pid_t pid = fork(), dead;
	int status = 0;

	need(pid >= 0, "fork");
	if (!pid)
		exec_job(job, out);
	do {
		dead = wait(&status);
	} while (dead != pid);
	kill(-1, SIGKILL);
	while (wait(NULL) > 0)
		;
	return status;
}

/* Without "\r": the host reads lines. */
static int open_console(void)
{
	int fd = open("/dev/console", O_WRONLY | O_CLOEXEC);
	struct termios how;

	if (fd >= 0 && !tcgetattr(fd, &how)) {
		how.c_oflag &= ~OPOST;
		tcsetattr(fd, TCSANOW, &how);
	}
	return fd;
}

/* Returns where the job's output goes. */
static int open_ports(void)
{
	int out;

	if (bare) {
		verdict_port = open_console();
		return verdict_port;
	}
	verdict_port = open_port("swathe.verdict");
	need(verdict_port >= 0, "verdict port");
	out = open_port("swathe.out");
	need(out >= 0, "output port");
	return out;
}

int main(void)
{
	static struct job job;
	int status, out;

	read_job(&job);
	mount_all();
	out = open_ports();
	if (!bare)
		mount_disk();
	if (job.swap)
		swap_on(job.swap);
	switch_off(job.off);
	status = run_job(&job, out);
	if (WIFSIGNALED(status))
		say("signal %d\n", WTERMSIG(status));
	else
		say("exit %d\n", WEXITSTATUS(status));
	end_machine();
	return 0;
}
