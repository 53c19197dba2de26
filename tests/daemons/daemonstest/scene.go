package daemonstest

import (
	"context"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"testing"

	"connectrpc.com/connect"
)

// Scene is a cluster in a test: what goes wrong with it ends the test.
type Scene struct {
	*daemons.Cluster
	T   *testing.T
	Ctx context.Context
}

// NewScene starts a cluster as Start does.
func NewScene(t *testing.T, o daemons.Options) *Scene {
	t.Helper()
	return &Scene{Cluster: Start(t, o), T: t, Ctx: t.Context()}
}

// Check ends the test at an error.
func (s *Scene) Check(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}

// Await waits until something is.
func (s *Scene) Await(what string, is func() bool) {
	s.T.Helper()
	s.Check(daemons.Await(s.Ctx, what, is))
}

// Cancel ends a job.
func (s *Scene) Cancel(id uint64) {
	s.T.Helper()
	_, err := s.Jobs.CancelJob(s.Ctx, connect.NewRequest(&scorev1.CancelJobRequest{JobId: id, AtOnce: true}))
	s.Check(err)
}

// End reports that gangs end right, and that nothing is left.
func (s *Scene) End(gangs ...*daemons.Job) {
	s.T.Helper()
	for _, gang := range gangs {
		gang.Finish()
		code, said, right, err := gang.Result(s.Ctx)
		s.Check(err)
		if code != 0 || !right {
			s.T.Errorf("gang %s ended with exit code %d, right: %v, %q", gang.Name, code, right, said)
		}
	}
	s.Check(s.AwaitForgotten(s.Ctx))
	s.Check(s.AwaitClean(s.Ctx, nil))
}
