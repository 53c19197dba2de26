package client_test

import (
	"bytes"
	"errors"
	"net/http"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/scored/client/clienttest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// A submission is made again under the same key, whatever became of the connection, and others are
// made under another.
func TestSubmitsUntilItHears(t *testing.T) {
	var keys [][]byte
	var waited []int64
	lost := []error{
		connect.NewError(connect.CodeUnavailable, errors.New("the server was lost while it had the request")),
		clienttest.Undecided(),
		http.ErrAbortHandler,
	}
	socket := clienttest.Serve(t, clienttest.Daemon{SubmitRequest: func(r *scorev1.SubmitRequest) (uint64, error) {
		keys, waited = append(keys, r.GetKey()), append(waited, r.GetWaitedNanos())
		if n := len(keys); n <= len(lost) {
			if errors.Is(lost[n-1], http.ErrAbortHandler) {
				panic(http.ErrAbortHandler) // the connection breaks in the midst of the answer
			}
			return 0, lost[n-1]
		}
		return 7, nil
	}})
	c := client.New(socket)
	defer c.Close()
	for range 2 {
		if id, err := c.Submit(t.Context(), &scorev1.JobSpec{}); id != 7 || err != nil {
			t.Errorf("job %d, %v", id, err)
		}
	}
	if len(keys) != len(lost)+2 {
		t.Fatalf("made %d times", len(keys))
	}
	for i := range lost {
		if len(keys[i]) != 16 || !bytes.Equal(keys[i], keys[i+1]) || waited[i] >= waited[i+1] {
			t.Errorf("keys %x, waited %v", keys, waited)
		}
	}
	if bytes.Equal(keys[len(lost)], keys[len(lost)+1]) || waited[0] != 0 || waited[len(lost)+1] != 0 {
		t.Errorf("keys %x, waited %v", keys, waited)
	}
}

// So are calls that do no harm the second time, and no others.
func TestRepeatsWhatDoesNoHarm(t *testing.T) {
	asked := 0
	loseFirst := func() {
		if asked++; asked == 1 {
			panic(http.ErrAbortHandler)
		}
	}
	socket := clienttest.Serve(t, clienttest.Daemon{
		Cancel: func(uint64) error { loseFirst(); return nil },
		Signal: func(uint64, int32) error { loseFirst(); return nil },
	})
	c := client.New(socket)
	defer c.Close()
	if _, err := c.Jobs.CancelJob(t.Context(), connect.NewRequest(&scorev1.CancelJobRequest{JobId: 1})); err != nil || asked != 2 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	asked = 0
	if _, err := c.Jobs.SignalJob(t.Context(), connect.NewRequest(&scorev1.SignalJobRequest{JobId: 1, Signal: 1})); err == nil || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

// What a server says for good is believed at once.
func TestRefusalsAreNotRepeated(t *testing.T) {
	asked := 0
	socket := clienttest.Serve(t, clienttest.Daemon{
		SubmitRequest: func(*scorev1.SubmitRequest) (uint64, error) {
			asked++
			return 0, connect.NewError(connect.CodeInternal, errors.New("a fault"))
		},
		Signal: func(uint64, int32) error {
			asked++
			return connect.NewError(connect.CodeUnavailable, errors.New("lost"))
		},
	})
	c := client.New(socket)
	defer c.Close()
	if _, err := c.Submit(t.Context(), &scorev1.JobSpec{}); connect.CodeOf(err) != connect.CodeInternal || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	_, err := c.Jobs.SignalJob(t.Context(), connect.NewRequest(&scorev1.SignalJobRequest{JobId: 1, Signal: 1}))
	if connect.CodeOf(err) != connect.CodeUnavailable || asked != 2 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

// What cannot even be written will not be later, however long the user would wait.
func TestTextThatIsNotUTF8(t *testing.T) {
	c := client.New(clienttest.Serve(t, clienttest.Daemon{}))
	defer c.Close()
	ctx := client.WithPatience(t.Context(), client.Patience{Gone: -1, Undecided: -1})
	_, err := c.Submit(ctx, &scorev1.JobSpec{Name: "g\xfcnstig"})
	if got, want := client.Sentence(
		err,
	), "a name or reason that was given is not UTF-8: give one that is"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A wait has a bound of its own where no server can decide, starts again with every answer, and is
// told once.
func TestWait(t *testing.T) {
	undecided, gone := clienttest.Undecided(), errors.New("gone")
	var told []string
	patience := client.Patience{Gone: 10 * time.Second, Undecided: -1, Waiting: func(err error) { told = append(told, err.Error()) }}
	w, begin := patience.NewWait(), time.Unix(0, 0)
	for _, step := range []struct {
		at   int // seconds
		err  error
		goes bool
	}{
		{0, undecided, true},
		{2, undecided, true},
		{1000, undecided, true},
		{5000, undecided, true},
		{5001, gone, true},
		{5010, gone, true},
		{5012, gone, false},
		{5013, undecided, true},
		{5020, gone, true},
		{5029, gone, true},
		{6000, nil, true},
		{6001, gone, true},
		{6010, gone, true},
		{6012, gone, false},
	} {
		if step.err == nil {
			w.Answered()
			continue
		}
		if got := w.Continue(begin.Add(time.Duration(step.at)*time.Second), step.err); got != step.goes {
			t.Errorf("at %d s, %v: %v", step.at, step.err, got)
		}
	}
	if got := strings.Join(told, "; "); got != undecided.Error()+"; gone" {
		t.Errorf("told %q", got)
	}
	bounded := client.Patience{Gone: time.Second, Undecided: time.Second}.NewWait()
	if !bounded.Continue(begin, undecided) || bounded.Continue(begin.Add(2*time.Second), undecided) {
		t.Error("a bounded wait")
	}
}

// How long a submission has been made is told from when it may have been carried out.
func TestWaitsSinceADoubt(t *testing.T) {
	var waited []int64
	failures := []error{clienttest.Undecided(), clienttest.Undecided(), connect.NewError(connect.CodeUnavailable, errors.New("lost")), clienttest.Undecided()}
	socket := clienttest.Serve(t, clienttest.Daemon{SubmitRequest: func(r *scorev1.SubmitRequest) (uint64, error) {
		waited = append(waited, r.GetWaitedNanos())
		if n := len(waited); n <= len(failures) {
			return 0, failures[n-1]
		}
		return 7, nil
	}})
	c := client.New(socket)
	defer c.Close()
	if id, err := c.Submit(t.Context(), &scorev1.JobSpec{}); id != 7 || err != nil {
		t.Errorf("job %d, %v", id, err)
	}
	if len(waited) != 5 || waited[0]+waited[1]+waited[2] != 0 || waited[3] == 0 || waited[4] <= waited[3] {
		t.Errorf("waited %v", waited)
	}
}
