/* How ranks find each other, and what rows have in common. */
#include "consumer.h"

#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 20000000000

int me, other;
static const char *row = "start";
static struct end base; /* of swap */
static uint64_t swaps;
static const char *directory;
static int meetings;

void fail(const char *file, int line, const char *what, int err)
{
	printf("%d %s FAILED %s:%d: %s%s%s\n", me, row, strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, what,
	       err ? ": " : "", err ? fi_strerror(-err) : "");
	fflush(stdout);
	_exit(1);
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t deadline(void) { return now() + PATIENCE_NS; }

void expired(int64_t end, const char *file, int line)
{
	if (now() > end)
		fail(file, line, "what was awaited did not come", 0);
}

void progress(int64_t end, const char *file, int line)
{
	expired(end, file, line);
	fi_cq_read(base.cq, NULL, 0);
}

struct fi_info *hints_of(const struct setup *s)
{
	struct fi_info *h = fi_allocinfo();

	h->caps = s->caps ? s->caps : WANTED;
	h->mode = FI_CONTEXT | FI_CONTEXT2;
	h->ep_attr->type = FI_EP_RDM;
	h->tx_attr->op_flags = s->tx_flags;
	h->rx_attr->op_flags = s->rx_flags;
	h->domain_attr->mr_mode = s->mr_mode;
	h->domain_attr->threading = s->threading;
	h->domain_attr->data_progress = s->data_progress;
	h->domain_attr->resource_mgmt = FI_RM_ENABLED;
	return h;
}

struct fi_info *offer(uint32_t version, struct fi_info *hints)
{
	struct fi_info *info = NULL;
	int err = fi_getinfo(version, NULL, NULL, 0, hints, &info);

	if (hints)
		fi_freeinfo(hints);
	CHECK(err == 0 || (err == -FI_ENODATA && !info));
	return err ? NULL : info;
}

static void open_alone(struct end *e, const struct setup *s)
{
	struct fi_cq_attr cq = {
		.format = s->format ? s->format : FI_CQ_FORMAT_TAGGED, .size = s->cq_size, .wait_obj = s->wait_obj,
	};
	struct fi_av_attr av = {.type = FI_AV_TABLE};

	memset(e, 0, sizeof *e);
	e->info = offer(API, hints_of(s));
	CHECK(e->info);
	OK(fi_fabric(e->info->fabric_attr, &e->fabric, NULL));
	OK(fi_domain(e->fabric, e->info, &e->domain, NULL));
	OK(fi_cq_open(e->domain, &cq, &e->cq, NULL));
	OK(fi_av_open(e->domain, &av, &e->av, NULL));
	OK(fi_endpoint(e->domain, e->info, &e->ep, NULL));
	OK(fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV | s->cq_flags));
	OK(fi_ep_bind(e->ep, &e->av->fid, 0));
	OK(fi_enable(e->ep));
}

static void name_of(struct end *e, void *name)
{
	size_t n = NAME_BYTES;

	OK(fi_getname(&e->ep->fid, name, &n));
	CHECK(n == NAME_BYTES);
}

static void insert(struct end *e, const void *name, fi_addr_t *to) { CHECK(fi_av_insert(e->av, name, 1, to, 0, NULL) == 1); }

void open_end(struct end *e, const struct setup *s)
{
	char mine[NAME_BYTES], theirs[NAME_BYTES];

	open_alone(e, s);
	name_of(e, mine);
	swap(mine, theirs, NAME_BYTES);
	insert(e, mine, &e->self);
	insert(e, theirs, &e->peer);
}

static void close_alone(struct end *e)
{
	if (e->ep)
		OK(fi_close(&e->ep->fid));
	OK(fi_close(&e->av->fid));
	OK(fi_close(&e->cq->fid));
	OK(fi_close(&e->domain->fid));
	OK(fi_close(&e->fabric->fid));
	fi_freeinfo(e->info);
}

void close_endpoint(struct end *e)
{
	barrier();
	OK(fi_close(&e->ep->fid));
	e->ep = NULL;
}

void close_end(struct end *e)
{
	barrier();
	close_alone(e);
}

void swap(const void *mine, void *theirs, size_t n)
{
	uint64_t tag = 0x5357415000000000u | swaps++;
	struct fi_cq_tagged_entry rest;

	POST(fi_trecv(base.ep, theirs, n, NULL, base.peer, tag, 0, theirs));
	POST(fi_tsend(base.ep, mine, n, NULL, base.peer, tag, (void *)mine));
	CHECK(pick(&base, theirs, &rest).len == n);
}

void barrier(void)
{
	uint64_t mine = swaps, theirs;

	swap(&mine, &theirs, sizeof mine);
	CHECK(theirs == mine); /* else the ranks are not in the same row */
}

struct fi_cq_tagged_entry next_from(struct end *e, fi_addr_t *source)
{
	struct fi_cq_tagged_entry entry;
	int64_t end = deadline();
	ssize_t n;

