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
	"score/nodeagent/stdio"
	"score/scored/api"
	"score/scored/api/scorev1"
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
	signals := catchSignals()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	found := inspectProgram(o, here)
	cluster, err := unlessLeft(ctx, func(ctx context.Context) (*connection, error) { return dial(ctx, o, messages) })
	if err != nil {
		return messages.failUnlessLeft(err, "interrupted before the job was submitted")
	}
	defer cluster.Close()
	network := <-found
	spec, err := network.describe(ctx, o, here, messages, cluster)
	if err != nil {
		return messages.failUnlessLeft(err, "interrupted before the job was submitted")
	}
	if err := stage(ctx, o, messages, cluster, spec); err != nil {
		return messages.failUnlessLeft(err, "interrupted before the job was submitted")
	}
	noteMPI(messages, spec, os.Getenv("PATH"), os.Getenv("LD_LIBRARY_PATH"))
	patience := patienceOf(o, messages, cluster.own != nil)
	submitting := client.WithPatience(ctx, patience)
	if o.Detach {
		return detach(submitting, messages, cluster, spec, &network)
	}
	// Opening a named pipe blocks until its other end is open.
	s, err := unlessLeft(ctx, func(context.Context) (*session, error) { return newSession(o, messages, cluster, signals) })
	if err != nil {
		return messages.failUnlessLeft(err, "interrupted before the job was submitted")
	}
	s.patience = patience
	if s.jobID, err = network.submit(submitting, messages, cluster, spec); err != nil {
		return messages.failUnlessLeft(err, unanswered)
	}
	s.display.SetJob(s.jobID, spec.GetName())
	messages.note("job %d was submitted at %s", s.jobID, cluster.Socket())
	restore, err := s.ownTerminal(o)
	if err != nil {
		return messages.fail(err.Error())
	}
	defer restore()
	return s.run(ctx)
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
	return embed(ctx)
}

func newSession(o *options.Options, messages messenger, cluster *connection, signals <-chan os.Signal) (*session, error) {
	shown, err := display.New(display.Config{
		Tasks: o.Tasks, Label: o.Label, Unbuffered: o.Unbuffered,
		Output: o.Stdout.Target, Errors: o.Stderr.Target, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		return nil, err
	}
	s := &session{
		messenger: messages, client: cluster.Client, own: cluster.own != nil,
		display: shown, signals: signals, traceStart: o.TraceStart,
	}
	switch {
	case o.Stdin.Kind == stdio.None || o.InputByNodes():
	case o.Stdin.Kind == stdio.File:
		s.input, err = inputFile(o.Stdin.Pattern.String())
	default:
		s.input = os.Stdin
	}
	return s, err
}

// ownTerminal makes this terminal raw if rank 0 has a terminal of its own.
func (s *session) ownTerminal(o *options.Options) (restore func(), err error) {
	if !o.PTY {
		s.hint = o.Tasks == 1 && s.input != nil && isTerminal(s.input) && isTerminal(os.Stdout)
		return func() {}, nil
	}
	if s.raw, err = newRawTerminal(s.input); err != nil {
		return nil, err
	}
	if isTerminal(os.Stderr) {
		s.messenger.out = rawWriter{s.messenger.out}
	}
	return s.raw.Restore, nil
}

// unanswered is the message when a signal ends the wait for the answer to a submission.
const unanswered = "interrupted before the cluster answered: it may or may not have accepted the job; check with 'scored job list'"

// submit submits the job exactly once, even if servers are lost meanwhile. It waits until the
// cluster answers, which takes long without a majority, or until a signal ends the wait.
func submit(ctx context.Context, cluster *connection, spec *scorev1.JobSpec) (uint64, error) {
	return unlessLeft(ctx, func(ctx context.Context) (uint64, error) { return cluster.Submit(ctx, spec) })
}

// detach submits the job, prints its number and does not wait for it.
func detach(ctx context.Context, messages messenger, cluster *connection, spec *scorev1.JobSpec, n *network) int {
	id, err := n.submit(ctx, messages, cluster, spec)
	if err != nil {
		return messages.failUnlessLeft(err, unanswered)
	}
	if _, err := fmt.Println(id); err != nil {
		return messages.fail(fmt.Sprintf("job %d was submitted, but its number cannot be written: %v", id, err))
	}
	return 0
}
