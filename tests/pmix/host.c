#define _GNU_SOURCE
/*
 * Runs a program of PMIx clients under the server that libpmix itself has, as an
 * oracle and a peer to compare with:
 *
 *     host GDS NODES RANKS PROGRAM ARG...
 *
 * NODES (1 or 2) processes serve RANKS ranks each, with the data store GDS (hash, or
 * ds21,hash for shared memory). The two exchange what their ranks fence, and fetch
 * from each other, over a socket pair. Names are kept by the node of rank 0 alone.
 */
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
enum { MOST_NAMES = 64, MOST_WAITS = 1024, MOST_VARIABLES = 1024 };

static int nodes, ranks, node, wire = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fence_ended = PTHREAD_COND_INITIALIZER;

/* What nodes say to each other: a header, then size bytes. */
enum { FENCE = 1, FETCH, FETCHED };
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
		}
	}
	return NULL;
}

/* The table of names. */
static struct {
	char key[PMIX_MAX_KEYLEN + 1];
	pmix_value_t value;
	pmix_proc_t owner;
} names[MOST_NAMES];

static int find(const char *key) {
	for (int i = 0; i < MOST_NAMES; i++)
		if (!strcmp(names[i].key, key)) return i;
	return -1;
}

static int described(const char *key) { return !strncmp(key, "pmix.", 5); }

static pmix_status_t publish(const pmix_proc_t *proc, const pmix_info_t info[], size_t n, pmix_op_cbfunc_t done, void *data) {
	for (size_t i = 0; i < n; i++)
		if (!described(info[i].key) && find(info[i].key) >= 0) return PMIX_ERR_DUPLICATE_KEY;
	for (size_t i = 0; i < n; i++) {
		int k = find("");
		if (described(info[i].key) || k < 0) continue;
		PMIX_LOAD_KEY(names[k].key, info[i].key);
		PMIx_Value_xfer(&names[k].value, &info[i].value);
		names[k].owner = *proc;
	}
	return PMIX_OPERATION_SUCCEEDED;
}

struct answer {
	pmix_lookup_cbfunc_t tell;
	void *data;
	pmix_status_t status;
	pmix_pdata_t *found;
	size_t n;
};

static void *answer_later(void *arg) {
	struct answer *a = arg;
	a->tell(a->status, a->found, a->n, a->data);
	free(a);
	return NULL;
}

static pmix_status_t lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[], size_t n, pmix_lookup_cbfunc_t done, void *data) {
	struct answer *a = calloc(1, sizeof *a);
	pthread_t thread;
	size_t asked = 0;
	for (; keys[asked]; asked++);
	PMIX_PDATA_CREATE(a->found, asked);
	for (size_t i = 0; i < asked; i++) {
		int k = find(keys[i]);
		if (k < 0) continue;
		PMIX_LOAD_KEY(a->found[a->n].key, keys[i]);
		PMIx_Value_xfer(&a->found[a->n].value, &names[k].value);
		a->found[a->n++].proc = names[k].owner;
	}
	a->status = a->n == asked ? PMIX_SUCCESS : a->n ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND;
	a->tell = done;
	a->data = data;
	pthread_create(&thread, NULL, answer_later, a);
	pthread_detach(thread);
	return PMIX_SUCCESS;
}

static pmix_status_t unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[], size_t n, pmix_op_cbfunc_t done, void *data) {
	pmix_status_t status = PMIX_OPERATION_SUCCEEDED;
	for (size_t i = 0; keys[i]; i++) {
		int k = find(keys[i]);
		if (k < 0) status = PMIX_ERR_NOT_FOUND;
		else names[k].key[0] = 0;
	}
	return status;
}

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
	uint32_t size = nodes * ranks;
	n = 0;
	PMIX_INFO_LOAD(&info[n++], PMIX_NODE_MAP, map, PMIX_STRING);
	PMIX_INFO_LOAD(&info[n++], PMIX_PROC_MAP, procs, PMIX_STRING);
	PMIX_INFO_LOAD(&info[n++], PMIX_UNIV_SIZE, &size, PMIX_UINT32);
	PMIX_INFO_LOAD(&info[n++], PMIX_JOB_SIZE, &size, PMIX_UINT32);
	pmix_status_t status = PMIx_server_register_nspace(NAMESPACE, ranks, info, n, NULL, NULL);
	if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) die("PMIx_server_register_nspace");
	pthread_t thread;
	if (nodes == 2) pthread_create(&thread, NULL, listen_wire, NULL);
	for (int i = 0; i < ranks; i++) {
		extern char **environ;
		char **env = calloc(MOST_VARIABLES, sizeof *env);
		pmix_proc_t proc;
		int n = 0;
		PMIX_LOAD_PROCID(&proc, NAMESPACE, node * ranks + i);
		PMIx_server_register_client(&proc, getuid(), getgid(), NULL, NULL, NULL);
		for (char **v = environ; *v && n < MOST_VARIABLES - 64; v++)
			if (strncmp(*v, "PMIX_", 5) || !strncmp(*v, "PMIX_MCA_", 9)) env[n++] = strdup(*v);
		PMIx_server_setup_fork(&proc, &env);
		if (fork() == 0) {
			execvpe(program[0], program, env);
			die(program[0]);
		}
	}
	int worst = 0;
	for (int i = 0; i < ranks; i++) {
		int status;
		wait(&status);
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
