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

// maxPageBytes is after how much of a list an answer ends: some thousand jobs, made and sent within
// a few milliseconds. A single job may have more: a command line of 2 MiB.
const maxPageBytes = 1 << 20

// page collects jobs until they fill an answer.
type page struct {
	jobs  []*scorev1.Job
	bytes int
}

func (p *page) full() bool { return p.bytes >= maxPageBytes }

func (p *page) add(j *scorev1.Job) {
	p.jobs = append(p.jobs, j)
	p.bytes += proto.Size(j)
}

// ofUser reports whether a job is the user's, who is given by name or number; "" is everybody.
func ofUser(owner *scorev1.Identity, user string) bool {
	return user == "" || user == owner.GetUser() || user == strconv.FormatUint(uint64(owner.GetUid()), 10)
}

// listing is one question for a list of jobs.
type listing struct {
	request     *scorev1.ListJobsRequest
	after, last uint64 // ids, the first of them exclusive
}

func (l *listing) wants(id uint64, owner *scorev1.Identity, s scorev1.JobState, submitted int64) bool {
	r := l.request
	return id > l.after && id <= l.last && ofUser(owner, r.GetUser()) && submitted >= r.GetSinceNanos() &&
		(len(r.GetStates()) == 0 || slices.Contains(r.GetStates(), s))
}

// open are the ids of the jobs that are not done and wanted, ascending.
func (l *listing) open(c *controller) (ids []uint64) {
	for id, j := range c.jobs {
		if j.state != done && l.wants(id, j.user, j.state, j.submitted) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// ended are the records of the jobs that are done and wanted, by id.
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

// Jobs lists jobs by id as the caller may see them: those that the request names, as many as an
// answer holds, and where the list goes on. Whoever asks for page after page is told of each job at
// most once, and of each that was there the whole time. What of the first page is not done is as it
// was at one instant, unless there is a limit.
func (l *Leader) Jobs(ctx context.Context, r *scorev1.ListJobsRequest, caller Caller) (*scorev1.ListJobsResponse, error) {
	list := listing{request: r, after: r.GetPage().GetAfter(), last: r.GetPage().GetLast()}
	begins := r.GetPage() == nil
	if begins && r.GetLimit() > 0 {
		if err := l.bounds(ctx, &list); err != nil {
			return nil, err
		}
		begins = false
	}
	views, err := consult(ctx, l, func(c *controller, answer func([]*scorev1.Job, error)) {
		if begins {
			list.last = c.nextJob - 1
		}
		views := c.listed(&list)
		c.call(func(err error) { answer(views, err) })
	})
	if err != nil {
		return nil, err
	}
	var records []*state.Job
	l.options.Replica.Read(func(s *state.State) { records = list.ended(s) })
	return list.answer(views, records, caller), nil
}

// bounds finds out where a list with a limit begins and ends.
func (l *Leader) bounds(ctx context.Context, list *listing) error {
	ids, err := consult(ctx, l, func(c *controller, answer func([]uint64, error)) {
		list.last = c.nextJob - 1
		ids := list.open(c)
		c.call(func(err error) { answer(ids, err) })
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

// listed returns the next jobs of a list that are not done, with the rows in which gangs are
// guests.
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
			if explained[id] {
				why = c.waitingFor(j)
			}
		}
		view := c.jobView(j, why)
		view.AlsoRows = guests[id]
		p.add(view)
	}
	return p.jobs
}

// firstQueued returns the jobs of which a list says why they wait.
func (c *controller) firstQueued() map[uint64]bool {
	var ids []uint64
	for id, j := range c.jobs {
		if j.state == queued {
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

// answer merges what waits and runs with what has ended. A job that ended between the two looks is
// in both; its end counts. Where views were cut off, what comes behind them is the next page's.
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
		p.add(redactedFor(JobOf(records[0]), caller))
		records = records[1:]
	}
	response := &scorev1.ListJobsResponse{Jobs: p.jobs}
	if len(p.jobs) > 0 && (len(views) > 0 || len(records) > 0 || horizon < l.last) {
		response.Next = &scorev1.JobPage{After: p.jobs[len(p.jobs)-1].GetId(), Last: l.last}
	}
	return response
}
