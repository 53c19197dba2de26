package filetransfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"score/nodeagent/peers"
	"score/nodeagent/wait"
	"score/scored/api/agentpb"
	"score/scored/api/quote"
	"score/scored/api/scorev1"
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

// errGone is returned if the root of the tree does not have the file any more.
var errGone = errors.New("it is not kept any longer on the node that was given it; submit the job again")

// tree lists the addresses of the agents that fetch a job's files, beginning with the agent that
// got them from the user, and returns the index of this one.
func tree(order *agentpb.Prepare) (addresses []string, index int) {
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

// source is where a job's files come from.
type source struct {
	job  uint64
	user *scorev1.Identity
	// agents are the addresses of agents that have the files, the nearest first. The last one got
	// them from the user.
	agents []string
}

// Fetch fetches a job's files to this node. Hold has been called.
func (t *Transfers) Fetch(ctx context.Context, order *agentpb.Prepare) error {
	if len(order.GetSpec().GetStaged()) == 0 {
		return nil
	}
	addresses, index := tree(order)
	t.options.Peers.Expect(order.GetStageSeed(), order.GetSpec().GetStageSeed())
	from := source{order.GetJobId(), order.GetUser(), above(addresses, index)}
	return t.fetchAll(ctx, from, order.GetSpec().GetStaged())
}

// fetchAll fetches files.
func (t *Transfers) fetchAll(ctx context.Context, from source, wanted []*scorev1.StagedFile) error {
	files, err := stagedFiles(wanted)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(stageAtOnce)
	for i, f := range files {
		group.Go(func() error {
			_, err := t.options.Cache.Get(ctx, User(from.user), f, func(ctx context.Context, offset int64, to io.Writer) error {
				return t.fetch(ctx, &download{source: from, file: wanted[i], to: to, have: uint64(offset), came: time.Now()})
			})
			if err != nil {
				return fmt.Errorf("the file %s that goes with the job: %w", quote.Word(wanted[i].GetName()), err)
			}
			return nil
		})
	}
	return group.Wait()
}

// download is a file on its way from other agents to this one.
type download struct {
	source
	file   *scorev1.StagedFile
	to     io.Writer
	have   uint64    // bytes that have come
	came   time.Time // when the last of them came
	failed error     // of writing
}

// fetch fetches the rest of a file. While no agent has all of it, fetch tries them again.
func (t *Transfers) fetch(ctx context.Context, d *download) error {
	for ; ; wait.Sleep(ctx, stagePause) {
		err := t.askEach(ctx, d)
		switch {
		case err == nil:
			return nil
		case d.failed != nil || ctx.Err() != nil:
			return errors.Join(d.failed, ctx.Err())
		case errors.Is(err, errGone) || connect.CodeOf(err) == connect.CodeNotFound:
			return errGone
		case time.Since(d.came) > stageTimeout:
			return fmt.Errorf("none of the nodes that have it sends it: %w; submit the job again", err)
		}
	}
}

// askEach asks the agents for the rest, one after the other; each continues where the one before
// ended. The error is that of the last one.
func (t *Transfers) askEach(ctx context.Context, d *download) error {
	err := errGone // if there is none
	for _, address := range d.agents {
		err = d.ask(ctx, t.options.Peers, address)
		if err == nil || d.failed != nil || ctx.Err() != nil {
			return err
		}
		t.options.Logger.Debug("a node does not give a file of a job",
			zap.String("address", address), zap.String("file", d.file.GetName()), zap.Error(err))
	}
	return err
}

// ask asks an agent for the rest. The error is nil if all has come.
func (d *download) ask(ctx context.Context, agents *peers.Clients, address string) error {
	request := &agentpb.FetchStagedRequest{JobId: d.job, User: d.user, File: d.file, From: d.have}
	err := agents.FetchStaged(ctx, address, request, d)
	if err == nil && d.have < d.file.GetSize() {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Write implements io.Writer.
func (d *download) Write(data []byte) (n int, err error) {
	n, d.failed = d.to.Write(data)
	d.have, d.came = d.have+uint64(n), time.Now()
	return n, d.failed
}

// FetchEarly fetches the files of a waiting job in the background. Errors are reported when the job
// is prepared.
func (t *Transfers) FetchEarly(ctx context.Context, order *agentpb.Stage) {
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
	from := source{order.GetJobId(), order.GetUser(), above(addresses, index)}
	t.options.Go(func() {
		err := t.fetchAll(ctx, from, order.GetFiles())
		if err != nil && ctx.Err() == nil {
			t.options.Logger.Info("files of a waiting job did not come", zap.Uint64("job", order.GetJobId()), zap.Error(err))
		}
	})
}
