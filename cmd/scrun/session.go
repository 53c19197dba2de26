package main

import (
	"context"
	"errors"
	"os"
	"score/cmd/display"
	"score/cmd/scrun/options"
	"score/scored/api/scorev1"
	"score/scored/client"
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
	input     forwarder
	signals   <-chan os.Signal
	// patience is the wait for a cluster that cannot answer.
	patience client.Patience
	// traceStart prints the phases of the start after the job has ended.
	traceStart bool

	streams *attachments
	shown   *shown

	// confirms and orders have connections of their own: the stream may be full of input that the
	// ranks do not read.
	confirms   *spareClient
	orders     *spareClient
	interrupts interrupts
	answers    chan answer // of pending orders
	pending    int         // number of pending orders

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
	s.input.file, err = inputOf(o)
	return s, err
}

// outcome is the end of the attachment.
type outcome struct {
	verdict  *scorev1.Verdict // nil if the attachment broke
	broken   error            // why the attachment broke
	trouble  error            // why output could not be shown
	received uint32           // the latest attempt whose output came to its end
	final    bool             // the cluster knows that, so scrun need not wait for an answer
	missing  bool             // output was lost on the way
}

// run follows the job until it ends, and returns scrun's exit code.
func (s *session) run(ctx context.Context) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.orders, s.confirms = &spareClient{main: s.client}, &spareClient{main: s.client}
	defer s.orders.close()
	defer s.confirms.close()
	s.answers = make(chan answer)
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
	s.input.begin(ctx, cancel, s.streams, s.messenger)
	stream, broken := s.streams.begin(s.jobID, nil, 0)
	if err := s.input.start(); err != nil {
		return s.messenger.fail(err.Error())
	}
	defer s.input.stop()
	ended := make(chan outcome, 1)
	outputFailed := make(chan struct{}, 1)
	go func() { ended <- s.follow(ctx, stream, broken, outputFailed) }()
	code := s.wait(ctx, ended, outputFailed)
	bound := time.AfterFunc(leaveTimeout, cancel)
	s.drainAnswers()
	bound.Stop()
	return code
}

// wait is scrun's main loop. It handles signals, blocked output and the end of the job.
func (s *session) wait(ctx context.Context, ended <-chan outcome, outputFailed <-chan struct{}) int {
	for {
		select {
		case received := <-s.signals:
			if s.onSignal(ctx, received) == interruptLeave {
				return interrupted
			}
		case <-s.input.escaped:
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
	if code == 0 && s.input.lost.Load() {
		return exitCluster // the reason was printed
	}
	return code
}

// onSignal handles one signal to scrun.
func (s *session) onSignal(ctx context.Context, received os.Signal) interruptAction {
	number, _ := received.(syscall.Signal)
	if number == unix.SIGCONT && s.input.raw != nil {
		_ = s.input.raw.enter() // the shell may have changed the mode; a terminal that is gone ends the input
	}
	if number != unix.SIGINT {
		s.begin(ctx, func(ctx context.Context) answer { return s.signalJob(ctx, number) })
		s.stuck.begin(number, s.showing.count.Load())
		return interruptShow
	}
	if !inForeground() {
		return s.endOrLeave(ctx, s.interrupts.sent(time.Now()))
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
		switch {
		case s.input.raw != nil:
			again = "~."
		case !inForeground():
			again = "SIGINT"
		}
		s.messenger.print("ending the job; " + again + " once more leaves without waiting for its end")
		s.order(ctx, s.cancelJob)
	case interruptLeave, interruptNothing:
	}
	return action
}
