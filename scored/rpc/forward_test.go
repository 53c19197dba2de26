package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"score/scored/api"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/api/transport/forward"
	"score/scored/api/transport/h2"
	"score/scored/leader"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// elsewhere is a cluster in which another server leads, or none.
type elsewhere struct {
	mu      sync.Mutex
	leader  string
	changed chan struct{}
	answer  func(*http.Request) (*http.Response, error)
	keyless bool // the log cannot keep keys of submissions
}

func newElsewhere(leader string, answer func(*http.Request) (*http.Response, error)) *elsewhere {
	return &elsewhere{leader: leader, changed: make(chan struct{}), answer: answer}
}

func (e *elsewhere) RoundTrip(r *http.Request) (*http.Response, error) { return e.answer(r) }

func (e *elsewhere) lead(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leader = name
	close(e.changed)
	e.changed = make(chan struct{})
}

func (e *elsewhere) routing() *Routing {
	locked := func() (string, chan struct{}) {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.leader, e.changed
	}
	return &Routing{
		Own:     "s1",
		Leads:   func() bool { name, _ := locked(); return name == "s1" },
		Leader:  func() (string, string) { name, _ := locked(); return name, name + ":1" },
		Changed: func() <-chan struct{} { _, changed := locked(); return changed },
		Servers: func() []string { return []string{"s1", "s2", "s3"} },
		Others:  e, Logger: zap.NewNop(), KeepsKeys: func() bool { return !e.keyless },
	}
}

var local = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	said, _ := io.ReadAll(r.Body)
	_, _ = io.WriteString(w, "here: "+string(said))
})

// ask calls with ada's identity, as if from the kernel.
func ask(h http.Handler, kind, said string) *httptest.ResponseRecorder {
	return askAt(h, api.KeyedSubmit, kind, said)
}

