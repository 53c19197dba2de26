package soak

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"score/channels/link"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	slice = 5 * time.Millisecond
	nodes = 4
	// loss is what the network loses of all datagrams.
	loss = "loss=0.01"
	// sampleEvery is how often is measured what the daemons need.
	sampleEvery = 500 * time.Millisecond
	// warmUp is the part of the time after which memory must be flat: buffers and tables have
	// come to their size, and the collector to its rhythm.
	warmUp = 0.4
	// minRounds per second and gang: far below what a machine does whose processors others
	// use as well, so that a gang that hardly goes on shows.
	minRounds = 2
)

// tolerances are by how much the daemons' needs may rise from the end of the warm-up on.
var tolerances = []struct {
	metric string
	max    float64
	reason string
}{
	{
		"process_resident_memory_bytes",
		32 << 20,
		"the collector lets the heap of 10 MB double, later than the warm-up on a busy machine, and its pages are touched one after the other",
	},
	{"go_gc_heap_live_bytes", 12 << 20, "a collection finds what is under way, as the report of a second's switches, and the one before may be of the warm-up"},
	{"process_open_fds", 8, "a warm steward may be replaced, and this test's own connection counts"},
	{"go_goroutines", 16, "those of a connection come and go"},
}

// length is how long the gangs exchange messages.
var length = flag.Duration("soak.for", 20*time.Second, "how long the gangs exchange messages")

// Two gangs of four nodes take turns each 5 ms and exchange messages, all to all; the network loses
// one in a hundred.
func TestGangsExchangeForLong(t *testing.T) {
	c := start(t)
	gangs := make([]*daemons.Job, 2)
	for i := range gangs {
		j, err := c.Exchange(fmt.Sprintf("soak%d", i+1), "n[1-4]", nodes, "-for", length.String())
		if err != nil {
			t.Fatal(err)
		}
		gangs[i] = j
	}
	series := sample(t, c, gangs)
	for _, j := range gangs {
		code, said, right, err := j.Result(t.Context())
		if err != nil || code != 0 || !right {
			t.Fatalf("gang %s ended with exit code %d, %q, %v", j.Name, code, said, err)
		}
		t.Log(j.Verdict())
		if rounds := roundsOf(t, j.Verdict()); rounds < minRounds*length.Seconds() {
			t.Errorf("gang %s made but %v rounds in %v", j.Name, rounds, *length)
		}
	}
	series.flat(t)
	if err := c.AwaitClean(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func start(t *testing.T) *daemons.Cluster {
	t.Helper()
	daemonstest.NeedRoot(t)
	t.Parallel()
	bin := t.TempDir()
	if err := daemons.Build(bin); err != nil {
		t.Fatal(err)
	}
	return daemonstest.Start(t, daemons.Options{
		Bin: bin, Nodes: nodes, Slice: slice, Grace: time.Second, Env: []string{link.FaultsVariable + "=" + loss}, Errors: os.Stderr,
	})
}

// series is what was measured of each agent: [agent][metric].
type series [][][]point

// sample measures until all gangs have ended.
func sample(t *testing.T, c *daemons.Cluster, gangs []*daemons.Job) series {
	t.Helper()
	s := make(series, len(c.Agents))
	for i := range s {
		s[i] = make([][]point, len(tolerances))
	}
	metrics := make([]string, len(tolerances))
	for k, tolerance := range tolerances {
		metrics[k] = tolerance.metric
	}
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	begin := time.Now()
	for over := false; !over; {
		for _, j := range gangs {
			over = over || j.Over() // the first end changes what the daemons hold
		}
		if over {
			break
		}
		at := time.Since(begin)
		for i, a := range c.Agents {
			values, err := a.MetricsOf(metrics...)
			if err != nil || at.Seconds() <= warmUp*length.Seconds() {
				continue // a busy machine's agents do not always answer in time
			}
			for k, value := range values {
				s[i][k] = append(s[i][k], point{at.Seconds(), value})
			}
		}
		<-ticker.C
		if time.Since(begin) > *length+daemons.Patience {
			t.Fatalf("the gangs should have ended after %v", *length)
		}
	}
	return s
}

// flat reports that nothing rose by more than is tolerated.
func (s series) flat(t *testing.T) {
	t.Helper()
	const minPoints = 5 // points without which a line means nothing
	for i, agent := range s {
		for k, points := range agent {
			tolerance := tolerances[k]
			if len(points) < minPoints {
				t.Fatalf("only %d measurements of %s", len(points), tolerance.metric)
			}
			rose := rise(points)
			t.Logf("n%d %s: %.0f, rose by %.0f", i+1, tolerance.metric, points[len(points)-1].value, rose)
			if rose > tolerance.max {
				t.Errorf("%s of n%d rose by %.0f, tolerated are %.0f: %s", tolerance.metric, i+1, rose, tolerance.max, tolerance.reason)
			}
		}
	}
}

var verdict = regexp.MustCompile(`^(\d+) rounds on`)

func roundsOf(t *testing.T, line string) float64 {
	t.Helper()
	match := verdict.FindStringSubmatch(strings.TrimSpace(line))
	if match == nil {
		t.Fatalf("no number of rounds in %q", line)
	}
	rounds, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return rounds
}
