/* A rank in C: returns every message to its sender, until an empty one comes.
 * Descriptor 3 is its own context, 4 that of rank 0. */
#define _GNU_SOURCE
#include "../score_channel.h"
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct image {
	unsigned char *mem;
	struct score_header h;
};

struct ring {
	unsigned char *mem;
	uint64_t lines;
};

/* reading end of a ring */
struct reader {
	struct ring ring;
	uint64_t *head;
	uint64_t cursor;
};

/* writing end of a lane */
struct lane {
	struct ring ring;
	uint64_t *head;
	uint64_t tail;
	int open;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t load64(uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
/* Sequentially consistent: this program is not registered with membarrier. */
static void store64(uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }

static struct image attach(int fd)
{
	struct image img;
	struct stat st;
	if (fstat(fd, &st) != 0)
		die("fstat");
	img.mem = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (img.mem == MAP_FAILED)
		die("mmap");
	memcpy(&img.h, img.mem, sizeof img.h);
	if (img.h.magic != SCORE_MAGIC || img.h.version != SCORE_VERSION || img.h.total_bytes != (uint64_t)st.st_size) {
		fprintf(stderr, "not an image of this version\n");
		exit(1);
	}
	return img;
}

static struct ring ring_at(struct image *img, uint64_t at, uint32_t bytes)
{
	struct ring r = {img->mem + at, bytes / SCORE_LINE_BYTES};
	return r;
}

static struct score_record *record(struct ring *r, uint64_t pos)
{
	return (struct score_record *)(r->mem + (pos & (r->lines - 1)) * SCORE_LINE_BYTES);
}

static uint64_t lines(uint64_t length)
{
	return (length + SCORE_RECORD_BYTES + SCORE_LINE_BYTES - 1) / SCORE_LINE_BYTES;
}

static uint64_t left(struct ring *r, uint64_t pos) { return r->lines - (pos & (r->lines - 1)); }

static uint64_t word(uint64_t length, uint64_t kind, uint64_t rank) { return length | kind << 24 | rank << 32; }

static void wake(struct image *to)
{
	struct score_status *s = (struct score_status *)(to->mem + to->h.status_at);
	uint32_t asleep = 1;
	if (__atomic_load_n(&s->sleeping, __ATOMIC_SEQ_CST) &&
	    __atomic_compare_exchange_n(&s->sleeping, &asleep, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &s->sleeping, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The first message names the lane in the shared ring; the others go there. */
static void open_lane(struct image *to, struct lane *l, uint32_t rank)
{
	struct score_shared *shared = (struct score_shared *)(to->mem + to->h.shared_at);
	struct ring ring = ring_at(to, to->h.shared_ring, to->h.shared_bytes);
	for (uint32_t i = 1; i < to->h.lanes; i++) {
		struct score_lane *control = (struct score_lane *)(to->mem + to->h.lanes_at) + i;
		uint64_t nobody = 0, word_before;
		if (!__atomic_compare_exchange_n(&control->owner, &nobody, rank + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
		l->ring = ring_at(to, to->h.lane_rings + (uint64_t)i * to->h.lane_bytes, to->h.lane_bytes);
		l->head = &control->head;
		l->tail = load64(l->head);
		l->open = 1;
		do { /* take the tail, which is the lock */
			word_before = load64(&shared->tail) & ~UINT64_C(0xffffff);
		} while (!__atomic_compare_exchange_n(&shared->tail, &word_before, word_before | (rank + 1), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
		uint64_t pos = word_before >> 24;
		store64(&record(&ring, pos + 1)->commit, 0);
		record(&ring, pos)->progress = i;
		record(&ring, pos)->mark = 0;
		store64(&record(&ring, pos)->commit, word(0, SCORE_KIND_RESERVED, rank));
		store64(&shared->tail, (pos + 1) << 24);
		store64(&record(&ring, pos)->commit, word(0, SCORE_KIND_LANE, rank));
		return;
	}
	fprintf(stderr, "no lane is free\n");
	exit(1);
}

static void put(struct lane *l, uint64_t commit, uint64_t n)
{
	struct score_record *r = record(&l->ring, l->tail);
	r->progress = 0;
	r->mark = 0;
	store64(&record(&l->ring, l->tail + n)->commit, 0);
	store64(&r->commit, commit);
	l->tail += n;
}

static void wait_room(struct lane *l, uint64_t n)
{
	while (l->tail - load64(l->head) + n >= l->ring.lines)
		;
}

static void send_message(struct image *to, struct lane *l, uint32_t rank, const void *data, uint32_t length)
{
	uint64_t n = lines(length);
	if (!l->open)
		open_lane(to, l, rank);
	if (left(&l->ring, l->tail) < n) {
		uint64_t rest = left(&l->ring, l->tail);
		wait_room(l, rest);
		put(l, word(0, SCORE_KIND_PAD, rank), rest);
	}
	wait_room(l, n);
	memcpy(record(&l->ring, l->tail) + 1, data, length);
	put(l, word(length, SCORE_KIND_DATA, rank), n);
	wake(to);
}

static void pass(struct reader *r, uint64_t n)
{
	r->cursor += n;
	store64(r->head, r->cursor);
}

/* A lane is claimed only after its reader offered it. */
static void offer_lane(struct image *own, uint32_t lane)
{
	struct score_lane *control = (struct score_lane *)(own->mem + own->h.lanes_at) + lane;
	struct score_status *status = (struct score_status *)(own->mem + own->h.status_at);
	store64(&control->owner, 0);
	__atomic_add_fetch(&status->offers, 1, __ATOMIC_SEQ_CST);
}

int main(void)
{
	struct image own = attach(3), peer = attach(4);
	uint32_t rank = own.h.rank;
	struct score_shared *shared = (struct score_shared *)(own.mem + own.h.shared_at);
	struct reader readers[2] = {{ring_at(&own, own.h.shared_ring, own.h.shared_bytes), &shared->head, 0}};
	struct lane out = {0};
	int n = 1;
	uint32_t open = 0; /* the lane that readers[1] reads */
	offer_lane(&own, 1);
	for (;;) {
		for (int i = 0; i < n; i++) {
			struct reader *r = &readers[i];
			struct score_record *rec = record(&r->ring, r->cursor);
			uint64_t commit = load64(&rec->commit);
			uint32_t length = commit & 0xffffff, kind = commit >> 24 & 0xff;
			switch (kind) {
			case SCORE_KIND_LANE: {
				struct score_lane *control = (struct score_lane *)(own.mem + own.h.lanes_at) + rec->progress;
				readers[1].ring = ring_at(&own, own.h.lane_rings + (uint64_t)rec->progress * own.h.lane_bytes, own.h.lane_bytes);
				readers[1].head = &control->head;
				readers[1].cursor = load64(&control->head);
				open = rec->progress;
				n = 2;
				pass(r, 1);
				break;
			}
			case SCORE_KIND_LANE_END: {
				uint64_t end;
				memcpy(&end, rec + 1, SCORE_LANE_END_BYTES);
				if (readers[1].cursor != end)
					break; /* its messages come first */
				n = 1;
				pass(r, 1);
				store64(&record(&readers[1].ring, end)->commit, 0);
				offer_lane(&own, open);
				break;
			}
			case SCORE_KIND_PAD:
				pass(r, left(&r->ring, r->cursor));
				break;
			case SCORE_KIND_GROWING:
				while (__atomic_load_n(&rec->progress, __ATOMIC_ACQUIRE) < length)
					;
				/* fall through */
			case SCORE_KIND_DATA:
				send_message(&peer, &out, rank, rec + 1, length);
				pass(r, lines(length));
				if (length == 0)
					return 0;
				break;
			}
		}
	}
}