func askAt(h http.Handler, path, kind, said string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://users"+path, strings.NewReader(said))
	r.Header.Set("Content-Type", kind)
	r.Header.Set(forUser, "root says so himself")
	r = r.WithContext(context.WithValue(r.Context(), identityKey{}, connIdentity{identity: &scorev1.Identity{Uid: 7, User: "ada"}}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func answer(status int, kind, text string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(text))}
}

const unary = "application/proto"

// TestRouter: a call goes to the leader once, with the kernel's identity of the caller.
func TestRouter(t *testing.T) {
	var e *elsewhere
	asked := 0
	e = newElsewhere("s2", func(r *http.Request) (*http.Response, error) {
		asked++
		identity, err := userFrom(r.Header.Get(forUser))
		if err != nil || identity.GetUser() != "ada" || len(r.Header.Values(forUser)) != 1 {
			t.Errorf("passed on for %v, %v", identity, err)
		}
		said, _ := io.ReadAll(r.Body)
		switch {
		case asked == 1:
			return nil, h2.ErrDial
		case asked == 2:
			e.lead("s3")
			return answer(http.StatusMisdirectedRequest, "text/plain", ""), nil
		case r.URL.Host != "s3":
			t.Errorf("%s was asked", r.URL.Host)
		}
		return answer(http.StatusOK, unary, "there: "+string(said)), nil
	})
	h := NewRouter(local, e.routing())
	if got := ask(h, unary, "hello"); got.Code != http.StatusOK || got.Body.String() != "there: hello" || asked != 3 {
		t.Errorf("%d, %q, asked %d times", got.Code, got.Body, asked)
	}
	e.lead("s1")
	if got := ask(h, unary, "hello"); got.Body.String() != "here: hello" || asked != 3 {
		t.Errorf("%q, asked %d times", got.Body, asked)
	}
}

// TestRouterOnce: a call that may have been carried out is not repeated.
func TestRouterOnce(t *testing.T) {
	asked := 0
	e := newElsewhere("s2", func(*http.Request) (*http.Response, error) { asked++; return nil, io.ErrUnexpectedEOF })
	got := ask(NewRouter(local, e.routing()), unary, "hello")
	if got.Code != http.StatusServiceUnavailable || asked != 1 || got.Header().Get(api.Unchanged) != "" || !strings.Contains(got.Body.String(), "not known") {
		t.Errorf("%d, %q, asked %d times", got.Code, got.Body, asked)
	}
}

// TestRouterRepeats: a call that is safe to repeat is repeated when another server leads.
func TestRouterRepeats(t *testing.T) {
	encoded := func(r *scorev1.SubmitRequest) string {
		data, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	key := []byte("0123456789abcdef")
	for name, test := range map[string]struct {
		path, kind, said string
		again            bool
	}{
		"a submission under a key":            {api.KeyedSubmit, unary, encoded(&scorev1.SubmitRequest{Key: key}), true},
		"one in JSON":                         {api.KeyedSubmit, "application/json", `{"key": "MDEyMzQ1Njc4OWFiY2RlZg=="}`, true},
		"a submission without":                {api.KeyedSubmit, unary, encoded(&scorev1.SubmitRequest{Version: "v1"}), false},
		"one in a log without keys":           {api.KeyedSubmit, unary, encoded(&scorev1.SubmitRequest{Key: key}), false},
		"one that is garbled":                 {api.KeyedSubmit, unary, "hello", false},
		"a cancellation":                      {scorev1connect.JobServiceCancelJobProcedure, unary, "", true},
		"a look":                              {scorev1connect.JobServiceListJobsProcedure, unary, "", true},
		"a signal":                            {scorev1connect.JobServiceSignalJobProcedure, unary, "", false},
		"a stream of which something is gone": {scorev1connect.JobServiceAttachProcedure, "application/connect+proto", "x", false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			var e *elsewhere
			e = newElsewhere("s2", func(r *http.Request) (*http.Response, error) {
				asked++
				said, _ := io.ReadAll(r.Body)
				if asked == 1 {
					e.lead("s3")
					return nil, io.ErrUnexpectedEOF
				}
				return answer(http.StatusOK, unary, r.URL.Host+" received "+string(said)), nil
			})
			e.keyless = strings.HasSuffix(name, "without keys")
			got := askAt(NewRouter(local, e.routing()), test.path, test.kind, test.said)
			if again := got.Body.String() == "s3 received "+test.said; again != test.again || asked > 1 != test.again {
				t.Errorf("%d, %q, asked %d times", got.Code, got.Body, asked)
			}
		})
	}
}

// TestRouterDoubt: the error of a call that may have been carried out does not say that it had no
// effect.
func TestRouterDoubt(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	var e *elsewhere
	e = newElsewhere("s2", func(*http.Request) (*http.Response, error) { e.lead(""); return nil, io.ErrUnexpectedEOF })
	got := askAt(NewRouter(local, e.routing()), scorev1connect.JobServiceCancelJobProcedure, unary, "")
	if got.Code != http.StatusServiceUnavailable || got.Header().Get(api.Unchanged) != "" || !strings.Contains(got.Body.String(), "is not known") {
		t.Errorf("%d, %v, %q", got.Code, got.Header(), got.Body)
	}
}

// TestRouterWithoutLeader: a call waits for one election; then its error says what is wrong.
func TestRouterWithoutLeader(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	e := newElsewhere("", func(*http.Request) (*http.Response, error) { return answer(http.StatusOK, unary, "there"), nil })
	h := NewRouter(local, e.routing())
	elected := time.AfterFunc(electionPatience/10, func() { e.lead("s2") })
	defer elected.Stop()
	if got := ask(h, unary, ""); got.Body.String() != "there" {
		t.Errorf("%d, %q", got.Code, got.Body)
	}
	e.lead("")
	got := ask(h, unary, "")
	if got.Code != http.StatusServiceUnavailable || got.Header().Get(api.Unchanged) == "" ||
		!strings.Contains(got.Body.String(), "of its 3 servers (s1, s2, s3) no majority") {
		t.Errorf("%d, %v, %q", got.Code, got.Header(), got.Body)
	}
}

// TestRouterIsCutOff: a call that the leader does not answer is given up once this server has known
// no leader for as long as an election may take, and not before. A leader that is in contact may
// take its time.
func TestRouterIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElsewhere("s2", func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		const connected, silent = time.Minute, time.Second
		time.AfterFunc(connected, func() { e.lead("") })
		time.AfterFunc(connected+silent, func() { e.lead("s2") }) // elected again
		time.AfterFunc(2*connected, func() { e.lead("") })
		began := time.Now()
		got := ask(NewRouter(local, e.routing()), unary, "")
		if took := time.Since(began); got.Code != http.StatusServiceUnavailable || took != 2*connected+electionPatience {
			t.Errorf("%d, %q after %v", got.Code, got.Body, took)
		}
	})
}

// TestRouterKnowsNoLeader: the other servers may have a majority without this one, and the refusal
// says so.
func TestRouterKnowsNoLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElsewhere("", nil)
		began := time.Now()
		got := ask(NewRouter(local, e.routing()), unary, "")
		if took := time.Since(began); got.Code != http.StatusServiceUnavailable || took < electionPatience || took > electionPatience+passPause {
			t.Errorf("%d after %v", got.Code, took)
		}
		if want := e.routing().Own + " does not reach the one that leads"; !strings.Contains(got.Body.String(), want) {
			t.Errorf("%q does not say %q", got.Body, want)
		}
	})
}

