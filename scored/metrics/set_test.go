package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"score/ctxswitch"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"score/tests/pinned"
	"slices"
	"strings"
	"testing"
	"time"
)

func scrape(t *testing.T, s *Set) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	s.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if recorder.Code != http.StatusOK {
		t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
	}
	return recorder.Body.String()
}

// ofProcess matches the lines about the process, which are not always the same.
var ofProcess = regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?(go|process)_.*\n`)

// A server has the metrics of every Go program and process, as docs/METRICS.md says.
func TestMetricsOfTheProcess(t *testing.T) {
	got := scrape(t, New(Sources{
		Switches: NewSwitches(),
		Stats:    func(context.Context) (leader.Stats, error) { return leader.Stats{}, nil },
		Shares:   func(context.Context) ([]leader.JobShares, error) { return nil, nil },
	}))
	for _, want := range []string{"process_open_fds ", "go_goroutines ", "go_gc_heap_live_bytes "} {
		if !strings.Contains(got, "\n"+want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestMetricsAsServed(t *testing.T) {
	switches := NewSwitches()
	switches.Add("n1", &agentpb.SwitchReport{Steps: []*agentpb.SwitchReport_Steps{
		steps(t, 0, map[ctxswitch.Measure]time.Duration{ctxswitch.MeasureStop: 16 * time.Microsecond}),
		steps(t, 7, map[ctxswitch.Measure]time.Duration{ctxswitch.MeasureStop: 16 * time.Microsecond}),
	}, LateFreezes: 1})
	flushed := steps(t, 0, nil)
	flushed.Flushes = &scorev1.Flushes{Clean: 3, CutOff: 1}
	switches.Add("n1", &agentpb.SwitchReport{Steps: []*agentpb.SwitchReport_Steps{flushed}})
	s := New(Sources{Switches: switches, Stats: func(context.Context) (leader.Stats, error) {
		return leader.Stats{
			Submitted: 5, Launches: 4, Plans: 9, Rows: 2, NodesUp: 3,
			Ended: map[scorev1.EndReason]uint64{scorev1.EndReason_END_REASON_EXITED: 2},
			Jobs:  map[scorev1.JobState]int{scorev1.JobState_JOB_STATE_RUNNING: 2, scorev1.JobState_JOB_STATE_DONE: 8},
		}, nil
	}, Shares: func(context.Context) ([]leader.JobShares, error) {
		return []leader.JobShares{{ID: 7, Shares: []*scorev1.NodeShare{{Node: "n1", Usage: &scorev1.Usage{
			RunNanos: 2e9, Slices: 20, SwitchNanos: 3e6, LateFreezes: 1,
			Messages: &scorev1.Messages{
				Contexts: 2, Sent: 100, SentBytes: 6400, Received: 99, ReceivedBytes: 6336, Full: 3, Nacked: 4, Resent: 5,
				CreditRequests: 6, CreditsGranted: 70,
				Transports: &scorev1.Transports{
					Lanes: 8, LanesGivenBack: 2, DirectOperations: 1000, WindowsMapped: 4, CopiedBytes: 1 << 20, StreamedBytes: 1 << 22,
					BulkBytes: 1 << 21, PiecesAgain: 9,
					Rendezvous: 11, PeersGivenUp: 1, RendezvousOpen: 3, UnexpectedBytes: 512,
				},
			},
		}}, {Node: "n2"}}}}, nil
	}})
	s.ObserveCommit(300 * time.Microsecond)
	s.CountError("/score.v1.JobService/CancelJob", "not_found")
	pinned.File(t, "testdata/metrics.txt", ofProcess.ReplaceAllString(scrape(t, s), ""))
}

func TestWithoutALeaderTheRestIsServed(t *testing.T) {
	s := New(Sources{Switches: NewSwitches(), Stats: func(context.Context) (leader.Stats, error) {
		return leader.Stats{}, errors.New("nobody leads")
	}, Shares: func(context.Context) ([]leader.JobShares, error) { return nil, errors.New("nobody leads") }})
	got := scrape(t, s)
	if strings.Contains(got, jobs+"{") || !strings.Contains(got, commitSeconds) {
		t.Errorf("metrics:\n%s", got)
	}
}

// Every metric has a good name, a help text and a unit, and is declared once.
func TestTable(t *testing.T) {
	name := regexp.MustCompile(`^score_[a-z_]+$`)
	manual, err := os.ReadFile("../../docs/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, m := range Table {
		if !strings.Contains(string(manual), "| `"+m.Name+"` |") || !strings.Contains(string(manual), "| "+m.Unit+" | "+m.Help+" |") {
			t.Errorf("docs/METRICS.md does not say of %s: in %s, %s", m.Name, m.Unit, m.Help)
		}
		if !name.MatchString(m.Name) || m.Help == "" || m.Unit == "" || !strings.HasSuffix(m.Help, ".") {
			t.Errorf("metric %+v", m)
		}
		if strings.Contains(m.Name, "seconds") != (m.Unit == "seconds") {
			t.Errorf("%s is in %s", m.Name, m.Unit)
		}
		if slices.Contains(seen, m.Name) {
			t.Errorf("%s is declared twice", m.Name)
		}
		seen = append(seen, m.Name)
	}
}

// A job on more nodes than are told is left out in part, and counted; an ended job is not told at
// all.
func TestJobSeriesAreBounded(t *testing.T) {
	many := []leader.JobShares{{ID: 1}}
	for i := range maxJobSeries + 5 {
		many[0].Shares = append(many[0].Shares, &scorev1.NodeShare{Node: fmt.Sprintf("n%d", i), Usage: &scorev1.Usage{Slices: 1}})
	}
	s := New(Sources{
		Switches: NewSwitches(),
		Stats:    func(context.Context) (leader.Stats, error) { return leader.Stats{}, nil },
		Shares:   func(context.Context) ([]leader.JobShares, error) { return many, nil },
	})
	got := scrape(t, s)
	if n := strings.Count(got, "\n"+jobSlices+"{"); n != maxJobSeries || !strings.Contains(got, "\n"+jobsLeftOut+" 5\n") {
		t.Errorf("%d series of slices, and\n%s", n, got[strings.Index(got, jobsLeftOut):])
	}
	many = nil
	if got := scrape(t, s); strings.Contains(got, jobSlices+"{") || !strings.Contains(got, "\n"+jobsLeftOut+" 0\n") {
		t.Errorf("the job ended:\n%s", got)
	}
}
