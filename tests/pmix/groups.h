/* Processes that are connected, or no longer: all nodes that have some of them must say so. */
enum { MOST_MEETINGS = 64 };
static struct meeting {
	unsigned long key;
	int ours, theirs;
	pmix_op_cbfunc_t tell;
	void *data;
} meetings[MOST_MEETINGS];

/* meeting is called with the lock held. */
static struct meeting *meeting(unsigned long key) {
	struct meeting *free_one = NULL;
	for (int i = 0; i < MOST_MEETINGS; i++) {
		if (meetings[i].key == key) return &meetings[i];
		if (!meetings[i].ours && !meetings[i].theirs) free_one = &meetings[i];
	}
	if (!free_one) die("too many meetings");
	free_one->key = key;
	return free_one;
}

/* key_of is the same in whatever order the processes are named. */
static unsigned long key_of(unsigned long what, const pmix_proc_t procs[], size_t n) {
	for (size_t i = 0; i < n; i++) {
		unsigned long h = procs[i].rank + 1UL;
		for (const char *c = procs[i].nspace; *c; c++) h = h * 1000003 ^ (unsigned char)*c;
		what += h * 0x9e3779b97f4a7c15;
	}
	return what;
}

static int elsewhere(const pmix_proc_t procs[], size_t n) {
	for (size_t i = 0; i < n; i++)
		if (!strcmp(procs[i].nspace, NAMESPACE) && (procs[i].rank == PMIX_RANK_WILDCARD || (int)procs[i].rank / ranks != node)) return 1;
	return 0;
}

struct ending {
	pmix_op_cbfunc_t tell;
	void *data;
};

static void *end_later(void *arg) {
	struct ending *e = arg;
	e->tell(PMIX_SUCCESS, e->data);
	free(e);
	return NULL;
}

/* later tells success by another thread than the library's. */
static void later(pmix_op_cbfunc_t done, void *data) {
	struct ending *e = malloc(sizeof *e);
	pthread_t thread;
	e->tell = done;
	e->data = data;
	pthread_create(&thread, NULL, end_later, e);
	pthread_detach(thread);
}

static pmix_status_t meet(unsigned long what, const pmix_proc_t procs[], size_t n, pmix_op_cbfunc_t done, void *data) {
	int over = nodes == 1 || !elsewhere(procs, n);
	unsigned long key = key_of(what, procs, n);
	if (!over) {
		tell((struct head){.what = MEET, .id = key}, NULL);
		pthread_mutex_lock(&lock);
		struct meeting *m = meeting(key);
		if ((over = m->theirs > 0)) {
			m->theirs--;
		} else {
			m->ours = 1;
			m->tell = done;
			m->data = data;
		}
		pthread_mutex_unlock(&lock);
	}
	if (over) later(done, data);
	return PMIX_SUCCESS;
}

/* met takes that the other node has all of its processes there. */
static void met(unsigned long key) {
	pthread_mutex_lock(&lock);
	struct meeting *m = meeting(key), was = *m;
	if (m->ours) m->ours = 0;
	else m->theirs++;
	pthread_mutex_unlock(&lock);
	if (was.ours) was.tell(PMIX_SUCCESS, was.data);
}

static pmix_status_t connect_procs(const pmix_proc_t procs[], size_t n, const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t done, void *data) {
	return meet(1, procs, n, done, data);
}

static pmix_status_t disconnect_procs(const pmix_proc_t procs[], size_t n, const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t done, void *data) {
	return meet(2, procs, n, done, data);
}
