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
