package leader

import (
	"context"
	"score/scored/api/scorev1"
	"score/scored/state"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// listJobs returns all pages of a list.
func listJobs(ctx context.Context, l *Leader, all bool, user string, caller Caller) (jobs []*scorev1.Job, err error) {
	r := &scorev1.ListJobsRequest{All: all, User: user}
	for {
		reply, err := l.Jobs(ctx, r, caller)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, reply.GetJobs()...)
		if r.Page = reply.GetNext(); r.GetPage() == nil {
			return jobs, nil
		}
	}
}

func idsOf(jobs []*scorev1.Job) (ids []uint64) {
	for _, j := range jobs {
		ids = append(ids, j.GetId())
	}
	return ids
}

func TestListsAreNarrowed(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		over := runJob(t, l, link, jobSpec(1))
		deliver(t, l, "n1", link, nodeDone(over))
		second := runJob(t, l, link, jobSpec(1))
		var since int64
		r.Read(func(s *state.State) { since = s.Job(second).Submitted })
		states := func(s ...scorev1.JobState) []scorev1.JobState { return s }
		for _, c := range []struct {
			request *scorev1.ListJobsRequest
			want    []uint64
		}{
			{&scorev1.ListJobsRequest{}, []uint64{2}},
			{&scorev1.ListJobsRequest{All: true}, []uint64{1, 2}},
			{&scorev1.ListJobsRequest{All: true, States: states(done)}, []uint64{1}},
			{&scorev1.ListJobsRequest{All: true, States: states(queued)}, nil},
			{&scorev1.ListJobsRequest{All: true, States: states(queued, running)}, []uint64{2}},
			{&scorev1.ListJobsRequest{All: true, Limit: 1}, []uint64{2}},
			{&scorev1.ListJobsRequest{All: true, Limit: 1, States: states(done)}, []uint64{1}},
			{&scorev1.ListJobsRequest{All: true, Limit: 9}, []uint64{1, 2}},
			{&scorev1.ListJobsRequest{All: true, SinceNanos: since}, []uint64{2}},
			{&scorev1.ListJobsRequest{All: true, User: "7"}, []uint64{1, 2}},
			{&scorev1.ListJobsRequest{All: true, User: "bob"}, nil},
			{&scorev1.ListJobsRequest{All: true, Page: &scorev1.JobPage{After: 1, Last: 1}}, nil},
		} {
			reply, err := l.Jobs(t.Context(), c.request, owner)
			if got := idsOf(reply.GetJobs()); err != nil || !slices.Equal(got, c.want) || reply.GetNext() != nil {
				t.Errorf("%v: %v, next %v, %v", c.request, got, reply.GetNext(), err)
			}
		}
	})
}

// TestListIsOfOneInstant: a job starts and another one ends while a list waits for the disk. The
// list never lacks both.
func TestListIsOfOneInstant(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		join(t, l, "n1")
		alone := jobSpec(1)
		alone.Exclusive = true
		mustSubmit(t, l, alone) // the others wait
		first := mustSubmit(t, l, jobSpec(1))
		var clients sync.WaitGroup
		client := func(after time.Duration, does func() error) {
			clients.Go(func() {
				time.Sleep(after)
				if err := does(); err != nil {
					t.Error(err)
				}
			})
		}
		submit := func() error {
			_, err := l.Submit(t.Context(), jobSpec(1), ada, owner)
			return err
		}
		var listed []uint64
		r.delay = 10 * time.Millisecond
		client(0, submit)
		client(time.Millisecond, func() error {
			reply, err := l.Jobs(t.Context(), &scorev1.ListJobsRequest{}, owner)
			listed = idsOf(reply.GetJobs())
			return err
		})
		client(2*time.Millisecond, submit)
		client(3*time.Millisecond, func() error { return l.Cancel(t.Context(), first, owner, "ada") })
		clients.Wait()
		if want := []uint64{1, 2, 3}; !slices.Equal(listed, want) {
			t.Errorf("the list has %v, want %v", listed, want)
		}
	})
}

