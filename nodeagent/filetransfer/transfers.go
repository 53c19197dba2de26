package filetransfer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/nodeagent/launch"
	"score/nodeagent/peers"
	"score/nodeagent/staging"
	"score/nodeagent/wait"
	"score/scored/api/quote"
	"score/scored/api/scorev1"
	"strings"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

const (
	// stageFanout is the number of nodes that fetch from one node, at the full speed of its
	// network; a thousand nodes are ten levels deep.
	stageFanout = 2
	// stageTimeout is how long a node tries without getting a byte of a file: a node on the way may
	// be restarting.
	stageTimeout = 15 * time.Second
	// stagePause is the time between two rounds of tries.
	stagePause = 100 * time.Millisecond
	// stageAtOnce is the number of a job's files that come at once, so that small files do not wait
	// for each other's round trips.
	stageAtOnce = 4
)

// Options are the options of New: the parts of the agent that transfers need.
type Options struct {
	Node   string // this one's name
	Cache  *staging.Cache
	Peers  *peers.Clients
	Go     func(func()) // runs a goroutine that acts for a job
	Logger *zap.Logger
}

// Transfers moves the files of jobs to this node and from it.
type Transfers struct {
	options  Options
	early    early
	fetchers fetchers
}

// New returns Transfers without files.
func New(options Options) *Transfers { return &Transfers{options: options} }

// errGone is returned if the root of the tree does not have the file any more.
var errGone = errors.New("it is not kept any longer")

func userOf(identity *scorev1.Identity) *launch.User {
	return &launch.User{UID: identity.GetUid(), GID: identity.GetGid(), Groups: identity.GetGroups()}
}

// User returns the user of the cache directory for an identity. An agent without root's rights runs
// all ranks as its own user.
func User(identity *scorev1.Identity) *launch.User {
	u := userOf(identity)
	if uid := os.Geteuid(); uid != 0 {
		u.UID, u.GID = uint32(uid), uint32(os.Getegid())
	}
	return u
}

// stagedFile checks a file of a message. The sender has checked it too, but need not be trusted.
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

// tree lists the addresses of the agents that fetch a job's files, beginning with the agent that
// got them from the user, and returns the index of this one.
func tree(order *scorev1.Prepare) (addresses []string, index int) {
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

// above returns the agents that the agent at index may fetch from: its ancestors in the tree, the
// parent first.
func above(addresses []string, index int) []string {
	var path []string
	for index > 0 {
		index = (index - 1) / stageFanout
		path = append(path, addresses[index])
	}
	return path
}

// Fetch fetches a job's files to this node. Hold has been called.
func (t *Transfers) Fetch(ctx context.Context, order *scorev1.Prepare) error {
	if len(order.GetSpec().GetStaged()) == 0 {
		return nil
	}
	addresses, index := tree(order)
	t.options.Peers.Expect(order.GetStageSeed(), order.GetSpec().GetStageSeed())
	return t.fetchAll(ctx, order.GetJobId(), order.GetUser(), order.GetSpec().GetStaged(), above(addresses, index))
}

// fetchAll fetches files from one of the agents, the nearest first.
func (t *Transfers) fetchAll(ctx context.Context, job uint64, user *scorev1.Identity, from []*scorev1.StagedFile, agents []string) error {
	files, err := stagedFiles(from)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(stageAtOnce)
	for i, f := range files {
		group.Go(func() error {
			_, err := t.options.Cache.Get(ctx, User(user), f, t.fetching(job, user, from[i], agents))
			if err != nil {
				return fmt.Errorf("the file %s that goes with the job: %w", quote.Word(from[i].GetName()), err)
			}
			return nil
		})
	}
	return group.Wait()
}

// fetching returns a function that fetches a file from the first agent that has it. If that agent
// is lost, the next continues where it ended.
func (t *Transfers) fetching(job uint64, user *scorev1.Identity, file *scorev1.StagedFile, agents []string) staging.Fetch {
	return func(ctx context.Context, from int64, to staging.Writer) error {
		request := &scorev1.FetchStagedRequest{JobId: job, User: user, File: file, From: uint64(from)}
		sink := &countingWriter{to: to}
		last, trouble := time.Now(), errGone
		for {
			for _, address := range agents {
				had := sink.count
				err := t.options.Peers.FetchStaged(ctx, address, request, sink)
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
				t.options.Logger.Debug(
					"a node does not give a file of a job",
					zap.String("address", address),
					zap.String("file", file.GetName()),
					zap.Error(err),
				)
			}
			// The last agent is the root, which got the file from the user.
			if len(agents) == 0 || connect.CodeOf(trouble) == connect.CodeNotFound {
				return fmt.Errorf("%w on the node that was given it; submit the job again", errGone)
			}
			if time.Since(last) > stageTimeout {
				return fmt.Errorf("none of the nodes that have it sends it: %w; submit the job again", trouble)
			}
			wait.Sleep(ctx, stagePause)
		}
	}
}

// countingWriter distinguishes errors of writing from errors of reading.
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

// FetchEarly fetches the files of a waiting job in the background. Errors are reported when the job
// is prepared.
func (t *Transfers) FetchEarly(ctx context.Context, order *scorev1.Stage) {
	addresses, index := order.GetAddresses(), int(order.GetIndex())
	if index >= len(addresses) {
		return
	}
	// Hold now: Release may follow at once.
	t.hold(order.GetJobId(), order.GetUser(), order.GetFiles())
	t.fetchers.add(order.GetJobId(), order.GetNodes()...)
	for i, address := range addresses[:min(len(addresses), len(order.GetNodes()))] {
		t.options.Peers.Expect(address, order.GetNodes()[i])
	}
	if index == 0 {
		return // this node was given the files, and keeps them
	}
	ctx = t.early.begin(ctx, order.GetJobId())
	t.options.Go(func() {
		err := t.fetchAll(ctx, order.GetJobId(), order.GetUser(), order.GetFiles(), above(addresses, index))
		if err != nil && ctx.Err() == nil {
			t.options.Logger.Info("files of a waiting job did not come", zap.Uint64("job", order.GetJobId()), zap.Error(err))
		}
	})
}

// Hold keeps a job's files until Release, and lets the agents of its nodes fetch them.
func (t *Transfers) Hold(order *scorev1.Prepare) {
	t.hold(order.GetJobId(), order.GetUser(), order.GetSpec().GetStaged())
	t.fetchers.add(order.GetJobId(), nodesOf(order.GetPlaces())...)
}

// ReleaseBut releases the files of all jobs for which keeps is false, and cancels all early
// fetches: the leader orders them again.
func (t *Transfers) ReleaseBut(keeps func(job uint64) bool) {
	t.early.endAll()
	t.options.Cache.ReleaseBut(keeps)
	t.fetchers.dropBut(keeps)
}

func (t *Transfers) hold(job uint64, user *scorev1.Identity, from []*scorev1.StagedFile) {
	if files, err := stagedFiles(from); err == nil && len(files) > 0 {
		t.options.Cache.Hold(job, User(user), files)
	}
}

// Release cancels a job's early fetch, and releases its files.
func (t *Transfers) Release(job uint64) {
	t.early.end(job)
	t.options.Cache.Release(job)
	t.fetchers.drop(job)
}
