/* The start of processes: the job's own, and those that they spawn. */
extern char **environ;

/* describe tells the library of a job. */
static void describe(const char *name, int here, uint32_t size, char *map, char *procs, const pmix_proc_t *parent) {
	pmix_info_t info[8];
	bool yes = true;
	int n = 0;
	PMIX_INFO_LOAD(&info[n++], PMIX_NODE_MAP, map, PMIX_STRING);
	PMIX_INFO_LOAD(&info[n++], PMIX_PROC_MAP, procs, PMIX_STRING);
	PMIX_INFO_LOAD(&info[n++], PMIX_UNIV_SIZE, &size, PMIX_UINT32);
	PMIX_INFO_LOAD(&info[n++], PMIX_JOB_SIZE, &size, PMIX_UINT32);
	if (parent) {
		PMIX_INFO_LOAD(&info[n++], PMIX_SPAWNED, &yes, PMIX_BOOL);
		PMIX_INFO_LOAD(&info[n++], PMIX_PARENT_ID, parent, PMIX_PROC);
	}
	pmix_status_t status = PMIx_server_register_nspace(name, here, info, n, NULL, NULL);
	if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) die("PMIx_server_register_nspace");
}

/* start forks a rank; variables of PMIx that are not for the library are left out. */
static pid_t start(const char *name, pmix_rank_t rank, char **program, char **variables) {
	char **env = calloc(MOST_VARIABLES, sizeof *env);
	pmix_proc_t proc;
	pid_t pid;
	int n = 0;
	PMIX_LOAD_PROCID(&proc, name, rank);
	PMIx_server_register_client(&proc, getuid(), getgid(), NULL, NULL, NULL);
	for (char **v = variables; *v && n < MOST_VARIABLES - 64; v++)
		if (strncmp(*v, "PMIX_", 5) || !strncmp(*v, "PMIX_MCA_", 9)) env[n++] = strdup(*v);
	PMIx_server_setup_fork(&proc, &env);
	if ((pid = fork()) == 0) {
		execvpe(program[0], program, env);
		die(program[0]);
	}
	return pid;
}

struct spawning {
	pmix_nspace_t name;
	pmix_proc_t parent;
	char **program;
	int n;
	pmix_spawn_cbfunc_t tell;
	void *data;
};

/* spawn_later is away from the library's thread, which the calls to it wait for. */
static void *spawn_later(void *arg) {
	struct spawning *s = arg;
	char host[16], list[1024] = "", *map, *procs;
	sprintf(host, "h%d", node);
	for (int i = 0; i < s->n; i++) sprintf(list + strlen(list), "%s%d", i ? "," : "", i);
	PMIx_generate_regex(host, &map);
	PMIx_generate_ppn(list, &procs);
	describe(s->name, s->n, s->n, map, procs, &s->parent);
	for (int i = 0; i < s->n; i++) start(s->name, i, s->program, environ);
	s->tell(PMIX_SUCCESS, s->name, s->data);
	return NULL;
}

static pmix_status_t spawn(const pmix_proc_t *parent, const pmix_info_t info[], size_t ninfo, const pmix_app_t apps[], size_t n,
		pmix_spawn_cbfunc_t done, void *data) {
	static int last;
	pthread_t thread;
	if (n != 1 || apps[0].maxprocs < 1 || apps[0].maxprocs > 64) return PMIX_ERR_NOT_SUPPORTED;
	struct spawning *s = calloc(1, sizeof *s);
	int args = 0;
	sprintf(s->name, "oracle.%d.%d", node, ++last);
	s->parent = *parent;
	s->n = apps[0].maxprocs;
	while (apps[0].argv[args]) args++;
	s->program = calloc(args + 1, sizeof *s->program);
	for (int i = 0; i < args; i++) s->program[i] = strdup(apps[0].argv[i]);
	s->tell = done;
	s->data = data;
	pthread_create(&thread, NULL, spawn_later, s);
	pthread_detach(thread);
	return PMIX_SUCCESS;
}
