package leader

import (
	"cmp"
	"context"
	"score/gang"
	"score/scored/api/scorev1"
	"score/scored/state"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
)

// maxPageBytes is the size after which a page ends: some thousand jobs, made and sent within a few
// milliseconds. A single job may be larger: a command line has up to 2 MiB.
const maxPageBytes = 1 << 20

// page collects jobs up to the size of an answer.
type page struct {
	jobs  []*scorev1.Job
	bytes int
}

func (p *page) full() bool { return p.bytes >= maxPageBytes }

func (p *page) add(j *scorev1.Job) {
	p.jobs = append(p.jobs, j)
	p.bytes += proto.Size(j)
}

// ofUser reports whether a job belongs to the user, a name or number; "" means all users.
func ofUser(owner *scorev1.Identity, user string) bool {
	return user == "" || user == owner.GetUser() || user == strconv.FormatUint(uint64(owner.GetUid()), 10)
}

// listing is one request for a list of jobs.
type listing struct {
	request     *scorev1.ListJobsRequest
	after, last uint64 // ids; after is exclusive
}

func (l *listing) wants(id uint64, owner *scorev1.Identity, s scorev1.JobState, submitted int64) bool {
	r := l.request
	return id > l.after && id <= l.last && ofUser(owner, r.GetUser()) && submitted >= r.GetSinceNanos() &&
		(len(r.GetStates()) == 0 || slices.Contains(r.GetStates(), s))
}

// open returns the ids of the wanted jobs that are not done, ascending.
func (l *listing) open(c *controller) (ids []uint64) {
	for id, j := range c.jobs {
		if j.state != done && l.wants(id, j.user, j.state, j.submitted) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// ended returns the records of the wanted jobs that are done, by id.
func (l *listing) ended(s *state.State) (records []*state.Job) {
	if !l.request.GetAll() {
		return nil
	}
	for _, record := range s.Finished() {
		if l.wants(record.ID, record.User, done, record.Submitted) {
			records = append(records, record)
		}
	}
	slices.SortFunc(records, func(x, y *state.Job) int { return cmp.Compare(x.ID, y.ID) })
	return records
}

// Jobs returns the requested jobs by id as the caller may see them: as many as an answer holds, and
// where to continue. A client that reads page after page gets each job at most once, and each job
// that existed the whole time. Without a limit, the unfinished jobs of the first page are
// consistent with each other.
func (l *Leader) Jobs(ctx context.Context, r *scorev1.ListJobsRequest, caller Caller) (*scorev1.ListJobsResponse, error) {
	list := listing{request: r, after: r.GetPage().GetAfter(), last: r.GetPage().GetLast()}
	begins := r.GetPage() == nil
	if begins && r.GetLimit() > 0 {
		if err := l.bounds(ctx, &list); err != nil {
			return nil, err
		}
		begins = false
	}
	views, err := observe(ctx, l, func(c *controller) []*scorev1.Job {
		if begins {
			list.last = c.nextJob - 1
		}
		return c.listed(&list)
	})
	if err != nil {
		return nil, err
	}
	var records []*state.Job
	l.options.Replica.Read(func(s *state.State) { records = list.ended(s) })
	return list.answer(views, records, caller), nil
}

// bounds finds where a list with a limit begins and ends.
func (l *Leader) bounds(ctx context.Context, list *listing) error {
	ids, err := observe(ctx, l, func(c *controller) []uint64 {
		list.last = c.nextJob - 1
		return list.open(c)
	})
	if err != nil {
		return err
	}
	l.options.Replica.Read(func(s *state.State) {
		for _, record := range list.ended(s) {
			ids = append(ids, record.ID)
		}
	})
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if before := len(ids) - int(list.request.GetLimit()); before > 0 {
		list.after = ids[before-1]
	}
	return nil
}

// listed returns the next unfinished jobs of a list, with the rows in which gangs are guests.
func (c *controller) listed(list *listing) []*scorev1.Job {
	guests, explained := c.guestRows(), c.firstQueued()
	var p page
	for _, id := range list.open(c) {
		if p.full() {
			break
		}
		j, why := c.jobs[id], ""
		if j.state == queued {
			why = gang.ForTurn.String()
			if explained[id] || j.withheld() {
				why = c.waitingFor(j)
			}
		}
		view := c.jobView(j, why)
		view.AlsoRows = guests[id]
		p.add(view)
	}
	return p.jobs
}

// firstQueued returns the jobs for which a list says why they wait.
func (c *controller) firstQueued() map[uint64]bool {
	var ids []uint64
	for id, j := range c.jobs {
		if j.state == queued && !j.withheld() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	first := make(map[uint64]bool, maxExplained)
	for _, id := range ids[:min(len(ids), maxExplained)] {
		first[id] = true
	}
	return first
}

// answer merges unfinished jobs and ended ones. A job that ended in between is in both; its end
// counts. If the views were cut off, later ended jobs belong to the next page.
func (l *listing) answer(views []*scorev1.Job, records []*state.Job, caller Caller) *scorev1.ListJobsResponse {
	horizon := l.last
	viewed := 0
	for _, v := range views {
		viewed += proto.Size(v)
	}
	if viewed >= maxPageBytes {
		horizon = views[len(views)-1].GetId()
	}
	var p page
	for (len(views) > 0 || len(records) > 0) && !p.full() {
		switch {
		case len(records) == 0 || len(views) > 0 && views[0].GetId() < records[0].ID:
			p.add(redactedFor(views[0], caller))
			views = views[1:]
			continue
		case len(views) > 0 && views[0].GetId() == records[0].ID:
			views = views[1:]
		}
		if records[0].ID > horizon {
			break
		}
		p.add(redactedFor(jobOf(records[0]), caller))
		records = records[1:]
	}
	response := &scorev1.ListJobsResponse{Jobs: p.jobs}
	if len(p.jobs) > 0 && (len(views) > 0 || len(records) > 0 || horizon < l.last) {
		response.Next = &scorev1.JobPage{After: p.jobs[len(p.jobs)-1].GetId(), Last: l.last}
	}
	return response
}
