// The Go runtime reads files to find the number of CPUs that a control group allows. With two busy
// threads, scrun does not need it.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/cmd/display"
	"score/cmd/scrun/options"
	"score/scored/api"
	"score/scored/client"
)

func main() {
	if os.Args[0] == guardName {
		os.Exit(guardTerminal())
	}
	end(run(os.Args[1:]))
}

// run runs scrun with its arguments and returns the exit code.
func run(arguments []string) int {
	code := 0
	command := options.Command(func(o *options.Options) error {
		code = perform(o)
		return nil
	})
	command.SetArgs(arguments)
	if err := command.Execute(); err != nil {
		return messenger{out: os.Stderr}.fail(err.Error())
	}
	return code
}

// perform executes a valid command line and returns the exit code.
func perform(o *options.Options) int {
	messages := messenger{out: display.Patient(os.Stderr), quiet: o.Quiet, verbose: o.Verbose}
	if o.Version {
		if _, err := fmt.Println("scrun", api.Version()); err != nil {
			return messages.fail(err.Error())
		}
		return 0
	}
	if o.PTY && !isTerminal(os.Stdin) {
		return messages.fail(noTerminal)
	}
	here := options.Here()
	if isNull(os.Stdin) {
		o.NoInput()
	}
	if hint := descriptorHint(o.Argv); hint != "" {
		messages.warn(hint)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	found := inspectProgram(o, here)
	// To catch signals takes as long as to connect: for each the Go runtime wakes a thread and
	// waits for it. A signal that comes sooner ends scrun, which has no job yet.
	dialing := begin(ctx, func(ctx context.Context) (*connection, error) { return dial(ctx, o, messages) })
	signals := catchSignals()
	cluster, err := dialing.unlessInterrupted()
	if err != nil {
		return messages.failUnlessInterrupted(err, unsubmitted)
	}
	defer cluster.Close()
	s := submission{options: o, messages: messages, cluster: cluster, network: <-found}
	if err := s.prepare(ctx, here); err != nil {
		return messages.failUnlessInterrupted(err, unsubmitted)
	}
	if o.Detach {
		return s.detach(ctx)
	}
	return s.attach(ctx, signals)
}

// dial connects to the cluster, or starts one for this job.
func dial(ctx context.Context, o *options.Options, messages messenger) (*connection, error) {
	daemon, err := client.Dial(dialContext(ctx, o, messages), client.ChoiceFrom(o.Cluster, os.Getenv))
	if err == nil {
		return &connection{Client: daemon}, nil
	}
	if !errors.Is(err, client.ErrNoCluster) {
		return nil, err
	}
	if o.Detach {
		return nil, errors.New("a detached job needs a cluster that keeps running, and none is configured on this host: start one with 'scored dev'")
	}
	if o.Hold || len(o.Dependencies) > 0 {
		return nil, errors.New("--hold and --dependency need a cluster that has other jobs, and none is configured on this host: start one with 'scored dev'")
	}
	return embed(ctx)
}