	memset(&entry, 0, sizeof entry);
	while ((n = fi_cq_readfrom(e->cq, &entry, 1, source)) == -FI_EAGAIN)
		expired(end, __FILE__, __LINE__);
	if (n == -FI_EAVAIL)
		fail(__FILE__, __LINE__, "an operation failed", -next_error(e).err);
	CHECK(n == 1);
	return entry;
}

struct fi_cq_tagged_entry next(struct end *e)
{
	fi_addr_t source;

	return next_from(e, &source);
}

struct fi_cq_tagged_entry pick(struct end *e, void *context, struct fi_cq_tagged_entry *rest)
{
	struct fi_cq_tagged_entry first = next(e), second = next(e);

	CHECK(first.op_context == context || second.op_context == context);
	*rest = first.op_context == context ? second : first;
	return first.op_context == context ? first : second;
}

struct fi_cq_err_entry next_error(struct end *e)
{
	struct fi_cq_err_entry error;
	struct fi_cq_tagged_entry entry;
	int64_t end = deadline();
	ssize_t n;

	memset(&error, 0, sizeof error);
	while ((n = fi_cq_read(e->cq, &entry, 1)) == -FI_EAGAIN)
		expired(end, __FILE__, __LINE__);
	CHECK(n == -FI_EAVAIL);
	CHECK(fi_cq_readerr(e->cq, &error, 0) == 1);
	CHECK(fi_cq_strerror(e->cq, error.prov_errno, error.err_data, NULL, 0) != NULL);
	return error;
}

void nothing(struct end *e)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 200; i++)
		CHECK(fi_cq_read(e->cq, &entry, 1) == -FI_EAGAIN);
}

void fill(void *to, size_t n, int rank, int seed)
{
	for (size_t i = 0; i < n; i++)
		((unsigned char *)to)[i] = (unsigned char)(i * 7 + (i >> 8) + rank * 13 + seed);
}

bool filled(const void *from, size_t n, int rank, int seed)
{
	for (size_t i = 0; i < n; i++)
		if (((const unsigned char *)from)[i] != (unsigned char)(i * 7 + (i >> 8) + rank * 13 + seed))
			return false;
	return true;
}

void open_window(struct end *e, struct window *w, void *memory, size_t n, uint64_t access, uint64_t key)
{
	uint64_t mine[2], theirs[2];

	OK(fi_mr_reg(e->domain, memory, n, access, 0, key, 0, &w->mr, NULL));
	mine[0] = fi_mr_key(w->mr);
	mine[1] = e->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR || e->info->domain_attr->mr_mode == OLD_MR_BASIC
			  ? (uint64_t)(uintptr_t)memory
			  : 0;
	swap(mine, theirs, sizeof mine);
	w->key = theirs[0], w->at = theirs[1];
}

void close_window(struct window *w)
{
	barrier();
	OK(fi_close(&w->mr->fid));
}

/* meet writes this rank's name into the directory and waits for the other one's. */
static void meet(void)
{
	char mine[NAME_BYTES], theirs[NAME_BYTES], path[4096], made[4096];
	int64_t end = deadline();
	FILE *f;

	name_of(&base, mine);
	snprintf(path, sizeof path, "%s/new.%d", directory, me);
	snprintf(made, sizeof made, meetings ? "%s/name.%d.%d" : "%s/name.%d", directory, me, meetings);
	CHECK((f = fopen(path, "w")) && fwrite(mine, NAME_BYTES, 1, f) == 1 && fclose(f) == 0);
	CHECK(rename(path, made) == 0);
	snprintf(path, sizeof path, meetings ? "%s/name.%d.%d" : "%s/name.%d", directory, other, meetings);
	while (!(f = fopen(path, "r"))) {
		expired(end, __FILE__, __LINE__);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	CHECK(fread(theirs, NAME_BYTES, 1, f) == 1);
	fclose(f);
	insert(&base, mine, &base.self);
	insert(&base, theirs, &base.peer);
	meetings++;
}

void reopen(void)
{
	struct setup plain = {0};

	close_end(&base);
	open_alone(&base, &plain);
	meet();
}

static bool chosen(const char *name, int count, char **names)
{
	for (int i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return count == 0;
}

/* usage: consumer DIRECTORY [ROW...] */
int main(int argc, char **argv)
{
	struct setup plain = {0};

	if (argc < 2 || !getenv("SCORE_RANK"))
		return 2;
	me = atoi(getenv("SCORE_RANK"));
	other = 1 - me;
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_alone(&base, &plain);
	directory = argv[1];
	meet();
	for (const struct row *r = rows; r->name; r++) {
		if (!chosen(r->name, argc - 2, argv + 2))
			continue;
		row = r->name;
		r->run();
		printf("%d %s ok\n", me, row);
	}
	row = "end";
	close_end(&base);
	return 0;
}
