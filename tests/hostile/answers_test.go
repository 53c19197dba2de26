package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/client"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
)

const (
	// untaken answers of largeJob bytes are asked for on askers connections, and not taken:
	// together four times what the server may need.
	untaken, askers = 1200, 8
	largeJob        = 12 * 120_000
)

// untaken has a user ask for large answers and take none of them. Others are served, and the server
// keeps few of the answers.
func (s *scene) untaken(t *testing.T) {
	s.rows(2) // the large job runs beside the others'
	defer s.rows(1)
	asker := start(t, s.Cluster, eve, "untaken")
	id := uint64(asker.number())
	if n := asker.number(); n != untaken {
		t.Errorf("%d of %d calls were made", n, untaken)
	}
	s.answers()
	if took := time.Duration(start(t, s.Cluster, ada, "one").number()) * time.Millisecond; took > served {
		t.Errorf("another's job took %v", took)
	}
	if mb := s.resident(); mb > maxResident {
		t.Errorf("the server needed %d MB", mb)
	}
	s.Cancel(id)
}

// playUntaken submits a large job, tells its number, asks for it very often, and tells how often.
// It takes no answer.
func playUntaken() error {
	spec := shortJob("large")
	spec.Argv = []string{"/bin/sh", "-c", "exec sleep 3600"}
	for range largeJob / 120_000 {
		spec.Argv = append(spec.Argv, strings.Repeat("x", 120_000)) // the longest argument is 128 KiB
	}
	user := client.New(socket())
	defer user.Close()
	reply, err := user.Jobs.Submit(context.Background(), connect.NewRequest(&scorev1.SubmitRequest{Spec: spec}))
	if err != nil {
		return err
	}
	fmt.Println(reply.Msg.GetJobId())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var sent, calls sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	sent.Add(untaken)
	for range askers {
		transport := overHTTP2(socket())
		transport.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}
		defer transport.CloseIdleConnections()
		for range untaken / askers {
			calls.Go(func() {
				once := sync.OnceFunc(sent.Done) // the transport may send a request again
				wrote := func(httptrace.WroteRequestInfo) { once() }
				traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: wrote})
				err := ask(traced, transport, reply.Msg.GetJobId())
				if err != nil && !errors.Is(err, context.Canceled) {
					mu.Lock()
					failed = append(failed, err)
					mu.Unlock()
				}
			})
		}
	}
	sent.Wait()
	fmt.Println(untaken)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test is over
	cancel()
	calls.Wait()
	return errors.Join(failed...)
}

// ask asks for a job, and takes the head of the answer alone until ctx ends.
func ask(ctx context.Context, transport *http.Transport, id uint64) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://scored"+scorev1connect.JobServiceGetJobProcedure,
		strings.NewReader(fmt.Sprintf(`{"jobId":"%d"}`, id)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	reply, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	<-ctx.Done()
	return nil
}