// TestRouterOvertakes: a call that the leader does not answer goes to the next leader as soon as
// there is one, if it is safe to repeat; otherwise the old leader gets a moment to answer.
func TestRouterOvertakes(t *testing.T) {
	for path, wait := range map[string]time.Duration{
		scorev1connect.JobServiceListJobsProcedure:  0,
		scorev1connect.JobServiceSignalJobProcedure: forward.AnswerGrace,
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newElsewhere("s2", func(r *http.Request) (*http.Response, error) {
				if r.URL.Host == "s3" {
					return answer(http.StatusOK, unary, "there"), nil
				}
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
			const electing = time.Second
			time.AfterFunc(electing/2, func() { e.lead("") })
			time.AfterFunc(electing, func() { e.lead("s3") })
			began := time.Now()
			got := askAt(NewRouter(local, e.routing()), path, unary, "")
			if took := time.Since(began) - electing; got.Body.String() == "there" != (wait == 0) || took < wait || took > wait+passPause {
				t.Errorf("%s: %d, %q, %v after the election", path, got.Code, got.Body, took)
			}
		})
	}
}

// message encodes one message of a stream.
func message(flags byte, text string) string {
	return string([]byte{flags, 0, 0, 0, byte(len(text))}) + text
}

// TestAnswerBreaks: a unary answer arrives whole, or the caller gets an error.
func TestAnswerBreaks(t *testing.T) {
	for _, kind := range []string{unary, "application/json"} {
		e := newElsewhere("s2", func(*http.Request) (*http.Response, error) {
			half := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF))
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(half)}, nil
		})
		w := ask(&router{Routing: e.routing(), local: local, identify: forwardUser}, kind, "list")
		if said := w.Body.String(); w.Code != http.StatusServiceUnavailable || !strings.Contains(said, "was lost while it had the request") {
			t.Errorf("%s: %d %q", kind, w.Code, said)
		}
	}
}

// TestStreamBreaks: if the server of a stream is lost, the stream ends after its last whole
// message, with an error that clients can parse.
func TestStreamBreaks(t *testing.T) {
	const kind = "application/connect+proto"
	whole := message(0, "one") + message(0, "two")
	for text, want := range map[string]string{
		whole + message(forward.EndOfStream, "{}"): whole + message(forward.EndOfStream, "{}"),
		whole:                           whole + message(forward.EndOfStream, forward.BrokenOff),
		whole + message(0, "three")[:6]: whole + message(forward.EndOfStream, forward.BrokenOff),
		whole + "\x00\xff\xff\xff\xff":  whole + message(forward.EndOfStream, forward.BrokenOff),
	} {
		e := newElsewhere("s2", func(*http.Request) (*http.Response, error) { return answer(http.StatusOK, kind, text), nil })
		if got := ask(NewRouter(local, e.routing()), kind, ""); got.Body.String() != want {
			t.Errorf("of %q comes %q", text, got.Body)
		}
	}
}

// TestUnchangedIsMarked: refusals of calls that had no effect say that the call may be repeated.
// Those of calls that may have been carried out before the server lost its leadership do not.
func TestUnchangedIsMarked(t *testing.T) {
	marked := func(err error) bool {
		failure, ok := errors.AsType[*connect.Error](withCode(err))
		if !ok || failure.Code() != connect.CodeUnavailable {
			t.Errorf("%v: %v", err, failure)
			return false
		}
		return failure.Meta().Get(api.Unchanged) != ""
	}
	for _, reason := range nothingDone {
		if !marked(reason) {
			t.Errorf("%v: not marked", reason)
		}
		if lost := fmt.Errorf("%w: %w", leader.ErrLost, reason); marked(lost) {
			t.Errorf("%v: marked", lost)
		}
	}
}

// TestLeaderless: the sentence says what is wrong, and names the servers if there are any.
func TestLeaderless(t *testing.T) {
	for _, test := range []struct {
		servers []string
		mention string
	}{
		{nil, "have not made s1 a server yet"},
		{[]string{"s1", "s2", "s3"}, "of its 3 servers (s1, s2, s3) no majority"},
	} {
		if got := noMajority(test.servers, "s1", false).Error(); !strings.Contains(got, test.mention) {
			t.Errorf("%v: %s", test.servers, got)
		}
	}
}
