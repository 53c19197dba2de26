package leader

import (
	"errors"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var stranger = Caller{UID: 8}

// runJob starts a job of one rank and waits until it runs.
func runJob(t *testing.T, l *Leader, link *chanLink, spec *scorev1.JobSpec) uint64 {
	t.Helper()
	id := mustSubmit(t, l, spec)
	deliver(t, l, "n1", link, prepared(id), launched(id, 1))
	return id
}

func TestListsHideEnvironments(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		running := runJob(t, l, link, jobSpec(1))
		over := runJob(t, l, link, jobSpec(1))
		deliver(t, l, "n1", link, nodeDone(over))
		time.Sleep(time.Second)

		jobs, err := listJobs(t.Context(), l, true, "", owner)
		if err != nil || len(jobs) != 2 {
			t.Fatalf("jobs %v, %v", jobs, err)
		}
		for _, j := range jobs {
			if j.GetSpec().GetEnv() != nil {
				t.Errorf("a list shows the environment of job %d", j.GetId())
			}
		}
		if jobs[0].GetState() != scorev1.JobState_JOB_STATE_RUNNING || jobs[1].GetVerdict() == nil || jobs[1].GetUsage().GetRunNanos() != 5 {
			t.Errorf("jobs %v", jobs)
		}
		if only, _ := listJobs(t.Context(), l, false, "", owner); len(only) != 1 || only[0].GetId() != running {
			t.Errorf("unfinished jobs %v", only)
		}
		if none, _ := listJobs(t.Context(), l, true, "bob", owner); len(none) != 0 {
			t.Errorf("jobs of bob: %v", none)
		}
		mine, err := l.Job(t.Context(), running, owner)
		if err != nil || mine.GetJob().GetSpec().GetEnv() == nil {
			t.Errorf("the owner's view %v, %v", mine, err)
		}
		theirs, err := l.Job(t.Context(), running, stranger)
		if err != nil || theirs.GetJob().GetSpec().GetEnv() != nil {
			t.Errorf("a stranger's view %v, %v", theirs, err)
		}
		if done, err := l.Job(t.Context(), over, stranger); err != nil || done.GetJob().GetVerdict() == nil {
			t.Errorf("a finished job %v, %v", done, err)
		}
	})
}

func TestWhoMayDoWhat(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		id := runJob(t, l, link, jobSpec(1))
		_, attachErr := l.Attach(t.Context(), id, AttachOptions{}, stranger)
		for what, err := range map[string]error{
			"cancel": l.Cancel(t.Context(), id, stranger, "eve"),
			"signal": l.Signal(t.Context(), id, 15, stranger),
			"attach": attachErr,
		} {
			if !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), "job 1 belongs to ada") {
				t.Errorf("%s by a stranger: %v", what, err)
			}
		}
		if err := l.Signal(t.Context(), id, 10, Caller{UID: 99, Role: scorev1.Role_ROLE_OPERATOR}); err != nil {
			t.Errorf("signal by an administrator: %v", err)
		}
		if err := l.Cancel(t.Context(), id, owner, "ada"); err != nil {
			t.Errorf("cancel by the owner: %v", err)
		}
	})
}

// TestRefusalsWaitForTheCommit: a caller that comes while the end of a job is being written gets
// that end, instead of an error that the job does not exist. If the end cannot be committed, the
// caller does not see it.
func TestRefusalsWaitForTheCommit(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		join(t, l, "n1")
		cancelAndSignal := func(id uint64) (first, second error) {
			over := make(chan error)
			go func() { over <- l.Cancel(t.Context(), id, owner, "ada") }()
			synctest.Wait()
			second = l.Signal(t.Context(), id, 10, owner)
			return <-over, second
		}
		for range 3 {
			mustSubmit(t, l, jobSpec(1))
		}
		if first, second := cancelAndSignal(2); first != nil || !errors.Is(second, ErrState) {
			t.Errorf("cancelled: %v, then %v", first, second)
		}
		if err := l.Cancel(t.Context(), 2, owner, "ada"); err != nil {
			t.Errorf("cancelled again: %v", err)
		}
		if err := l.Cancel(t.Context(), 2, Caller{UID: 99}, "eve"); err == nil {
			t.Error("another user cancels it again")
		}
		r.failNext(errors.New("no space left on device"))
		if first, second := cancelAndSignal(3); !errors.Is(first, ErrLost) || !errors.Is(second, ErrLost) {
			t.Errorf("cancelled in vain: %v, then %v", first, second)
		}
	})
}

