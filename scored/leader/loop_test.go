package leader

import (
	"context"
	"errors"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/replica"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Nodes prepare a job while it is committed. Nobody is told of the job before, and nothing starts.
func TestOnlyPrepareIsSentBeforeTheCommit(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		link.until(t, "Plan 1.0")
		r.delay = time.Hour
		begin := time.Now()
		answered := make(chan time.Duration, 1)
		go func() {
			mustSubmit(t, l, jobSpec(2))
			answered <- time.Since(begin)
		}()
		link.until(t, "Prepare 1 part 0 of 1")
		deliver(t, l, "n1", link, prepared(1))
		time.Sleep(time.Hour - 1)
		select {
		case m := <-link.messages:
			t.Errorf("before the commit the agent was sent %s", messageText(m))
		case <-answered:
			t.Error("before the commit Submit was answered")
		default:
		}
		if took := <-answered; took != time.Hour {
			t.Errorf("Submit took %v", took)
		}
		link.until(t, "Plan 1.1 row 0 100ms [1]")
	})
}

func TestOneCommitForAllThatWaits(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		join(t, l, "n1")
		var waiting sync.WaitGroup
		for range 20 {
			waiting.Go(func() { mustSubmit(t, l, jobSpec(1)) })
			synctest.Wait()
		}
		waiting.Wait()
		if entries := len(r.log()); entries > 4 {
			t.Errorf("%d entries for 20 jobs submitted within one commit", entries)
		}
	})
}

func TestLazyCommandsAreBatched(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		mustSubmit(t, l, jobSpec(1))
		deliver(t, l, "n1", link, prepared(1), launched(1, 1))
		if log := r.log(); slices.Contains(log, "MarkRunning 1;") {
			t.Errorf("MarkRunning was committed at once: %v", log)
		}
		time.Sleep(lazyDelay + 2*r.delay)
		if log := r.log(); !slices.Contains(log, "MarkRunning 1;") {
			t.Errorf("MarkRunning is still not committed: %v", log)
		}
		mustSubmit(t, l, jobSpec(1))
		deliver(t, l, "n1", link, prepared(2), launched(2, 1), exits(&agentpb.RankExited{JobId: 2}), nodeDone(2))
		time.Sleep(2 * r.delay)
		if log := r.log(); !slices.Contains(log, "MarkRunning 2;End 2 EXITED 0;") {
			t.Errorf("a short job's start and end are not in one entry: %v", log)
		}
	})
}

func TestFailedCommitIsToldAndForgotten(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		id := mustSubmit(t, l, jobSpec(1))
		watch, err := l.Attach(t.Context(), id, AttachOptions{}, owner)
		if err != nil {
			t.Fatal(err)
		}
		defer watch.Close()
		r.failNext(errors.New("disk full"))
		_, err = l.Submit(t.Context(), jobSpec(1), ada, owner)
		if !errors.Is(err, ErrLost) || err.Error() != "the server could not commit the change: disk full" {
			t.Errorf("Submit: %v", err)
		}
		<-watch.Broken()
		if reason := <-link.closed; reason != "" {
			t.Errorf("the agent was refused: %s", reason)
		}
		// It goes on from what is committed.
		next := mustSubmit(t, l, jobSpec(1))
		if next != id+1 {
			t.Errorf("the next job is %d", next)
		}
		if again := join(t, l, "n1"); again == link {
			t.Error("no new link")
		}
	})
}

func TestStoppingAnswersEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFakeReplica(t)
		r.delay = time.Hour
		l := New(Options{Replica: r, Cluster: "lab", Version: "v1"})
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- l.Run(ctx) }()
		<-l.Leading()
		link := newChanLink()
		if _, err := l.Connect(ctx, hello("n1", 2), nil, link); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := l.Submit(t.Context(), jobSpec(1), ada, owner)
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, ErrStopped) {
			t.Errorf("Submit: %v", err)
		}
		if err := <-over; err != nil {
			t.Errorf("Run: %v", err)
		}
		<-link.closed
		if _, err := l.Nodes(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("Nodes: %v", err)
		}
		l.Disconnect("n1", link) // must not block
	})
}

func TestCallersWaitWhileNobodyLeads(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		join(t, l, "n1")
		r.leadership <- replica.Leadership{}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := listJobs(ctx, l, false, "", owner); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Jobs without a leader: %v", err)
		}
		r.leadership <- replica.Leadership{Leader: true, Term: 2}
		synctest.Wait()
		if _, err := listJobs(t.Context(), l, false, "", owner); err != nil {
			t.Errorf("Jobs with a leader: %v", err)
		}
		if _, term := l.Now(); term != 2 {
			t.Errorf("term %d", term)
		}
	})
}

