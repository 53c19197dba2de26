/* Event queues: what the program writes, and insertions of address vectors that report. */
#include "objects.h"
#include "waiting.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct pm_event {
	struct pm_event *next;
	uint32_t event;
	int failed; /* what is in entry is a struct fi_eq_err_entry */
	size_t n;
	char entry[];
};

struct pm_eq {
	struct fid_eq eq;
	pm_users users;
	pthread_mutex_t lock;
	struct pm_event *first, **last;
	enum fi_wait_obj wait;
	int fd; /* readable while there is an event */
};

pm_users *pm_eq_users(struct fid *eq) { return &((struct pm_eq *)eq)->users; }

int pm_eq_put(struct pm_eq *q, uint32_t event, const void *entry, size_t n, const struct fi_eq_err_entry *failed)
{
	struct pm_event *e;

	if (failed)
		entry = failed, n = sizeof *failed;
	e = malloc(sizeof *e + n);
	if (!e)
		return -FI_ENOMEM;
	*e = (struct pm_event){.event = event, .failed = failed != NULL, .n = n};
	memcpy(e->entry, entry, n);
	pthread_mutex_lock(&q->lock);
	if (!q->first)
		eventfd_write(q->fd, 1);
	*q->last = e;
	q->last = &e->next;
	pthread_mutex_unlock(&q->lock);
	return 0;
}

/* take_out removes the first event. The caller has the lock. */
static void take_out(struct pm_eq *q)
{
	struct pm_event *e = q->first;
	eventfd_t n;

	q->first = e->next;
	if (!q->first) {
		q->last = &q->first;
		eventfd_read(q->fd, &n);
	}
	free(e);
}

static ssize_t take_event(struct pm_eq *q, uint32_t *event, void *buf, size_t length, uint64_t flags)
{
	struct pm_event *e = q->first;

	if (!e)
		return -FI_EAGAIN;
	if (e->failed)
		return -FI_EAVAIL;
	if (length < e->n)
		return -FI_ETOOSMALL;
	*event = e->event;
	length = e->n;
	memcpy(buf, e->entry, length);
	if (!(flags & FI_PEEK))
		take_out(q);
	return (ssize_t)length;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t length, uint64_t flags)
{
	struct pm_eq *q = (struct pm_eq *)fid;
	ssize_t n;

	pthread_mutex_lock(&q->lock);
	n = take_event(q, event, buf, length, flags);
	pthread_mutex_unlock(&q->lock);
	return n;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *to, uint64_t flags)
{
	struct pm_eq *q = (struct pm_eq *)fid;
	ssize_t n = -FI_EAGAIN;

	pthread_mutex_lock(&q->lock);
	if (q->first && q->first->failed) {
		memcpy(to, q->first->entry, sizeof *to);
		n = sizeof *to;
		if (!(flags & FI_PEEK))
			take_out(q);
	}
	pthread_mutex_unlock(&q->lock);
	return n;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t event, const void *buf, size_t length, uint64_t flags)
{
	int err = pm_eq_put((struct pm_eq *)fid, event, buf, length, NULL);

	return err ? err : (ssize_t)length;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t length, int timeout, uint64_t flags)
{
	struct pm_eq *q = (struct pm_eq *)fid;
	struct pollfd readable = {.fd = q->fd, .events = POLLIN};
	int64_t end = end_of(timeout), left;

	for (;;) {
		ssize_t n = eq_read(fid, event, buf, length, flags);
		if (n != -FI_EAGAIN)
			return n;
		left = left_of(end);
		if (left == 0)
			return -FI_EAGAIN;
		poll(&readable, 1, left < 0 ? -1 : (int)((left + 999) / 1000));
	}
}

static const char *eq_strerror(struct fid_eq *eq, int number, const void *data, char *buf, size_t length)
{
	const char *text = pm_strerror(number);

	if (buf && length) {
		strncpy(buf, text, length - 1);
		buf[length - 1] = 0;
	}
	return text;
}

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq), .read = eq_read, .readerr = eq_readerr, .write = eq_write, .sread = eq_sread,
	.strerror = eq_strerror,
};

int pm_eq_trywait(struct fid *fid)
{
	struct pm_eq *q = (struct pm_eq *)fid;
	int err;

	pthread_mutex_lock(&q->lock);
	err = q->first ? -FI_EAGAIN : 0;
	pthread_mutex_unlock(&q->lock);
	return err;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct pm_eq *q = (struct pm_eq *)fid;

	if (command != FI_GETWAIT || q->wait != FI_WAIT_FD)
		return -FI_ENOSYS;
	*(int *)arg = q->fd;
	return 0;
}

static int eq_close(struct fid *fid)
{
	struct pm_eq *q = (struct pm_eq *)fid;

	if (q->users)
		return -FI_EBUSY;
	while (q->first)
		take_out(q);
	close(q->fd);
	pthread_mutex_destroy(&q->lock);
	free(q);
	return 0;
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(struct fi_ops), .close = eq_close, .bind = pm_no_bind, .control = eq_control, .ops_open = pm_no_open,
};

int pm_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context)
{
	struct pm_eq *q;

	if (attr && (attr->wait_obj == FI_WAIT_SET || attr->wait_obj == FI_WAIT_MUTEX_COND || attr->wait_obj == FI_WAIT_POLLFD))
		return -FI_ENOSYS;
	q = calloc(1, sizeof *q);
	if (!q)
		return -FI_ENOMEM;
	q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q->fd < 0) {
		free(q);
		return -errno;
	}
	pthread_mutex_init(&q->lock, NULL);
	q->last = &q->first;
	q->wait = attr ? attr->wait_obj : FI_WAIT_NONE;
	q->eq.fid = (struct fid){.fclass = FI_CLASS_EQ, .context = context, .ops = &eq_fid_ops};
	q->eq.ops = &eq_ops;
	*eq = &q->eq;
	return 0;
}
