/* Events, control of the job, questions, and texts for the user. */
static pid_t pids[MOST_RANKS]; /* of this node's ranks */

/* notify takes an event to the other node. */
static pmix_status_t notify(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range, pmix_info_t info[], size_t n,
		pmix_op_cbfunc_t done, void *data) {
	pmix_data_buffer_t b;
	pmix_byte_object_t bytes;
	if (nodes == 1 || range == PMIX_RANGE_LOCAL || range == PMIX_RANGE_PROC_LOCAL) return PMIX_OPERATION_SUCCEEDED;
	PMIX_DATA_BUFFER_CONSTRUCT(&b);
	PMIx_Data_pack(NULL, &b, &code, 1, PMIX_STATUS);
	PMIx_Data_pack(NULL, &b, (void *)source, 1, PMIX_PROC);
	PMIx_Data_pack(NULL, &b, &range, 1, PMIX_DATA_RANGE);
	PMIx_Data_pack(NULL, &b, &n, 1, PMIX_SIZE);
	if (n > 0) PMIx_Data_pack(NULL, &b, info, n, PMIX_INFO);
	PMIX_DATA_BUFFER_UNLOAD(&b, bytes.bytes, bytes.size);
	tell((struct head){.what = NOTIFY, .size = bytes.size}, bytes.bytes);
	free(bytes.bytes);
	return PMIX_OPERATION_SUCCEEDED;
}

/* notified takes an event of the other node; the data is the library's from here on. */
static void notified(char *data, size_t size) {
	pmix_data_buffer_t b;
	pmix_status_t code;
	pmix_proc_t source;
	pmix_data_range_t range;
	pmix_info_t *info = NULL;
	size_t n;
	int32_t one = 1, all;
	PMIX_DATA_BUFFER_CONSTRUCT(&b);
	PMIX_DATA_BUFFER_LOAD(&b, data, size);
	PMIx_Data_unpack(NULL, &b, &code, &one, PMIX_STATUS);
	PMIx_Data_unpack(NULL, &b, &source, &one, PMIX_PROC);
	PMIx_Data_unpack(NULL, &b, &range, &one, PMIX_DATA_RANGE);
	PMIx_Data_unpack(NULL, &b, &n, &one, PMIX_SIZE);
	if ((all = n) > 0) {
		PMIX_INFO_CREATE(info, n);
		PMIx_Data_unpack(NULL, &b, info, &all, PMIX_INFO);
	}
	PMIx_Notify_event(code, &source, range, info, n, NULL, NULL);
}

static pmix_status_t control(const pmix_proc_t *who, const pmix_proc_t targets[], size_t ntargets, const pmix_info_t directives[], size_t n,
		pmix_info_cbfunc_t done, void *data) {
	for (size_t i = 0; i < n; i++) {
		if (!PMIX_CHECK_KEY(&directives[i], PMIX_JOB_CTRL_SIGNAL)) return PMIX_ERR_NOT_SUPPORTED;
		for (size_t k = 0; k < ntargets; k++) {
			if (strcmp(targets[k].nspace, NAMESPACE) || (int)targets[k].rank / ranks != node) return PMIX_ERR_NOT_FOUND;
			kill(pids[targets[k].rank % ranks], directives[i].value.data.integer);
		}
	}
	return PMIX_OPERATION_SUCCEEDED;
}

struct results {
	pmix_info_cbfunc_t tell;
	void *data;
	pmix_info_t *info;
	size_t n, asked;
};

static void *answer_query(void *arg) {
	struct results *r = arg;
	r->tell(r->n == r->asked ? PMIX_SUCCESS : r->n ? PMIX_QUERY_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND, r->info, r->n, r->data, NULL, NULL);
	free(r);
	return NULL;
}

static pmix_status_t query(pmix_proc_t *who, pmix_query_t *queries, size_t n, pmix_info_cbfunc_t done, void *data) {
	struct results *r = calloc(1, sizeof *r);
	pthread_t thread;
	PMIX_INFO_CREATE(r->info, 16);
	for (size_t i = 0; i < n; i++)
		for (char **key = queries[i].keys; key && *key; key++, r->asked++)
			if (r->n < 16 && !strcmp(*key, PMIX_QUERY_NAMESPACES)) PMIX_INFO_LOAD(&r->info[r->n++], *key, NAMESPACE, PMIX_STRING);
	r->tell = done;
	r->data = data;
	pthread_create(&thread, NULL, answer_query, r);
	pthread_detach(thread);
	return PMIX_SUCCESS;
}

static void log_text(const pmix_proc_t *who, const pmix_info_t data[], size_t n, const pmix_info_t directives[], size_t ndirs,
		pmix_op_cbfunc_t done, void *cbdata) {
	for (size_t i = 0; i < n; i++)
		if (data[i].value.type == PMIX_STRING) fprintf(stderr, "%s\n", data[i].value.data.string);
	later(done, cbdata);
}
