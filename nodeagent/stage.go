package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"score/nodeagent/launch"
	"score/nodeagent/realtime"
	"score/nodeagent/staging"
	"score/nodeagent/wait"
	"score/scored/api/quote"
	"score/scored/api/scorev1"
)

const (
	// stageFanout is how many nodes fetch from one: each file leaves a node so often, at the whole
	// speed of its network, and a thousand nodes are ten steps deep.
	stageFanout = 2
	// stagePatience is how long a node tries to get a file without getting a byte of it: a node on
	// the way may have begun anew.
	stagePatience = 15 * time.Second
	// stagePause is the time between two rounds of tries.
	stagePause = 100 * time.Millisecond
	// stageAtOnce is how many of a job's files come at once: small ones would wait for each other's
	// way.
	stageAtOnce = 4
)

// errGone is a file that the node that was given it first does not have any more.
var errGone = errors.New("it is not kept any longer")

func userOf(identity *scorev1.Identity) *launch.User {
	return &launch.User{UID: identity.GetUid(), GID: identity.GetGid(), Groups: identity.GetGroups()}
}

// stageUser is whose directory of the cache it is: an agent that is not root's has everybody's
// ranks run as its own user.
func stageUser(identity *scorev1.Identity) *launch.User {
	u := userOf(identity)
	if uid := os.Geteuid(); uid != 0 {
		u.UID, u.GID = uint32(uid), uint32(os.Getegid())
	}
	return u
}

// stagedFile is a file of a message. Whoever sent it has checked it, but not for us.
func stagedFile(f *scorev1.StagedFile) (staging.File, error) {
	if len(f.GetSha256()) != staging.SumBytes || f.GetSize() > 1<<62 || !plainName(f.GetName()) {
		return staging.File{}, fmt.Errorf("%q is no file that can be sent along", f.GetName())
	}
	return staging.File{Sum: [staging.SumBytes]byte(f.GetSha256()), Size: int64(f.GetSize())}, nil
}

func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