func TestUnknownAndFinishedJobs(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		over := runJob(t, l, link, jobSpec(1))
		deliver(t, l, "n1", link, exits(&agentpb.RankExited{JobId: over, ExitCode: 3}), nodeDone(over))
		time.Sleep(time.Second)

		if err := l.Cancel(t.Context(), over, owner, "ada"); !errors.Is(err, ErrState) {
			t.Errorf("cancel of a finished job: %v", err)
		}
		if err := l.Signal(t.Context(), over, 0, owner); !errors.Is(err, ErrInvalid) {
			t.Errorf("signal 0: %v", err)
		}
		explained, err := l.Explain(t.Context(), over, owner)
		if err != nil || explained.GetLines()[0] != "job 1 has ended with exit code 3" {
			t.Errorf("explained %v, %v", explained, err)
		}
		if ranks, err := l.RankStates(t.Context(), over, owner); err != nil || ranks != nil {
			t.Errorf("ranks %v, %v", ranks, err)
		}
		waited, err := l.Wait(t.Context(), over, owner)
		if err != nil || waited.GetVerdict().GetExitCode() != 3 {
			t.Errorf("waited %v, %v", waited, err)
		}
		_, waitErr := l.Wait(t.Context(), 77, owner)
		_, jobErr := l.Job(t.Context(), 77, owner)
		_, explainErr := l.Explain(t.Context(), 77, owner)
		_, attachErr := l.Attach(t.Context(), 77, AttachOptions{}, owner)
		for what, err := range map[string]error{
			"wait": waitErr, "job": jobErr, "explain": explainErr, "attach": attachErr,
			"cancel": l.Cancel(t.Context(), 77, owner, "ada"),
		} {
			if !errors.Is(err, ErrNoJob) {
				t.Errorf("%s of an unknown job: %v", what, err)
			}
		}
	})
}

func TestWaitAnswersAtTheEnd(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		id := runJob(t, l, link, jobSpec(1))
		ended := make(chan *scorev1.Job, 1)
		go func() {
			job, err := l.Wait(t.Context(), id, owner)
			if err != nil {
				t.Error(err)
			}
			ended <- job
		}()
		synctest.Wait()
		if len(ended) > 0 {
			t.Error("Wait answered before the end")
		}
		deliver(t, l, "n1", link, nodeDone(id))
		if job := <-ended; job.GetState() != scorev1.JobState_JOB_STATE_DONE {
			t.Errorf("job %v", job)
		}
	})
}

func TestRankStatesComeFromAllNodesOrInTime(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		first, second := join(t, l, "n1"), join(t, l, "n2")
		id := mustSubmit(t, l, jobSpec(4))
		deliver(t, l, "n1", first, prepared(id))
		deliver(t, l, "n2", second, prepared(id))
		answer := func(request uint64, ranks ...uint32) *agentpb.AgentMessage {
			reply := &agentpb.RankStatesReply{Request: request, GangOn: true}
			for _, rank := range ranks {
				reply.Ranks = append(reply.Ranks, &scorev1.RankState{Rank: rank, State: "running"})
			}
			return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_RankStates{RankStates: reply}}
		}
		asked := func() chan []*scorev1.RankState {
			states := make(chan []*scorev1.RankState, 1)
			go func() {
				ranks, err := l.RankStates(t.Context(), id, owner)
				if err != nil {
					t.Error(err)
				}
				states <- ranks
			}()
			synctest.Wait()
			return states
		}
		states := asked()
		deliver(t, l, "n2", second, answer(1, 3, 2))
		deliver(t, l, "n1", first, answer(1, 0, 1), answer(1, 0)) // the second is not awaited any more
		ranks := <-states
		if len(ranks) != 4 || ranks[0].GetRank() != 0 || ranks[3].GetNode() != "n2" {
			t.Errorf("ranks %v", ranks)
		}
		states = asked()
		deliver(t, l, "n1", first, answer(2, 0, 1))
		begin := time.Now()
		if ranks := <-states; len(ranks) != 2 || time.Since(begin) != askTimeout {
			t.Errorf("ranks %v after %v", ranks, time.Since(begin))
		}
	})
}

func TestAttachmentOrders(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		id := runJob(t, l, link, jobSpec(1))
		w, err := l.Attach(t.Context(), id, AttachOptions{Owner: true, Output: true}, owner)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Signal(t.Context(), 12), w.AskRanks(t.Context())); err != nil {
			t.Fatal(err)
		}
		if err := w.Signal(t.Context(), 65); !errors.Is(err, ErrInvalid) {
			t.Errorf("signal 65: %v", err)
		}
		link.until(t, "Signal 1 12")
		link.until(t, "AskRankStates 1 of 1")
		if err := w.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		link.until(t, `Kill 1 "the job was killed by its user"`)
		deliver(t, l, "n1", link, nodeDone(id))
		time.Sleep(2 * askTimeout)
		if err := w.Read(t.Context(), id, 1); err != nil {
			t.Fatal(err)
		}
		link.until(t, "Forget 1")
		w.Close()
		want := []string{
			"RUNNING", "output of 1 on n1 with stdin", `ENDING "the job was killed by its user"`,
			`ended: CANCELLED 143 "the job was killed by its user"`, "0 ranks, gang on false",
		}
		for _, text := range want {
			if got := eventText(<-w.Events()); got != text {
				t.Errorf("event %s, want %s", got, text)
			}
		}
	})
}

