package leader

import (
	"context"
	"score/scored/api/scorev1"
	"score/scored/state"
	"slices"
	"sort"
)

// History returns finished jobs in the order of their ends: the caller's own or, to an operator,
// all; as many as an answer holds, and where to continue.
func (l *Leader) History(ctx context.Context, r *scorev1.GetHistoryRequest, caller Caller) (*scorev1.GetHistoryResponse, error) {
	// The committed state has only committed ends, but the answer waits for earlier decisions.
	if err := l.decideOnly(ctx, func(*controller) error { return nil }); err != nil {
		return nil, err
	}
	var records []*state.Job
	l.options.Replica.Read(func(s *state.State) { records = s.Finished() })
	return history(records, r, caller), nil
}

// history returns a page of the finished jobs, which are in the order of their ends.
func history(records []*state.Job, r *scorev1.GetHistoryRequest, caller Caller) *scorev1.GetHistoryResponse {
	records = rest(records, r.GetPage())
	if len(records) == 0 {
		return &scorev1.GetHistoryResponse{}
	}
	last := records[len(records)-1]
	records = slices.DeleteFunc(slices.Clone(records), func(j *state.Job) bool {
		return j.Ended < r.GetSinceNanos() || !caller.controls(j.User) || !ofUser(j.User, r.GetUser()) ||
			len(r.GetReasons()) > 0 && !slices.Contains(r.GetReasons(), j.Verdict.GetReason())
	})
	if limit := int(r.GetLimit()); r.GetPage() == nil && limit > 0 && len(records) > limit {
		records = records[len(records)-limit:]
	}
	var p page
	for len(records) > 0 && !p.full() {
		p.add(jobOf(records[0]))
		records = records[1:]
	}
	response := &scorev1.GetHistoryResponse{Jobs: p.jobs}
	if len(records) > 0 {
		after := p.jobs[len(p.jobs)-1]
		response.Next = &scorev1.JobPage{
			After: after.GetId(), AfterNanos: after.GetEndedNanos(), Last: last.ID, LastNanos: last.Ended,
		}
	}
	return response
}

// rest returns the records of a page and those that follow.
func rest(records []*state.Job, p *scorev1.JobPage) []*state.Job {
	if p == nil {
		return records
	}
	from, to := position(records, p.GetAfter(), p.GetAfterNanos()), position(records, p.GetLast(), p.GetLastNanos())
	return records[from:max(from, to)]
}

// position returns the number of records up to and including that of a job. If the job is
// forgotten, it is the number of those that ended before it: the answer may repeat jobs that ended
// at the same instant.
func position(records []*state.Job, id uint64, ended int64) int {
	first := sort.Search(len(records), func(i int) bool { return records[i].Ended >= ended })
	for i := first; i < len(records) && records[i].Ended == ended; i++ {
		if records[i].ID == id {
			return i + 1
		}
	}
	return first
}
