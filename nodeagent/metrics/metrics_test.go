package metrics

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"score/ctxswitch"
	"strings"
	"testing"
	"time"
)

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	server := httptest.NewServer(m.Handler())
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", response.StatusCode, err, text)
	}
	return string(text)
}

func TestTableIsInOrder(t *testing.T) {
	manual, err := os.ReadFile("../../docs/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, info := range Table {
		if !strings.Contains(string(manual), "| `"+info.Name+"` |") || !strings.Contains(string(manual), "| "+info.Meaning+" |") {
			t.Errorf("docs/METRICS.md does not say of %s: %s", info.Name, info.Meaning)
		}
		if info.ID != ID(i) || info.Name == "" || info.Meaning == "" || info.Unit == "" {
			t.Errorf("entry %d is %+v", i, info)
		}
		if !strings.HasSuffix(info.Name, "_total") {
			t.Errorf("counter %s does not end in _total", info.Name)
		}
	}
}

func TestScrape(t *testing.T) {
	var m *Metrics
	m = New("n1", func() Gauges {
		m.Set(Drives, 7)
		return Gauges{Jobs: 3, WarmStewards: 2, Connected: true, ClockError: 25e-6, Channels: 4}
	})
	m.Add(Launches, 2)
	m.Add(ExitsSignal, 1)
	var steps ctxswitch.Measures
	steps[ctxswitch.MeasureStop].Record(10 * time.Microsecond)
	m.AddSteps(&steps)
	m.AddSteps(&steps)
	text := scrape(t, m)
	for _, want := range []string{
		`score_agent_launches_total{node="n1"} 2`,
		`score_agent_rank_exits_total{kind="signal",node="n1"} 1`,
		`score_agent_rank_exits_total{kind="clean",node="n1"} 0`,
		`score_agent_channels{node="n1"} 4`,
		`score_agent_channel_drives_total{node="n1"} 7`,
		`score_agent_datagrams_total{kind="sent",node="n1"} 0`,
		`score_agent_jobs{node="n1"} 3`,
		`score_agent_stewards_warm{node="n1"} 2`,
		`score_agent_connected{node="n1"} 1`,
		`score_agent_clock_error_seconds{node="n1"} 2.5e-05`,
		`score_agent_switch_step_seconds_count{node="n1",step="stop"} 2`,
		`score_agent_switch_step_seconds_sum{node="n1",step="stop"} 2e-05`,
		`score_agent_switch_step_seconds_count{node="n1",step="total"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	for _, want := range []string{`process_open_fds{node="n1"} `, `go_gc_heap_live_bytes{node="n1"} `} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("%s is missing", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestNodesShareNothing(t *testing.T) {
	none := func() Gauges { return Gauges{} }
	a, b := New("n1", none), New("n2", none)
	a.Add(Launches, 1)
	if b.Count(Launches) != 0 || strings.Contains(scrape(t, b), "n1") {
		t.Error("one node's counters show on another")
	}
}
