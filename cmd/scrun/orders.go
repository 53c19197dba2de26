package main

import (
	"context"
	"fmt"
	"os"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/scored/client/phases"
	"slices"
	"syscall"
	"time"

	"connectrpc.com/connect"
)

// orderTimeout bounds the wait for the daemon's answer to a signal or a query. scrun handles
// further ^Cs meanwhile.
const orderTimeout = 5 * time.Second

// order sends a request to the daemon in the background; the loop receives the answer.
func (s *session) order(ctx context.Context, ask func(context.Context) string) {
	s.begin(ctx, func(ctx context.Context) answer { return answer{sentence: ask(ctx)} })
}

// answer is the result of an order.
type answer struct {
	sentence string  // to print; may be empty
	left     *leftBy // the signal by which scrun must end; nil: it continues
}

func (s *session) begin(ctx context.Context, ask func(context.Context) answer) {
	s.pending++
	go func() {
		ctx, cancel := context.WithTimeout(ctx, orderTimeout)
		defer cancel()
		s.answers <- ask(ctx)
	}()
}

// drainAnswers waits for pending requests and discards their answers.
func (s *session) drainAnswers() {
	for ; s.pending > 0; s.pending-- {
		<-s.answers
	}
}

// getJob asks a client for the job and the states of its ranks.
func (s *session) getJob(ctx context.Context, by *spareClient) (*scorev1.Job, []*scorev1.RankState, error) {
	reply, err := by.get().Jobs.GetJob(ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: s.jobID}))
	if err != nil {
		return nil, nil, err
	}
	return reply.Msg.GetJob(), reply.Msg.GetRanks(), nil
}

func (s *session) showRanks(ctx context.Context) string {
	job, ranks, err := s.getJob(ctx, s.orders)
	if err != nil {
		return client.Sentence(err) + "; ^C again within a second ends the job"
	}
	for _, line := range describeJob(job, ranks) {
		s.messenger.print(line)
	}
	return fmt.Sprintf("^C again within %v ends the job", confirmTime)
}

// printStart prints the phases of the job's start, all in one write.
func (s *session) printStart(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	job, _, err := s.getJob(ctx, s.confirms)
	if err != nil {
		s.messenger.warn("cannot show the phases of the job's start: " + client.Sentence(err))
		return
	}
	lines := phases.Lines(job)
	if len(lines) == 0 {
		s.messenger.print("the job ended before it had places on nodes")
		return
	}
	s.messenger.printLines(lines)
}

func (s *session) cancelJob(ctx context.Context) string { return client.Sentence(s.cancel(ctx)) }

// cancel kills the job at once, since its user waits.
func (s *session) cancel(ctx context.Context) error {
	_, err := s.orders.get().Jobs.CancelJob(ctx, connect.NewRequest(&scorev1.CancelJobRequest{JobId: s.jobID, AtOnce: true}))
	return err
}

// endOnOutputFailure ends a job whose output cannot be shown. It is no error if the job has ended
// by itself.
func (s *session) endOnOutputFailure(ctx context.Context) string {
	err := s.cancel(ctx)
	if connect.CodeOf(err) == connect.CodeFailedPrecondition {
		return ""
	}
	return client.Sentence(err)
}

// signalJob forwards a signal. If the signal asks scrun to end and the cluster does not answer,
// scrun itself ends: nothing else would end it.
func (s *session) signalJob(ctx context.Context, number syscall.Signal) answer {
	request := &scorev1.SignalJobRequest{JobId: s.jobID, Signal: int32(number)}
	_, err := s.orders.get().Jobs.SignalJob(ctx, connect.NewRequest(request))
	if err == nil {
		return answer{}
	}
	ends := slices.Contains(endingSignals, os.Signal(number))
	if (ends || number == syscall.SIGCONT) && connect.CodeOf(err) == connect.CodeFailedPrecondition {
		return answer{} // the job has ended already: timeout(1) sends its signal twice, then SIGCONT
	}
	a := answer{sentence: fmt.Sprintf("signal %d did not reach the ranks: %s", int(number), client.Sentence(err))}
	if ends && !answered(err) {
		a.sentence += "; left"
		a.left = &leftBy{number}
	}
	return a
}

// answered reports whether the error is the cluster's answer.
func answered(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeFailedPrecondition, connect.CodeNotFound, connect.CodeInvalidArgument,
		connect.CodePermissionDenied, connect.CodeUnauthenticated, connect.CodeUnimplemented:
		return true
	default:
		return false
	}
}
