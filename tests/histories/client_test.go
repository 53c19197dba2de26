package histories

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/tests/daemons"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/anishathalye/porcupine"
)

const (
	// clients work at once, each until it has made perClient requests.
	clients   = 8
	perClient = 14
	// maxPoints bounds the values of the setting that is read and written.
	maxPoints = 1000
	// held is the node on which jobs wait, free the one on which they run.
	held, free = "n2", "n1"
)

// recorder is what happens between the clients and the cluster.
type recorder struct {
	cluster *daemons.Cluster
	file    string // to which jobs append their token
	round   int
	begin   time.Time

	tokens atomic.Int64

	mu      sync.Mutex
	history []porcupine.Operation
	known   []uint64          // jobs that wait and that clients know
	runners map[string]uint64 // jobs that run, by token
	lost    int
}

func newRecorder(c *daemons.Cluster, round int) *recorder {
	return &recorder{
		cluster: c, round: round, begin: time.Now(), runners: make(map[string]uint64),
		file: filepath.Join(c.Dir, fmt.Sprint("ran-", round)),
	}
}

// work lets all clients make their requests. An error is an answer that no fault explains.
func (r *recorder) work(ctx context.Context, seed uint64) error {
	errs := make([]error, clients)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			user := client.New(r.cluster.Servers[i%len(r.cluster.Servers)].Socket)
			defer user.Close()
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for range perClient {
				if errs[i] = r.one(ctx, user, i, r.draw(random)); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// draw chooses a request.
func (r *recorder) draw(random *rand.Rand) input {
	r.mu.Lock()
	defer r.mu.Unlock()
	token := fmt.Sprintf("%d.%d", r.round, r.tokens.Add(1))
	switch n := random.IntN(12); {
	case n < 3:
		return input{kind: submitWaiting, token: "w" + token}
	case n < 6:
		return input{kind: submitRunning, token: "r" + token}
	case n < 8 && len(r.known) > 0:
		return input{kind: cancelJob, job: r.known[random.IntN(len(r.known))]}
	case n < 9 && len(r.known) > 0:
		return input{kind: getJob, job: r.known[random.IntN(len(r.known))]}
	case n < 10:
		return input{kind: setPoints, value: 1 + random.Uint32N(maxPoints)}
	case n < 11:
		return input{kind: getPoints}
	default:
		return input{kind: listJobs}
	}
}

// lostCodes are the codes of answers that were lost: of servers that died, stopped or could not
// commit.
var lostCodes = []connect.Code{connect.CodeUnavailable, connect.CodeCanceled, connect.CodeUnknown}

// answered is how long submissions and cancellations are repeated. They have an answer before,
// since a majority is back by then.
var answered = client.Patience{Gone: answerBound, Undecided: answerBound}

// answerBound is ten times what an election and the start of a server take on a busy machine.
const answerBound = 2 * time.Minute

// one makes a request and notes the answer. After a lost answer it waits until the cluster answers
// again.
func (r *recorder) one(ctx context.Context, user *client.Client, id int, in input) error {
	call := time.Since(r.begin).Nanoseconds()
	out, err := ask(ctx, user, r.file, in)
	back := time.Since(r.begin).Nanoseconds()
	lost := err != nil && ctx.Err() == nil && slices.Contains(lostCodes, connect.CodeOf(err))
	if err != nil && (!lost || in.kind == submitWaiting || in.kind == submitRunning || in.kind == cancelJob) {
		return fmt.Errorf("%+v: %w", in, err)
	}
	r.mu.Lock()
	out.lost = lost
	r.history = append(r.history, porcupine.Operation{ClientId: id, Input: in, Call: call, Output: out, Return: back})
	switch {
	case lost:
	case in.kind == submitWaiting:
		r.known = append(r.known, out.job)
	case in.kind == submitRunning:
		r.runners[in.token] = out.job
	}
	r.mu.Unlock()
	if !lost {
		return nil
	}
	return daemons.Await(ctx, "the cluster answers", func() bool {
		_, err := user.Cluster.GetVersion(ctx, connect.NewRequest(&scorev1.GetVersionRequest{}))
		return err == nil
	})
}

// ask makes a request.
func ask(ctx context.Context, user *client.Client, file string, in input) (out output, err error) {
	switch in.kind {
	case submitWaiting, submitRunning:
		out.job, err = user.Submit(client.WithPatience(ctx, answered), spec(in, file))
		return out, err
	case cancelJob:
		_, err := user.Jobs.CancelJob(client.WithPatience(ctx, answered), connect.NewRequest(&scorev1.CancelJobRequest{JobId: in.job}))
		if connect.CodeOf(err) == connect.CodeFailedPrecondition {
			return output{ended: true}, nil
		}
		return out, err
	case getJob:
		reply, err := user.Jobs.GetJob(ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: in.job}))
		if err == nil {
			out.ended = reply.Msg.GetJob().GetState() == scorev1.JobState_JOB_STATE_DONE
		}
		return out, err
	case listJobs:
		reply, err := user.Jobs.ListJobs(ctx, connect.NewRequest(&scorev1.ListJobsRequest{}))
		if err == nil {
			out.waiting = waitingOf(reply.Msg.GetJobs())
		}
		return out, err
	case setPoints:
		_, err := user.Cluster.SetSettings(ctx, connect.NewRequest(&scorev1.SetSettingsRequest{
			Settings: &scorev1.Settings{FairSharePoints: &in.value}, Fields: []string{"fair_share_points"},
		}))
		return out, err
	case getPoints:
		reply, err := user.Cluster.GetSettings(ctx, connect.NewRequest(&scorev1.GetSettingsRequest{}))
		if err == nil {
			out.value = reply.Msg.GetSettings().GetFairSharePoints()
		}
		return out, err
	default:
		return out, fmt.Errorf("there is no request %q", in.kind)
	}
}

