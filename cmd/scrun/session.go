package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/cmd/display"
	"score/cmd/scrun/options"
	"score/nodeagent/stdio"
	"score/scored/api/scorev1"
	"score/scored/client"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"
)

// leaveTimeout is how long a third ^C waits for the order of the second one to reach the daemon:
// without the order the job would run until its grace period is over.
const leaveTimeout = time.Second

// errOwnClusterLost is the message when an embedded cluster is lost.
var errOwnClusterLost = errors.New("the cluster of this job ended unexpectedly, and the job with it")

// attachment is a stream of a job's input, output and end.
type attachment = connect.BidiStreamForClient[scorev1.AttachRequest, scorev1.AttachEvent]

// session is one job that scrun is attached to.
type session struct {
	messenger messenger
	jobID     uint64
	client    *client.Client
	own       bool // the cluster is embedded and ends with the job
	display   *display.Display
	input     *os.File     // forwarded to the ranks; nil: none
	raw       *rawTerminal // input, if rank 0 has a terminal of its own; otherwise nil
	hint      bool         // ptyHint may still be printed
	signals   <-chan os.Signal
	// patience is the wait for a cluster that cannot answer.
	patience client.Patience
	// traceStart prints the phases of the start after the job has ended.
	traceStart bool

	streams   *attachments
	sent      *sentInput
	inputLost atomic.Bool // the input could not be read to its end
	shown     *shown

	// confirms and orders have connections of their own: the stream may be full of input that the
	// ranks do not read.
	confirms   *spareClient
	orders     *spareClient
	interrupts interrupts
	escaped    chan struct{} // the user has typed the terminal's escape
	answers    chan answer   // of pending orders
	pending    int           // number of pending orders

	longQueued *time.Timer // runs while the job is queued
	showing    showing
	stuck      stuckWatch
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

// outcome is the end of the attachment.
type outcome struct {
	verdict *scorev1.Verdict // nil if the attachment broke
	broken  error            // why the attachment broke
	trouble error            // why output could not be shown
	missing bool             // output was lost on the way
}

// run follows the job until it ends, and returns scrun's exit code.
func (s *session) run(ctx context.Context) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.orders, s.confirms = &spareClient{main: s.client}, &spareClient{main: s.client}
	defer s.orders.close()
	defer s.confirms.close()
	s.answers, s.escaped = make(chan answer), make(chan struct{}, 1)
	s.longQueued = stoppedTimer()
	defer s.longQueued.Stop()
	s.stuck.timer = stoppedTimer()
	defer s.stuck.timer.Stop()
	s.streams = newAttachments(func() *attachment { return s.client.Jobs.Attach(ctx) })
	s.shown = newShown(ctx, s.jobID, func(marks []*scorev1.OutputMark) error {
		ctx, cancel := context.WithTimeout(ctx, orderTimeout)
		defer cancel()
		_, err := s.confirms.get().Jobs.ConfirmOutput(ctx, connect.NewRequest(&scorev1.ConfirmOutputRequest{JobId: s.jobID, Marks: marks}))
		return err
	})
	s.sent = newSentInput(s.streams)
	stream, broken := s.streams.begin(s.jobID, nil)
	stopInput, err := s.startInput(ctx, cancel)
	if err != nil {
		return s.messenger.fail(err.Error())
	}
	defer stopInput()
	ended := make(chan outcome, 1)
	outputFailed := make(chan struct{}, 1)
	go func() { ended <- s.follow(ctx, stream, broken, outputFailed) }()
	code := s.wait(ctx, ended, outputFailed)
	bound := time.AfterFunc(leaveTimeout, cancel)
	s.drainAnswers()
	bound.Stop()
	return code
}

