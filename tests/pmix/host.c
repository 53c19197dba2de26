#define _GNU_SOURCE
/*
 * Runs a program of PMIx clients under the server that libpmix itself has, as an
 * oracle and a peer to compare with:
 *
 *     host GDS NODES RANKS PROGRAM ARG...
 *
 * NODES (1 or 2) processes serve RANKS ranks each, with the data store GDS (hash, or
 * ds21,hash for shared memory). The two exchange what their ranks fence, and fetch
 * from each other, over a socket pair. Names are kept by the node of rank 0 alone; what
 * is spawned runs where it was asked for.
 */
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const pmix_nspace_t NAMESPACE = "oracle";
enum { MOST_NAMES = 64, MOST_WAITS = 1024, MOST_VARIABLES = 1024, MOST_RANKS = 512 };

static int nodes, ranks, node, wire = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fence_ended = PTHREAD_COND_INITIALIZER;

/* What nodes say to each other: a header, then size bytes. */
enum { FENCE = 1, FETCH, FETCHED, MEET, NOTIFY };
struct head {
	int what, rank, status;
	size_t id, size;
};

static void die(const char *what) {
	perror(what);
	exit(125);
}

static void tell(struct head h, const void *data) {
	pthread_mutex_lock(&lock);
	if (write(wire, &h, sizeof h) != sizeof h) die("write");
	for (size_t done = 0; done < h.size;) {
		ssize_t n = write(wire, (const char *)data + done, h.size - done);
		if (n <= 0) die("write");
		done += n;
	}
	pthread_mutex_unlock(&lock);
}

static int hear(void *to, size_t size) {
	for (size_t done = 0; done < size;) {
		ssize_t n = read(wire, (char *)to + done, size - done);
		if (n <= 0) return 0;
		done += n;
	}
	return 1;
}

/* The fence under way: both halves, and who is to be told. */
static struct {
	char *ours, *theirs;
	size_t our_size, their_size;
	int have_ours, have_theirs;
	pmix_modex_cbfunc_t tell;
	void *data;
} fence;

static void free_data(void *data) { free(data); }

/* fence_over is called with the lock held, and gives it back. */
static void fence_over(void) {
	if (!fence.have_ours || !fence.have_theirs) {
		pthread_mutex_unlock(&lock);
		return;
	}
	size_t size = fence.our_size + fence.their_size;
	char *all = malloc(size + 1);
	memcpy(all, fence.ours, fence.our_size);
	memcpy(all + fence.our_size, fence.theirs, fence.their_size);
	free(fence.ours);
	free(fence.theirs);
	pmix_modex_cbfunc_t done = fence.tell;
	void *data = fence.data;
	memset(&fence, 0, sizeof fence);
	pthread_cond_signal(&fence_ended);
	pthread_mutex_unlock(&lock);
	done(PMIX_SUCCESS, all, size, data, free_data, all);
}

static pmix_status_t fence_nb(const pmix_proc_t procs[], size_t n, const pmix_info_t info[], size_t ninfo,
		char *data, size_t size, pmix_modex_cbfunc_t done, void *cbdata) {
	pthread_mutex_lock(&lock);
	fence.ours = malloc(size + 1);
	memcpy(fence.ours, data, size);
	fence.our_size = size;
	fence.tell = done;
	fence.data = cbdata;
	pthread_mutex_unlock(&lock);
	tell((struct head){.what = FENCE, .size = size}, data);
	free(data);
	pthread_mutex_lock(&lock);
	fence.have_ours = 1; /* from here on all may be over */
	fence_over();
	return PMIX_SUCCESS;
}

/* Fetches of the other node's ranks that wait, by number. */
static struct {
	pmix_modex_cbfunc_t tell;
	void *data;
} waits[MOST_WAITS];
static size_t last_wait;

static pmix_status_t fetch(const pmix_proc_t *proc, const pmix_info_t info[], size_t n, pmix_modex_cbfunc_t done, void *cbdata) {
	pthread_mutex_lock(&lock);
	size_t id = last_wait++ % MOST_WAITS;
	waits[id].tell = done;
	waits[id].data = cbdata;
	pthread_mutex_unlock(&lock);
	tell((struct head){.what = FETCH, .rank = proc->rank, .id = id}, NULL);
	return PMIX_SUCCESS;
}

static void fetched(pmix_status_t status, char *data, size_t size, void *id) {
	tell((struct head){.what = FETCHED, .status = status, .id = (size_t)id, .size = size}, data);
}

static void met(unsigned long key);
static void notified(char *data, size_t size);