// After a caller got the error that no server leads, nothing is done.
func TestCallersDoNotWaitForEver(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		join(t, l, "n1")
		r.leadership <- replica.Leadership{}
		synctest.Wait()
		start := time.Now()
		if _, err := l.Submit(t.Context(), jobSpec(1), ada, owner); !errors.Is(err, ErrNoLeader) {
			t.Errorf("Submit without a leader: %v", err)
		}
		if waited := time.Since(start); waited != leaderWait {
			t.Errorf("Submit waited %v", waited)
		}
		r.leadership <- replica.Leadership{Leader: true, Term: 2}
		synctest.Wait()
		jobs, err := listJobs(t.Context(), l, true, "", owner)
		if err != nil || len(jobs) != 0 {
			t.Errorf("jobs %v, %v", jobs, err)
		}
	})
}

func TestStaleEntryWaitsForTheNextTerm(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		r.failNext(replica.ErrStale)
		if _, err := l.Connect(t.Context(), hello("n1", 2), nil, newChanLink()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := listJobs(t.Context(), l, false, "", owner); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSilentAgentIsCutOff(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		for range 3 {
			time.Sleep(DefaultNodeSilence - time.Second)
			deliver(t, l, "n1", link, &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Ping{Ping: &agentpb.Ping{
				OffsetNanos: 42, Troubles: []string{"a group is busy"},
			}}})
		}
		list, err := l.Nodes(t.Context())
		nodes := list.GetNodes()
		if err != nil || !nodes[0].GetUp() || nodes[0].GetClockOffsetNanos() != 42 {
			t.Fatalf("nodes %v, %v", nodes, err)
		}
		if !slices.Contains(nodes[0].GetNotes(), "a group is busy") {
			t.Errorf("the node's trouble is not among %q", nodes[0].GetNotes())
		}
		time.Sleep(DefaultNodeSilence)
		select {
		case <-link.closed:
		default:
			t.Error("a silent agent keeps its stream")
		}
		if list, _ := l.Nodes(t.Context()); list.GetNodes()[0].GetUp() {
			t.Error("a silent node is up")
		}
	})
}

func TestConfiguredSettingsAreThoseOfANewCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFakeReplica(t)
		l := New(Options{Replica: r, Cluster: "lab", Version: "v1", Settings: &scorev1.Settings{SliceNanos: 5e6, MaxRows: 3}})
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- l.Run(ctx) }()
		settings, err := l.Settings(ctx)
		if err != nil || settings.GetMaxRows() != 3 {
			t.Errorf("settings %v, %v", settings, err)
		}
		cancel()
		<-over
		var committed *scorev1.Settings
		r.Read(func(s *state.State) { committed = s.Settings() })
		if committed.GetMaxRows() != 3 {
			t.Errorf("committed %v", committed)
		}
	})
}

func TestClockNeverRunsBackwards(t *testing.T) {
	last := time.Now().Add(time.Hour).UnixNano()
	if c := newClock(last); c.Now() < last {
		t.Error("cluster time is before the last entry")
	}
	c := newClock(0)
	if d := time.Duration(c.Now() - time.Now().UnixNano()).Abs(); d > time.Minute {
		t.Errorf("cluster time is %v from real time", d)
	}
}

func TestManyJobsInManyEntries(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		join(t, l, "n1")
		r.delay = time.Second
		var waiting sync.WaitGroup
		for range maxEntry + 100 {
			waiting.Go(func() { mustSubmit(t, l, jobSpec(1)) })
		}
		waiting.Wait()
		for _, entry := range r.entries {
			if n := len(entry.GetCommands()); n > maxEntry {
				t.Errorf("an entry of %d commands", n)
			}
		}
		jobs, err := listJobs(t.Context(), l, false, "", owner)
		if err != nil || len(jobs) != maxEntry+100 {
			t.Errorf("%d jobs, %v", len(jobs), err)
		}
	})
}

func BenchmarkList1000(b *testing.B) {
	w := newWorld(b)
	w.quiet = true
	if refusal := w.connect(hello("n1", 2)); refusal != "" {
		b.Fatal(refusal)
	}
	for range 1000 {
		if _, err := w.submit(jobSpec(2)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if views := w.b.listed(&listing{request: &scorev1.ListJobsRequest{}, last: 1000}); len(views) < 1000 {
			b.Fatal(len(views))
		}
	}
}

// Submissions with long command lines share entries only as far as these stay small.
func TestEntriesAreBoundedInBytes(t *testing.T) {
	const each = maxEntryBytes/2 - 1<<10
	o := new(outbox)
	sizes := []int{each, each, each, 1, maxEntryBytes + 1, 1}
	for _, size := range sizes {
		spec := &scorev1.JobSpec{Argv: []string{strings.Repeat("x", size)}}
		o.propose(&statepb.Command{Command: &statepb.Command_Submit{Submit: &statepb.Submit{Spec: spec}}})
	}
	var got []int
	for {
		commands, taken := o.takeCommands(maxEntry)
		if len(commands) == 0 {
			break
		}
		if got = append(got, len(commands)); taken != o.decided-uint64(len(o.commands)) {
			t.Errorf("taken up to %d", taken)
		}
	}
	if want := []int{2, 2, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("entries of %v commands, want %v", got, want)
	}
}
