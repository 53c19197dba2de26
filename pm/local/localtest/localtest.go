// Package localtest makes the ranks of a job in the process of a test.
package localtest

import (
	"errors"
	"score/channels/abi"
	"score/pm"
	"score/pm/local"
	"testing"
)

// Job is a job whose ranks are all in this process.
type Job struct {
	Hub       *local.Hub
	Processes []*pm.Process
	Channels  []*pm.Channel // channel 1 of each rank
}

// Start starts a job with perNode ranks on each node. It ends with the test.
func Start(t testing.TB, nodes, perNode int, settings pm.Settings) *Job {
	t.Helper()
	job, err := New(nodes, perNode, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := job.Close(); err != nil {
			t.Error(err)
		}
	})
	return job
}

// Shapes are the ways between two ranks: nodes, and ranks on each.
var Shapes = map[string][2]int{"one node": {1, 2}, "two nodes": {2, 1}}

// EachShape runs a test of two ranks on one node and on two.
func EachShape(t *testing.T, f func(t *testing.T, nodes, perNode int)) {
	for name, shape := range Shapes {
		t.Run(name, func(t *testing.T) { f(t, shape[0], shape[1]) })
	}
}

// New is Start without a test, as for examples. Its caller closes the job.
func New(nodes, perNode int, settings pm.Settings) (*Job, error) {
	hub, err := local.NewCluster(nodes, perNode, abi.Geometry{})
	if err != nil {
		return nil, err
	}
	job := &Job{Hub: hub}
	for rank := range nodes * perNode {
		if err := job.join(rank, settings); err != nil {
			return nil, errors.Join(err, job.Close())
		}
	}
	return job, nil
}

func (j *Job) join(rank int, settings pm.Settings) error {
	socket, err := j.Hub.Connect(rank)
	if err != nil {
		return err
	}
	p, err := pm.Join(socket, settings)
	if err != nil {
		return err
	}
	j.Processes = append(j.Processes, p)
	ch, err := p.Open(1)
	if err != nil {
		return err
	}
	j.Channels = append(j.Channels, ch)
	return nil
}

// Close ends the job, also if ranks were closed before.
func (j *Job) Close() error {
	for _, p := range j.Processes {
		_ = p.Close() // a test may have closed it
	}
	return j.Hub.Close()
}