static void *listen_wire(void *unused) {
	struct head h;
	pmix_proc_t proc;
	while (hear(&h, sizeof h)) {
		char *data = malloc(h.size + 1);
		if (!hear(data, h.size)) break;
		switch (h.what) {
		case FENCE:
			pthread_mutex_lock(&lock);
			while (fence.have_theirs) pthread_cond_wait(&fence_ended, &lock); /* it is ahead by one */
			fence.theirs = data;
			fence.their_size = h.size;
			fence.have_theirs = 1;
			fence_over();
			break;
		case FETCH:
			PMIX_LOAD_PROCID(&proc, NAMESPACE, h.rank);
			if (PMIx_server_dmodex_request(&proc, fetched, (void *)h.id) != PMIX_SUCCESS) fetched(PMIX_ERR_NOT_FOUND, NULL, 0, (void *)h.id);
			free(data);
			break;
		case FETCHED:
			waits[h.id].tell(h.status, data, h.size, waits[h.id].data, free_data, data);
			break;
		case MEET:
			free(data);
			met(h.id);
			break;
		case NOTIFY:
			notified(data, h.size);
		}
	}
	return NULL;
}

/* both_ready waits for the other node, so that the ranks of both start together, as a launcher starts them. */
static void both_ready(void) {
	char ready = 1;
	if (write(wire, &ready, 1) != 1 || !hear(&ready, 1)) die("the other node");
}

#include "names.h"
#include "groups.h"
#include "others.h"
#include "spawn.h"

static pmix_status_t end_of_job(const pmix_proc_t *proc, void *server, int status, const char *text,
		pmix_proc_t procs[], size_t n, pmix_op_cbfunc_t done, void *data) {
	_exit(status);
}

static pmix_status_t connected(const pmix_proc_t *proc, void *server, pmix_info_t info[], size_t n, pmix_op_cbfunc_t done, void *data) { return PMIX_OPERATION_SUCCEEDED; }
static pmix_status_t finalized(const pmix_proc_t *proc, void *server, pmix_op_cbfunc_t done, void *data) { return PMIX_OPERATION_SUCCEEDED; }

static void serve(char **program, const char *dir) {
	static pmix_server_module_t module;
	module.client_connected2 = connected;
	module.client_finalized = finalized;
	module.abort = end_of_job;
	module.fence_nb = fence_nb;
	module.direct_modex = fetch;
	module.publish = publish;
	module.lookup = lookup;
	module.unpublish = unpublish;
	module.connect = connect_procs;
	module.disconnect = disconnect_procs;
	module.notify_event = notify;
	module.job_control = control;
	module.query = query;
	module.log = log_text;
	module.spawn = spawn;
	char host[16], mine[256], *map, *procs, list[8192] = "";
	pmix_rank_t rank = node;
	sprintf(host, "h%d", node);
	sprintf(mine, "%s/%d", dir, node);
	mkdir(mine, 0700);
	pmix_info_t info[8];
	int n = 0;
	PMIX_INFO_LOAD(&info[n++], PMIX_SERVER_TMPDIR, mine, PMIX_STRING);
	PMIX_INFO_LOAD(&info[n++], PMIX_SYSTEM_TMPDIR, mine, PMIX_STRING);
	PMIX_INFO_LOAD(&info[n++], PMIX_SERVER_NSPACE, "oracle-server", PMIX_STRING);
	PMIX_INFO_LOAD(&info[n++], PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
	PMIX_INFO_LOAD(&info[n++], PMIX_HOSTNAME, host, PMIX_STRING);
	if (PMIx_server_init(&module, info, n) != PMIX_SUCCESS) die("PMIx_server_init");
	PMIx_generate_regex(nodes == 1 ? "h0" : "h0,h1", &map);
	for (int i = 0; i < nodes * ranks; i++) sprintf(list + strlen(list), "%s%d", i == 0 ? "" : i % ranks ? "," : ";", i);
	PMIx_generate_ppn(list, &procs);
	describe(NAMESPACE, ranks, nodes * ranks, map, procs, NULL);
	pthread_t thread;
	if (nodes == 2) {
		both_ready();
		pthread_create(&thread, NULL, listen_wire, NULL);
	}
	for (int i = 0; i < ranks; i++) pids[i] = start(NAMESPACE, node * ranks + i, program, environ);
	int worst = 0;
	for (int status; wait(&status) > 0;) { /* what was spawned, too */
		if (WIFEXITED(status) ? WEXITSTATUS(status) > worst : 1) worst = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
	}
	_exit(worst);
}

int main(int argc, char **argv) {
	char dir[] = "/tmp/score-oracle-XXXXXX", command[64];
	int pair[2], worst = 0, status;
	if (argc < 5 || (nodes = atoi(argv[2])) < 1 || nodes > 2 || (ranks = atoi(argv[3])) < 1 || ranks > 512) {
		fprintf(stderr, "usage: %s GDS 1|2 RANKS PROGRAM ARG...\n", argv[0]);
		return 2;
	}
	setenv("PMIX_MCA_gds", argv[1], 1);
	if (!mkdtemp(dir) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) die(dir);
	for (node = 0; node < nodes; node++)
		if (fork() == 0) {
			wire = pair[node];
			close(pair[1 - node]);
			serve(argv + 4, dir);
		}
	close(pair[0]);
	close(pair[1]);
	for (node = 0; node < nodes; node++) {
		wait(&status);
		if (WIFEXITED(status) ? WEXITSTATUS(status) > worst : 1) worst = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
	}
	sprintf(command, "rm -rf %s", dir);
	return system(command) == 0 ? worst : 125;
}
