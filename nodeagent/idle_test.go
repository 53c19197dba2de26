package nodeagent_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"score/nodeagent"
	"score/tests/ports"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// maxIdleShare is of one CPU, in percent.
const maxIdleShare = 1

// TestIdleAgentIsCheap measures an agent that has no job, in a process of its
// own. The figures are upper bounds of a daemon's: the test binary is larger.
func TestIdleAgentIsCheap(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for seconds")
	}
	leader := startLeader(t)
	n := newNode(t, leader)
	process := exec.Command(n.options.StewardExe, append([]string{"agent"}, n.arguments()...)...)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Process.Signal(unix.SIGTERM)
		process.Wait()
		n.nothingLeft()
	})
	s := leader.Next(t)
	for range 6 {
		s.Ping(t) // the quick pings are over
	}
	// It comes to rest when the stewards are warm, which takes longer where others
	// fill the CPUs.
	const length = 2 * time.Second
	share, limit := 100.0, time.Now().Add(timeout)
	for share > maxIdleShare && time.Now().Before(limit) {
		begun, before := time.Now(), cpuTime(t, process.Process.Pid)
		time.Sleep(length)
		share = 100 * (cpuTime(t, process.Process.Pid) - before).Seconds() / time.Since(begun).Seconds()
	}
	resident := residentBytes(t, process.Process.Pid)
	t.Logf("idle: %.2f %% of a CPU, %.1f MB resident", share, float64(resident)/1e6)
	if share > maxIdleShare {
		t.Errorf("an idle agent takes %.2f %% of a CPU", share)
	}
	if resident > 40e6 && !raceDetector {
		t.Errorf("an idle agent takes %d bytes", resident)
	}
}

// cpuTime reads the CPU clock of a process; see clock_getcpuclockid(3).
func cpuTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

func residentBytes(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return 1024 * atoi(t, strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

func TestMetricsAreServed(t *testing.T) {
	address := ports.Address(t)
	leader := startLeader(t)
	n := startNode(t, leader, func(o *nodeagent.Options) { o.MetricsAddress = address })
	s := leader.Next(t)
	clocked(t, s)
	mustRun(t, s, n.order(1, "true"))
	done(t, s, 1)
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`score_agent_launches_total{node="n1"} 1`,
		`score_agent_rank_exits_total{kind="clean",node="n1"} 1`,
		`score_agent_jobs{node="n1"} 1`,
		`score_agent_connected{node="n1"} 1`,
		`score_agent_channels{node="n1"} 0`,
	} {
		if !strings.Contains(string(text), want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
}
