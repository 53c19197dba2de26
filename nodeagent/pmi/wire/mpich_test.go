package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/mpidetect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mpichLimit bounds a run of a program; it takes a fraction of a second alone.
const mpichLimit = 60 * time.Second

// buildMPICH compiles a program of testdata with MPICH, or skips the test.
func buildMPICH(t *testing.T, program string) string {
	t.Helper()
	for _, name := range []string{"mpicc.mpich", "mpicc"} {
		compiler, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		shown, err := exec.Command(compiler, "-show").Output()
		if err != nil || !strings.Contains(string(shown), "mpich") {
			continue
		}
		binary := filepath.Join(t.TempDir(), program)
		source := filepath.Join("testdata", "programs", program+".c")
		if out, err := exec.Command(compiler, "-o", binary, source).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", compiler, err, out)
		}
		return binary
	}
	t.Skip("needs MPICH's compiler (Debian: apt install libmpich-dev mpich)")
	return ""
}

// liveJob runs real ranks against a testJob: a goroutine per rank reads its
// socket, a lock makes the servers see one at a time.
type liveJob struct {
	mu      sync.Mutex
	job     *testJob
	conns   []io.ReadWriteCloser
	outputs []strings.Builder
	cmds    []*exec.Cmd
	phases  []pmi.Phase
}

// connect gives a command a connection to its server and returns the server's
// end, or a function that waits for it.
type connect func(t *testing.T, cmd *exec.Cmd, engine *pmi.Engine, rank int) (accept func() (io.ReadWriteCloser, error))

// overFD connects by an inherited socket, as the launcher does.
func overFD(t *testing.T, cmd *exec.Cmd, engine *pmi.Engine, rank int) func() (io.ReadWriteCloser, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "rank")
	cmd.ExtraFiles = []*os.File{theirs}
	// The first of ExtraFiles is number 3 in the child.
	cmd.Env = engine.Environ(outside(), rank, 3)
	return func() (io.ReadWriteCloser, error) {
		return os.NewFile(uintptr(pair[0]), "server"), theirs.Close()
	}
}

// outside returns the test's own environment, without what a launcher of MPI has put there.
func outside() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return pmi.Inherited(name)
	})
}

// overPort connects by a TCP port of the rank's own.
func overPort(t *testing.T, cmd *exec.Cmd, _ *pmi.Engine, rank int) func() (io.ReadWriteCloser, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(outside(), "PMI_PORT="+listener.Addr().String(), fmt.Sprintf("PMI_ID=%d", rank))
	return func() (io.ReadWriteCloser, error) {
		defer listener.Close()
		if err := listener.(*net.TCPListener).SetDeadline(time.Now().Add(mpichLimit)); err != nil {
			return nil, err
		}
		return listener.Accept()
	}
}

func startLive(t *testing.T, rankNode []int32, how connect, program string, args ...string) *liveJob {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), mpichLimit)
	t.Cleanup(cancel)
	n := len(rankNode)
	l := &liveJob{
		job:     newTestJob(t, pmi.JobInfo{Job: 1, KVSName: fmt.Sprintf("score_test_%d", os.Getpid()), RankNode: rankNode}),
		conns:   make([]io.ReadWriteCloser, n),
		outputs: make([]strings.Builder, n),
		cmds:    make([]*exec.Cmd, n),
		phases:  make([]pmi.Phase, n),
	}
	for rank := range n {
		cmd := exec.CommandContext(ctx, program, args...)
		accept := how(t, cmd, l.job.servers[rankNode[rank]].Engine(), rank)
		cmd.Stdout, cmd.Stderr = &l.outputs[rank], &l.outputs[rank]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		l.cmds[rank] = cmd
		var err error
		if l.conns[rank], err = accept(); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// serve answers the ranks until all are gone and returns their exit codes.
func (l *liveJob) serve() []int {
	var readers sync.WaitGroup
	for rank := range l.conns {
		readers.Go(func() { l.read(rank) })
	}
	codes := make([]int, len(l.cmds))
	for rank, cmd := range l.cmds {
		_ = cmd.Wait()
		codes[rank] = cmd.ProcessState.ExitCode()
	}
	readers.Wait()
	return codes
}

func (l *liveJob) read(rank int) {
	defer l.conns[rank].Close()
	buffer := make([]byte, 4096)
	for {
		n, err := l.conns[rank].Read(buffer)
		if err != nil || n == 0 {
			l.mu.Lock()
			l.phases[rank] = l.job.gone(rank)
			l.mu.Unlock()
			return
		}
		l.mu.Lock()
		l.job.feed(rank, string(buffer[:n]))
		l.flush()
		l.mu.Unlock()
	}
}

// flush writes the replies, and ends the job where that is asked for.
func (l *liveJob) flush() {
	for rank := range l.conns {
		if text := l.job.take(rank); text != "" {
			_, _ = io.WriteString(l.conns[rank], text)
		}
	}
	if slices.ContainsFunc(l.job.others, func(e Effect) bool { return e.Kind == Abort || e.Kind == Violation }) {
		for _, cmd := range l.cmds {
			_ = cmd.Process.Kill()
		}
	}
}

func TestMPICH(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	program := buildMPICH(t, "hello")
	if report, err := mpidetect.Inspect(program); err != nil || report.Family != mpidetect.MPICH || !report.Runs(runtime.GOARCH) {
		t.Errorf("the program is taken for %+v, %v", report, err)
	}
	for name, rankNode := range map[string][]int32{
		"2 ranks on 1 node":             {0, 0},
		"4 ranks on 1 node":             {0, 0, 0, 0},
		"2 ranks on 2 nodes":            {0, 1},
		"4 ranks on 2 nodes":            {0, 0, 1, 1},
		"4 ranks on 2 nodes, in turn":   {0, 1, 0, 1},
		"4 ranks on 2 nodes, irregular": {1, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) { playHello(t, startLive(t, rankNode, overFD, program)) })
	}
	t.Run("over PMI_PORT", func(t *testing.T) { playHello(t, startLive(t, []int32{0, 1}, overPort, program)) })
}

// playHello serves hello and checks what its ranks say and how they leave.
func playHello(t *testing.T, l *liveJob) {
	codes := l.serve()
	n := len(codes)
	for rank := range n {
		want := fmt.Sprintf("rank %d of %d from %d sum %d\n", rank, n, (rank+n-1)%n, n*(n-1)/2)
		if got := l.outputs[rank].String(); got != want || codes[rank] != 0 {
			t.Errorf("rank %d: exit code %d, said %q, want %q", rank, codes[rank], got, want)
		}
		if l.phases[rank] != pmi.PhaseFinalized {
			t.Errorf("rank %d left in phase %d", rank, l.phases[rank])
		}
	}
	for _, effect := range l.job.others {
		if effect.Kind == Violation {
			t.Error(effect.Err)
		}
	}
	stats := l.job.servers[0].Engine().Stats()
	t.Logf("fences %d, exchanged %d bytes for %d", stats.Fences, stats.PackedBytes, stats.PlainBytes)
}

func TestMPICHAbort(t *testing.T) {
	program := buildMPICH(t, "hello")
	l := startLive(t, []int32{0, 1}, overFD, program, "abort")
	l.serve()
	abort := l.job.only(Abort)
	if abort.Rank != 1 || abort.Code != 7 {
		t.Errorf("abort of rank %d with code %d, want 1 and 7", abort.Rank, abort.Code)
	}
	if l.phases[0] != pmi.PhaseActive {
		t.Errorf("rank 0 was killed in phase %d, want active", l.phases[0])
	}
}