// TestPagesAreWhole draws jobs of all sizes, some of them done. Reading page after page returns
// each job once, in order, and no page exceeds its bound by more than one job.
func TestPagesAreWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var views []*scorev1.Job
		var records []*state.Job
		var want []uint64
		for id := uint64(1); id <= rapid.Uint64Range(0, 60).Draw(t, "jobs"); id++ {
			spec := &scorev1.JobSpec{
				Argv: []string{string(make([]byte, rapid.SampledFrom([]int{1, 40_000, maxPageBytes / 3, 2 * maxPageBytes}).Draw(t, "size")))},
			}
			where := rapid.IntRange(0, 3).Draw(t, "where")
			if where == 0 || where == 2 {
				views = append(views, &scorev1.Job{Id: id, Spec: spec})
			}
			if where == 1 || where == 2 {
				records = append(records, &state.Job{ID: id, Spec: spec})
			}
			if where != 3 {
				want = append(want, id)
			}
		}
		var got []uint64
		list := listing{last: 60}
		for {
			var p page
			for _, v := range views {
				if v.GetId() > list.after && !p.full() {
					p.add(v)
				}
			}
			i, _ := slices.BinarySearchFunc(records, list.after+1, func(r *state.Job, id uint64) int { return int(r.ID) - int(id) })
			reply := list.answer(p.jobs, records[i:], Caller{Role: scorev1.Role_ROLE_OPERATOR})
			got = append(got, idsOf(reply.GetJobs())...)
			var all page
			for _, j := range reply.GetJobs() {
				if all.full() {
					t.Fatalf("a page has more than it holds")
				}
				all.add(j)
			}
			if reply.GetNext() == nil {
				break
			}
			list.after = reply.GetNext().GetAfter()
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestHistoryGoesOn draws histories whose oldest jobs are forgotten while a client reads page after
// page.
func TestHistoryGoesOn(t *testing.T) {
	big := &scorev1.JobSpec{Argv: []string{string(make([]byte, maxPageBytes/4))}}
	rapid.Check(t, func(t *rapid.T) {
		var records []*state.Job
		next, now := uint64(1), int64(1)
		end := func(jobs int) {
			for range jobs {
				now += rapid.Int64Range(0, 1).Draw(t, "later") // many end at the same instant
				records = append(records, &state.Job{ID: next * 7919 % 100_003, Spec: big, Ended: now, User: &scorev1.Identity{}})
				next++
			}
		}
		end(rapid.IntRange(0, 30).Draw(t, "jobs"))
		all := slices.Clone(records)
		r := &scorev1.GetHistoryRequest{Limit: uint32(rapid.IntRange(0, 20).Draw(t, "limit"))}
		var got []uint64
		forgotten := 0
		for {
			reply := history(records, r, Caller{})
			got = append(got, idsOf(reply.GetJobs())...)
			if r.Page = reply.GetNext(); r.GetPage() == nil {
				break
			}
			end(rapid.IntRange(0, 5).Draw(t, "more"))
			drop := rapid.IntRange(0, min(3, len(records))).Draw(t, "forgotten")
			records, forgotten = records[drop:], forgotten+drop
		}
		want := all
		if limit := int(r.GetLimit()); limit > 0 && len(want) > limit {
			want = want[len(want)-limit:]
		}
		// Each once, in order, and all but those that were forgotten before their page came.
		i := 0
		for _, j := range want {
			if i < len(got) && got[i] == j.ID {
				i++
			} else if slices.Contains(idsOfRecords(records), j.ID) {
				t.Fatalf("job %d is missing in %v", j.ID, got)
			}
		}
		if i != len(got) {
			t.Fatalf("got %v, want of %v", got, idsOfRecords(want))
		}
	})
}

func idsOfRecords(records []*state.Job) (ids []uint64) {
	for _, r := range records {
		ids = append(ids, r.ID)
	}
	return ids
}
