package main

import (
	"context"
	"fmt"
	"os"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/scored/client/phases"
	"slices"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
)

// orderTimeout bounds the wait for the daemon's answer to a forwarded signal or a question; the
// next ^C works meanwhile.
const orderTimeout = 5 * time.Second

// order asks the daemon in a goroutine of its own; the loop gets the answer.
func (s *session) order(ctx context.Context, ask func(context.Context) string) {
	s.begin(ctx, func(ctx context.Context) answer { return answer{sentence: ask(ctx)} })
}

// answer is the result of an order.
type answer struct {
	sentence string  // for the user; may be empty
	left     *leftBy // scrun shall end; nil: it goes on
}

func (s *session) begin(ctx context.Context, ask func(context.Context) answer) {
	s.pending++
	if s.orders == nil {
		s.orders = s.client.Clone()
	}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, orderTimeout)
		defer cancel()
		s.answers <- ask(ctx)
	}()
}

// drainAnswers waits for orders under way, and drops their answers.
func (s *session) drainAnswers() {
	for ; s.pending > 0; s.pending-- {
		<-s.answers
	}
}

func (s *session) showRanks(ctx context.Context) string {
	reply, err := s.orders.Jobs.GetJob(ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: s.jobID}))
	if err != nil {
		return client.Sentence(err) + "; ^C again within a second ends the job"
	}
	for _, line := range describeJob(reply.Msg.GetJob(), reply.Msg.GetRanks()) {
		s.messenger.print(line)
	}
	return fmt.Sprintf("^C again within %v ends the job", confirmTime)
}

// printStart prints the phases of the job's start, all in one write.
func (s *session) printStart(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	reply, err := s.confirms.Jobs.GetJob(ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: s.jobID}))
	if err != nil {
		s.messenger.warn("the phases of the job's start are not known: " + client.Sentence(err))
		return
	}
	lines := phases.Lines(reply.Msg.GetJob())
	if len(lines) == 0 {
		s.messenger.print("the job ended before it had places on nodes")
		return
	}
	s.messenger.print(strings.Join(lines, "\n"))
}

func (s *session) cancelJob(ctx context.Context) string { return client.Sentence(s.cancel(ctx)) }

// cancel ends the job at once: its user waits.
func (s *session) cancel(ctx context.Context) error {
	_, err := s.orders.Jobs.CancelJob(ctx, connect.NewRequest(&scorev1.CancelJobRequest{JobId: s.jobID, AtOnce: true}))
	return err
}

// endMute ends a job whose output cannot be shown. It ignores that the job has already ended.
func (s *session) endMute(ctx context.Context) string {
	err := s.cancel(ctx)
	if connect.CodeOf(err) == connect.CodeFailedPrecondition {
		return ""
	}
	return client.Sentence(err)
}

// signalJob forwards a signal to the job. If the cluster does not answer, a signal that would end
// scrun ends it.
func (s *session) signalJob(ctx context.Context, number syscall.Signal) answer {
	request := &scorev1.SignalJobRequest{JobId: s.jobID, Signal: int32(number)}
	_, err := s.orders.Jobs.SignalJob(ctx, connect.NewRequest(request))
	if err == nil {
		return answer{}
	}
	ends := slices.Contains(leaving, os.Signal(number))
	if (ends || number == syscall.SIGCONT) && connect.CodeOf(err) == connect.CodeFailedPrecondition {
		return answer{} // the job has ended: timeout(1) sends its signal twice, then SIGCONT
	}
	a := answer{sentence: fmt.Sprintf("signal %d did not reach the ranks: %s", int(number), client.Sentence(err))}
	if ends && !answered(err) {
		a.sentence += "; left"
		a.left = &leftBy{number}
	}
	return a
}

// answered reports whether the error is an answer of the cluster.
func answered(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeFailedPrecondition, connect.CodeNotFound, connect.CodeInvalidArgument,
		connect.CodePermissionDenied, connect.CodeUnauthenticated, connect.CodeUnimplemented:
		return true
	default:
		return false
	}
}
