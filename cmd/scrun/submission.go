package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/cmd/scrun/options"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/client"
	"sync/atomic"

	"connectrpc.com/connect"
)

// The messages when a signal ends a step before the job is known.
const (
	unsubmitted = "interrupted before the job was submitted"
	unanswered  = "interrupted before the cluster answered: it may or may not have accepted the job; check with 'scored job list'"
)

// submission is a job that this scrun submits.
type submission struct {
	options  *options.Options
	messages messenger
	cluster  *connection
	network  network
	spec     *scorev1.JobSpec // set by prepare
}

// prepare describes the job and copies the files that go with it to the cluster.
func (s *submission) prepare(ctx context.Context, here options.Process) (err error) {
	if s.spec, err = s.network.describe(ctx, s.options, here, s.messages, s.cluster); err != nil {
		return err
	}
	if err := s.checkWithheld(ctx); err != nil {
		return err
	}
	if err := s.stage(ctx); err != nil {
		return err
	}
	noteMPI(s.messages, s.spec, os.Getenv("PATH"), os.Getenv("LD_LIBRARY_PATH"))
	return nil
}

// patience returns how long scrun waits for its cluster. One of its own does not come back.
func (s *submission) patience() client.Patience {
	if s.cluster.own != nil {
		return client.Patience{Waiting: s.messages.waiting}
	}
	return patienceOf(s.options, s.messages)
}

// submit submits the job exactly once, even if servers are lost meanwhile, and returns its number.
// It waits until the cluster answers, which takes long without a majority.
func (s *submission) submit(ctx context.Context) (uint64, error) {
	return s.network.submit(client.WithPatience(ctx, s.patience()), s.messages, s.cluster, s.spec)
}

// checkWithheld refuses a job that must wait if the server is of an earlier version: it would
// ignore --hold and --dependency, and run the job at once.
func (s *submission) checkWithheld(ctx context.Context) error {
	if !s.spec.GetHold() && len(s.spec.GetDependencies()) == 0 && s.options.Array.AtOnce == 0 {
		return nil
	}
	ctx = client.WithPatience(ctx, s.patience())
	reply, err := unlessInterrupted(ctx, func(ctx context.Context) (*connect.Response[scorev1.GetVersionResponse], error) {
		return s.cluster.Cluster.GetVersion(ctx, connect.NewRequest(&scorev1.GetVersionRequest{}))
	})
	if err == nil && reply.Msg.GetProtocol() < protocol.Holds {
		err = errors.New("the cluster's servers do not know --hold and --dependency yet; 'scored server list' shows which are to be upgraded")
	}
	return err
}

// detach submits the job, or those of an array, prints their numbers and does not wait for them.
func (s *submission) detach(ctx context.Context) int {
	var printed atomic.Uint32 // numbers
	_, err := unlessInterrupted(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.detachAll(ctx, &printed) })
	if err == nil {
		return 0
	}
	code := s.messages.failUnlessInterrupted(err, unanswered)
	if s.options.IsArray() {
		s.messages.warn(fmt.Sprintf("the array has %d jobs, and %d were submitted", len(s.options.Array.Indexes), printed.Load()))
	}
	return code
}

// detachAll submits the jobs one after the other, so that they start in the order of their indexes.
func (s *submission) detachAll(ctx context.Context, printed *atomic.Uint32) error {
	if !s.options.IsArray() {
		_, err := s.detachOne(ctx)
		return err
	}
	var ids []uint64
	for _, index := range s.options.Array.Indexes {
		s.network.setIndex(s.options, s.spec, index, ids)
		id, err := s.detachOne(ctx)
		if err != nil {
			return err
		}
		ids = append(ids, id)
		printed.Add(1)
	}
	return nil
}

func (s *submission) detachOne(ctx context.Context) (id uint64, err error) {
	if id, err = s.submit(ctx); err != nil {
		return 0, err
	}
	if _, err := fmt.Println(id); err != nil {
		return 0, fmt.Errorf("job %d was submitted, but its number cannot be written: %w", id, err)
	}
	return id, nil
}

// attach submits the job and follows it to its end.
func (s *submission) attach(ctx context.Context, signals <-chan os.Signal) int {
	// Opening a named pipe blocks until its other end is open.
	job, err := unlessInterrupted(ctx, func(context.Context) (*session, error) {
		return newSession(s.options, s.messages, s.cluster, signals)
	})
	if err != nil {
		return s.messages.failUnlessInterrupted(err, unsubmitted)
	}
	job.patience = s.patience()
	if job.jobID, err = unlessInterrupted(ctx, s.submit); err != nil {
		return s.messages.failUnlessInterrupted(err, unanswered)
	}
	job.display.SetJob(job.jobID, s.spec.GetName())
	s.messages.note("job %d was submitted at %s", job.jobID, s.cluster.Socket())
	restore, err := job.ownTerminal(s.options)
	if err != nil {
		return s.messages.fail(err.Error())
	}
	defer restore()
	return job.run(ctx)
}