// startInput starts to forward standard input, if the job takes any.
func (s *session) startInput(ctx context.Context, cancel context.CancelFunc) (stop func(), err error) {
	if s.input == nil {
		return func() {}, nil
	}
	var escaped func()
	if s.raw != nil {
		escaped = func() { signalOn(s.escaped) }
	}
	pump, err := startPump(s.input, func(input *scorev1.Stdin) error {
		if s.hint && len(input.GetData()) > 0 {
			s.hint = false
			s.messenger.warn(ptyHint)
		}
		return s.sent.add(ctx, input)
	}, s.onInputLost, escaped)
	if err != nil {
		return nil, err
	}
	var sending sync.WaitGroup
	sending.Go(func() { s.sent.run(ctx) })
	ignore := func() {}
	if s.raw != nil {
		ignore = pump.followSize()
	}
	return func() {
		ignore()
		cancel() // frees a send that waits for the ranks to read
		pump.Stop()
		sending.Wait()
	}, nil
}

// onInputLost warns that the ranks see an end of the input that is not its real end.
func (s *session) onInputLost(err error) {
	s.inputLost.Store(true)
	s.messenger.print(fmt.Sprintf("cannot read the input: %v; the ranks have what was before", err))
}

// wait is scrun's main loop. It handles signals, blocked output and the end of the job.
func (s *session) wait(ctx context.Context, ended <-chan outcome, outputFailed <-chan struct{}) int {
	for {
		select {
		case received := <-s.signals:
			if s.onSignal(ctx, received) == interruptLeave {
				return interrupted
			}
		case <-s.escaped:
			if s.endOrLeave(ctx, s.interrupts.escape()) == interruptLeave {
				return interrupted
			}
		case <-outputFailed:
			s.order(ctx, s.endOnOutputFailure)
		case <-s.longQueued.C:
			s.order(ctx, s.queueReason)
		case <-s.stuck.timer.C:
			if s.stuck.check(s.showing.count.Load()) {
				s.begin(ctx, s.leaveStuck(s.stuck.left))
			}
		case a := <-s.answers:
			s.pending--
			if a.sentence != "" {
				s.messenger.print(a.sentence)
			}
			if a.left != nil {
				return a.left.exitCode()
			}
		case how := <-ended:
			if s.traceStart && how.verdict != nil {
				s.printStart(ctx)
			}
			return s.finish(how)
		}
	}
}

// finish prints the job's verdict and returns scrun's exit code.
func (s *session) finish(how outcome) int {
	switch {
	case errors.Is(how.trouble, syscall.EPIPE):
		return exitPipe // no message, like any program in a pipe to head
	case how.trouble != nil:
		return s.messenger.fail(how.trouble.Error())
	case how.broken != nil && s.own:
		return s.messenger.fail(errOwnClusterLost.Error())
	case how.broken != nil:
		return s.messenger.fail(client.Sentence(how.broken))
	}
	if message := how.verdict.GetMessage(); message != "" {
		s.messenger.print(message)
	}
	if s.interrupts.killed {
		return interrupted
	}
	code := int(how.verdict.GetExitCode())
	if how.missing && code == 0 {
		return s.messenger.fail("some of the job's output is lost")
	}
	if code == 0 && s.inputLost.Load() {
		return exitCluster // the reason was printed
	}
	return code
}

// onSignal handles one signal to scrun.
func (s *session) onSignal(ctx context.Context, received os.Signal) interruptAction {
	number, _ := received.(syscall.Signal)
	if number == unix.SIGCONT && s.raw != nil {
		_ = s.raw.enter() // the shell may have changed the mode; a terminal that is gone ends the input
	}
	if number != unix.SIGINT {
		s.begin(ctx, func(ctx context.Context) answer { return s.signalJob(ctx, number) })
		s.stuck.begin(number, s.showing.count.Load())
		return interruptShow
	}
	return s.endOrLeave(ctx, s.interrupts.press(time.Now()))
}

// endOrLeave performs the action of a ^C or a terminal's escape.
func (s *session) endOrLeave(ctx context.Context, action interruptAction) interruptAction {
	switch action {
	case interruptShow:
		s.order(ctx, s.showRanks)
	case interruptKill:
		again := "^C"
		if s.raw != nil {
			again = "~."
		}
		s.messenger.print("ending the job; " + again + " once more leaves without waiting for its end")
		s.order(ctx, s.cancelJob)
	case interruptLeave:
	}
	return action
}
