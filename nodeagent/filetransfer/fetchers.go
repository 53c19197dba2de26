package filetransfer

import (
	"context"
	"fmt"
	"maps"
	"score/scored/api/identity/access"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"slices"
	"sync"

	"connectrpc.com/connect"
)

// fetchers holds the nodes whose agents may fetch the files of jobs here.
type fetchers struct {
	mu    sync.Mutex
	nodes map[uint64][]string // by job
}

// add lets the agents of more nodes fetch a job's files.
func (f *fetchers) add(job uint64, nodes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes == nil {
		f.nodes = make(map[uint64][]string)
	}
	for _, node := range nodes {
		if !slices.Contains(f.nodes[job], node) {
			f.nodes[job] = append(f.nodes[job], node)
		}
	}
}

// drop forgets a job.
func (f *fetchers) drop(job uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes, job)
}

// dropBut forgets all jobs but those.
func (f *fetchers) dropBut(keeps func(job uint64) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.nodes, func(job uint64, _ []string) bool { return !keeps(job) })
}

// check refuses an agent that may not fetch the job's files. The leader may allow it later.
func (f *fetchers) check(ctx context.Context, job uint64) error {
	caller, _ := access.CallerOf(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if caller.Role == pki.Agent && slices.Contains(f.nodes[job], caller.Name) {
		return nil
	}
	return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("%s is not known here as a node of job %d", caller, job))
}

// nodesOf returns the names of a job's nodes.
func nodesOf(places []*scorev1.NodePlace) []string {
	nodes := make([]string, len(places))
	for i, place := range places {
		nodes[i] = place.GetNode()
	}
	return nodes
}