// spec returns a job that waits for a node that another job has, or a job that appends its token to
// the file.
func spec(in input, file string) *scorev1.JobSpec {
	s := &scorev1.JobSpec{
		Name: in.token, Argv: []string{"/bin/sh", "-c", `echo "$0" >> "$1"`, in.token, file}, WorkDir: "/", Tasks: 1,
		NodeList: []string{free}, Detached: true, StdoutPattern: os.DevNull, MemoryPerNodeBytes: 8 << 20,
		Env: []string{"PATH=/bin:/usr/bin", daemons.Mark + "=" + filepath.Dir(file)},
	}
	if in.kind == submitWaiting {
		s.NodeList = []string{held}
	}
	return s
}

// waitingOf are the numbers of the jobs that the model follows.
func waitingOf(jobs []*scorev1.Job) (ids []uint64) {
	for _, job := range jobs {
		if strings.HasPrefix(job.GetSpec().GetName(), "w") && job.GetState() != scorev1.JobState_JOB_STATE_DONE {
			ids = append(ids, job.GetId())
		}
	}
	slices.Sort(ids)
	return ids
}

// resolve finds out what became of the requests whose answers were lost. What was not carried out
// is no part of the history; what was may have been at any time after the request.
func (r *recorder) resolve(jobs []*scorev1.Job) {
	byToken, over := make(map[string]uint64), make(map[uint64]bool)
	for _, job := range jobs {
		byToken[job.GetSpec().GetName()] = job.GetId()
		over[job.GetId()] = job.GetState() == scorev1.JobState_JOB_STATE_DONE
	}
	resolved := r.history[:0]
	for _, op := range r.history {
		in, out := op.Input.(input), op.Output.(output)
		if !out.lost {
			resolved = append(resolved, op)
			continue
		}
		r.lost++
		op.Return = math.MaxInt64
		switch in.kind {
		case submitWaiting, submitRunning:
			if out.job = byToken[in.token]; out.job == 0 {
				continue
			}
			op.Output = out
			if in.kind == submitRunning {
				r.runners[in.token] = out.job
			}
		case cancelJob:
			if !over[in.job] {
				continue
			}
		case setPoints:
		default:
			continue // it only looked
		}
		resolved = append(resolved, op)
	}
	r.history = resolved
}