func TestSlowAttachmentIsCutOff(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		id := runJob(t, l, link, jobSpec(1))
		w, err := l.Attach(t.Context(), id, AttachOptions{}, owner)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for range maxPending + 10 {
			_ = w.AskRanks(t.Context())
		}
		time.Sleep(2 * askTimeout)
		<-w.Broken()
	})
}

func TestViews(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		first := runJob(t, l, link, jobSpec(2))
		second := runJob(t, l, link, jobSpec(1))
		beginning := mustSubmit(t, l, jobSpec(1))
		spec := jobSpec(2)
		spec.Exclusive = true
		waits := mustSubmit(t, l, spec)
		time.Sleep(PlanLead(1)) // until the plan is in force

		matrix, err := l.Matrix(t.Context())
		if err != nil || len(matrix.GetRows()) != 2 || matrix.GetRowOn() < 0 {
			t.Errorf("matrix %v, %v", matrix, err)
		}
		explain := func(id uint64) string {
			explained, err := l.Explain(t.Context(), id, owner)
			if err != nil {
				t.Error(err)
			}
			return strings.Join(explained.GetLines(), "\n")
		}
		for id, want := range map[uint64]string{
			first: "is in row 0 on n1", second: "is in row 1 on n1", waits: "waits for", beginning: "it is being prepared on n1",
		} {
			if text := explain(id); !strings.Contains(text, want) {
				t.Errorf("job %d: %q holds no %q", id, text, want)
			}
		}
		if err := l.Cancel(t.Context(), first, owner, "ada"); err != nil {
			t.Error(err)
		}
		if text := explain(first); !strings.Contains(text, "it is being ended on n1") {
			t.Errorf("a job that ends: %q", text)
		}
		version, err := l.Version(t.Context())
		if err != nil || version.GetJobsQueued() != 1 || version.GetJobsRunning() != 3 || version.GetCluster() != "lab" {
			t.Errorf("version %v, %v", version, err)
		}
		stats, err := l.Stats(t.Context())
		if err != nil || stats.NodesUp != 1 || stats.Submitted != 4 || stats.Jobs[running] != 1 {
			t.Errorf("stats %+v, %v", stats, err)
		}
		list, err := l.Nodes(t.Context())
		nodes := list.GetNodes()
		if err != nil || nodes[0].GetJobs() != 3 || !nodes[0].GetUp() {
			t.Errorf("nodes %v, %v", nodes, err)
		}
		jobs, _ := listJobs(t.Context(), l, false, "", owner)
		if jobs[3].GetWaitingFor() == "" || jobs[3].GetRow() != -1 {
			t.Errorf("waiting job %v", jobs[3])
		}
	})
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name   string
		change func(*agentpb.Hello)
		want   string
	}{
		{"another cluster", func(h *agentpb.Hello) { h.Cluster = "den" }, `this is the cluster "lab", and the agent belongs to "den"`},
		{
			"later protocols", func(h *agentpb.Hello) { h.Version, h.ProtocolOldest, h.ProtocolNewest = "v9", 98, 99 },
			"the server is too old: its version v1 understands protocols 1 to 2, and the agent, version v9, at least protocol 98; upgrade the server",
		},
		{"bad name", func(h *agentpb.Hello) { h.Node = "a/b" }, `the node name "a/b"`},
		{"long name", func(h *agentpb.Hello) { h.Node = strings.Repeat("n", 1000) }, "may have up to 63"},
		{"no CPUs", func(h *agentpb.Hello) { h.Cpus = 0 }, "0 CPUs"},
		{"too many channels", func(h *agentpb.Hello) { h.Channels = 2000 }, "2000 channels"},
		{"no address", func(h *agentpb.Hello) { h.Address = "" }, "address"},
		{"taken", func(h *agentpb.Hello) { h.Node, h.BootId = "n1", "boot2" }, "a node named n1 is connected already"},
	}
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		join(t, l, "n1")
		time.Sleep(time.Second)
		before := len(r.log())
		for _, test := range tests {
			h := hello("n2", 2)
			test.change(h)
			refusal, err := l.Connect(t.Context(), h, nil, newChanLink())
			if err != nil || !strings.Contains(refusal, test.want) {
				t.Errorf("%s: %q, %v", test.name, refusal, err)
			}
		}
		time.Sleep(time.Second)
		if len(r.log()) != before {
			t.Errorf("refused agents changed the state: %v", r.log())
		}
	})
}