func stagedFiles(from []*scorev1.StagedFile) ([]staging.File, error) {
	files := make([]staging.File, len(from))
	for i, f := range from {
		var err error
		if files[i], err = stagedFile(f); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// stageTree are the agents that fetch a job's files, the one that was given them first, and which
// of them this is.
func (a *Agent) stageTree(order *scorev1.Prepare) (addresses []string, index int) {
	addresses = append(addresses, order.GetStageSeed())
	for i, place := range order.GetPlaces() {
		own := i == int(order.GetNodeIndex())
		if place.GetAddress() == order.GetStageSeed() {
			continue // index stays 0
		}
		if own {
			index = len(addresses)
		}
		addresses = append(addresses, place.GetAddress())
	}
	return addresses, index
}

// above are the agents from which one may fetch: its parent in the tree, the parent's, and so on to
// the first.
func above(addresses []string, index int) []string {
	var path []string
	for index > 0 {
		index = (index - 1) / stageFanout
		path = append(path, addresses[index])
	}
	return path
}

// stage fetches the job's files to this node, and holds them.
func (j *job) stage(ctx context.Context) error {
	order := j.order
	if len(order.GetSpec().GetStaged()) == 0 {
		return nil
	}
	addresses, index := j.agent.stageTree(order)
	j.agent.peers.Expect(order.GetStageSeed(), order.GetSpec().GetStageSeed())
	if err := j.agent.stageAll(ctx, j.id, order.GetUser(), order.GetSpec().GetStaged(), above(addresses, index)); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.start.StagedNanos = j.agent.clock.Cluster(realtime.Now())
	return nil
}

// stageUntilKilled is stage, which a kill ends.
func (j *job) stageUntilKilled() error {
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	j.mu.Lock()
	j.unstage = cancel
	if j.state.Killed() { // what forget has let go is not held again
		cancel()
	} else {
		j.agent.hold(j.id, j.order.GetUser(), j.order.GetSpec().GetStaged())
		j.agent.fetchers.add(j.id, nodesOf(j.order.GetPlaces())...)
	}
	j.mu.Unlock()
	return j.stage(ctx)
}

// stageAll fetches files from one of the agents, the nearest first.
func (a *Agent) stageAll(ctx context.Context, job uint64, user *scorev1.Identity, from []*scorev1.StagedFile, agents []string) error {
	files, err := stagedFiles(from)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(stageAtOnce)
	for i, f := range files {
		group.Go(func() error {
			_, err := a.cache.Get(ctx, stageUser(user), f, a.fetching(job, user, from[i], agents))
			if err != nil {
				return fmt.Errorf("the file %s that goes with the job: %w", quote.Word(from[i].GetName()), err)
			}
			return nil
		})
	}
	return group.Wait()
}

// fetching gets a file from the first of the agents that gives it. When one is lost the next goes
// on from where that ended.
func (a *Agent) fetching(job uint64, user *scorev1.Identity, file *scorev1.StagedFile, agents []string) staging.Fetch {
	return func(ctx context.Context, from int64, to staging.Writer) error {
		request := &scorev1.FetchStagedRequest{JobId: job, User: user, File: file, From: uint64(from)}
		sink := &countingWriter{to: to}
		last, trouble := time.Now(), errGone
		for {
			for _, address := range agents {
				had := sink.count
				err := a.peers.FetchStaged(ctx, address, request, sink)
				request.From = uint64(from + sink.count)
				if sink.count > had {
					last = time.Now()
				}
				if request.GetFrom() == file.GetSize() && err == nil {
					return nil
				}
				if sink.err != nil || ctx.Err() != nil {
					return errors.Join(sink.err, ctx.Err())
				}
				trouble = err
				a.log.Debug("a node does not give a file of a job", zap.String("address", address), zap.String("file", file.GetName()), zap.Error(err))
			}
			// The last of them is the one that was given it first.
			if len(agents) == 0 || connect.CodeOf(trouble) == connect.CodeNotFound {
				return fmt.Errorf("%w on the node that was given it; submit the job again", errGone)
			}
			if time.Since(last) > stagePatience {
				return fmt.Errorf("none of the nodes that have it gives it: %w; submit the job again", trouble)
			}
			wait.Sleep(ctx, stagePause)
		}
	}
}

// countingWriter tells an error in writing from one in reading.
type countingWriter struct {
	to    staging.Writer
	count int64
	err   error
}

func (w *countingWriter) Write(data []byte) (int, error) {
	n, err := w.to.Write(data)
	w.count += int64(n)
	w.err = err
	return n, err
}

// stageEarly fetches the files of a job that waits, in the background. What goes wrong is told when
// the job is prepared.
func (a *Agent) stageEarly(order *scorev1.Stage) {
	addresses, index := order.GetAddresses(), int(order.GetIndex())
	if index >= len(addresses) {
		return
	}
	// Now, since what ends it comes after this.
	a.hold(order.GetJobId(), order.GetUser(), order.GetFiles())
	a.fetchers.add(order.GetJobId(), order.GetNodes()...)
	for i, address := range addresses[:min(len(addresses), len(order.GetNodes()))] {
		a.peers.Expect(address, order.GetNodes()[i])
	}
	if index == 0 {
		return // it has them, and is to keep them
	}
	ctx := a.early.begin(a.working, order.GetJobId())
	a.workers.Go(func() {
		err := a.stageAll(ctx, order.GetJobId(), order.GetUser(), order.GetFiles(), above(addresses, index))
		if err != nil && ctx.Err() == nil {
			a.log.Info("files of a waiting job did not come", zap.Uint64("job", order.GetJobId()), zap.Error(err))
		}
	})
}

// hold keeps a job's files until unstage.
func (a *Agent) hold(job uint64, user *scorev1.Identity, from []*scorev1.StagedFile) {
	if files, err := stagedFiles(from); err == nil && len(files) > 0 {
		a.cache.Hold(job, stageUser(user), files)
	}
}

// unstage ends what stageEarly has begun, and lets the files go.
func (a *Agent) unstage(job uint64) {
	a.early.end(job)
	a.cache.Release(job)
	a.fetchers.drop(job)
}
