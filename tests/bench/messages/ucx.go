package messages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// UCX is the peer that Debian's MPICH and Open MPI stand on: ucx_perftest measures tagged messages.
type UCX struct {
	Dir string // of its batch files
	// Copy lets it copy long messages once from process to process (CMA).
	Copy  bool
	alloc string // how the test's memory is allocated, in the order of preference; "" for the default
}

const (
	ucxProgram = "ucx_perftest"
	// ucxStart bounds the wait for its server to listen; ucxAgain is between looks.
	ucxStart = 10 * time.Second
	ucxAgain = 10 * time.Millisecond
)

var errListen = errors.New("ucx_perftest does not listen")

// transports are the fastest that it has for a path, on a machine without special hardware.
func (u UCX) transports(path Path) string {
	switch {
	case path == UDP:
		return "tcp"
	case u.Copy:
		return "posix,cma"
	default:
		return "posix"
	}
}

// Missing describes what has to be installed; "" if nothing.
func (UCX) Missing() string {
	if _, err := exec.LookPath(ucxProgram); err != nil {
		return "ucx-utils"
	}
	return ""
}

// Measure measures a plan: inside the node through POSIX shared memory, between nodes by TCP, for
// it has no transport over UDP.
func (u UCX) Measure(ctx context.Context, path Path, plan Plan) (Curve, error) {
	out, err := u.run(ctx, path, ucxBatch(plan))
	if err != nil {
		return Curve{}, err
	}
	return parseUCX(out)
}

// run runs the tests of a batch file between two processes, and returns what the client printed.
func (u UCX) run(ctx context.Context, path Path, tests []byte) (string, error) {
	cpus, err := CPUs()
	if err != nil {
		return "", err
	}
	batch := filepath.Join(u.Dir, "ucx-"+string(path))
	if err := os.WriteFile(batch, tests, 0o600); err != nil {
		return "", err
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := u.command(ctx, path, port, cpus[1], "-b", batch)
	if err := server.Start(); err != nil {
		return "", err
	}
	out, err := u.client(ctx, path, port, cpus[0], batch)
	if err != nil {
		cancel()
	}
	if err := errors.Join(err, server.Wait()); err != nil {
		return "", fmt.Errorf("%s by %s: %w", ucxProgram, path, err)
	}
	return out, nil
}

func (u UCX) client(ctx context.Context, path Path, port, cpu int, batch string) (string, error) {
	if err := listening(ctx, port); err != nil {
		return "", err
	}
	out, err := u.command(ctx, path, port, cpu, "-b", batch, "-f", "-v", "127.0.0.1").Output()
	return string(out), err
}

func (u UCX) command(ctx context.Context, path Path, port, cpu int, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, ucxProgram, append([]string{"-p", strconv.Itoa(port), "-c", strconv.Itoa(cpu)}, args...)...)
	cmd.Env = append(os.Environ(), "UCX_TLS="+u.transports(path), "UCX_NET_DEVICES=all", "UCX_WARN_UNUSED_ENV_VARS=n")
	if u.alloc != "" {
		cmd.Env = append(cmd.Env, "UCX_ALLOC_PRIO="+u.alloc)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// ucxBatch has one test a line, with the same warm-up as ours.
func ucxBatch(plan Plan) []byte {
	var b bytes.Buffer
	for _, p := range plan {
		fmt.Fprintf(&b, "%s-%d -t tag_lat -s %d -n %d -w %d\n", lineLatency, p.Size, p.Size, p.Rounds, p.Rounds/10+1)
		fmt.Fprintf(&b, "%s-%d -t tag_bw -s %d -n %d -w %d\n", lineStream, p.Size, p.Size, p.Stream, p.Stream/10+1)
	}
	return b.Bytes()
}

// freePort returns a port on which nobody listens at this moment.
func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// listening waits until somebody listens on the port, without connecting: the server takes one
// client.
func listening(ctx context.Context, port int) error {
	want := fmt.Sprintf(":%04X 00000000:0000 0A", port)
	for end := time.Now().Add(ucxStart); time.Now().Before(end); {
		for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			data, err := os.ReadFile(table)
			if err == nil &&
				(strings.Contains(string(data), want) || strings.Contains(string(data), fmt.Sprintf(":%04X 00000000000000000000000000000000:0000 0A", port))) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(ucxAgain):
		}
	}
	return errListen
}

// Columns of ucx_perftest's final lines: the name of the test, then iterations, and the averages
// over all of it.
const (
	ucxName    = 0
	ucxLatency = 4 // microseconds, one way
	ucxRate    = 8 // messages a second
	ucxColumns = 9
)

// parseUCX reads the lines that -f -v print.
func parseUCX(out string) (Curve, error) {
	c := newCurve()
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		kind, text, ok := strings.Cut(fields[ucxName], "-")
		if !ok || len(fields) != ucxColumns || kind != lineLatency && kind != lineStream {
			continue // the heading
		}
		size, err1 := strconv.Atoi(text)
		us, err2 := strconv.ParseFloat(fields[ucxLatency], 64)
		rate, err3 := strconv.ParseFloat(fields[ucxRate], 64)
		if err := errors.Join(err1, err2, err3); err != nil || rate <= 0 {
			return c, fmt.Errorf("%w: %q", errOutput, line)
		}
		if kind == lineLatency {
			keepMin(c.Latency, size, us*1e3)
		} else {
			keepMin(c.Stream, size, 1e9/rate)
		}
	}
	if len(c.Latency) == 0 || len(c.Stream) == 0 {
		return c, fmt.Errorf("%w: %q", errOutput, out)
	}
	return c, nil
}

// ucxRemote are its one-sided tests of 8 bytes, by our names.
var ucxRemote = map[string]string{OpPingPong: "ucp_put_lat", OpPut: "ucp_put_bw", OpGet: "ucp_get", OpFetchAdd: "ucp_fadd"}

const (
	// ucxWindows is its default: the test's memory is where the peer maps it. With ucxHeap it is
	// where only its owner has it, as ours is for OtherMemory.
	ucxWindows = ""
	ucxHeap    = "heap"
	// ucxSlowCount bounds its gets of other memory, which take a millisecond each.
	ucxSlowCount = 20
)

// Remote measures one-sided operations of 8 bytes inside a node on both kinds of memory. A put is
// done when its buffer can be used again, as in the stream of ours.
func (u UCX) Remote(ctx context.Context) (map[string]float64, error) {
	times := map[string]float64{}
	for memory, alloc := range map[string]string{WindowMemory: ucxWindows, OtherMemory: ucxHeap} {
		u.alloc = alloc
		out, err := u.run(ctx, Shm, ucxRemoteBatch(memory))
		if err != nil {
			return nil, err
		}
		of, err := parseUCXRemote(out)
		if err != nil {
			return nil, err
		}
		for name, ns := range of {
			times[name+memory] = ns
		}
	}
	return times, nil
}

func ucxRemoteBatch(memory string) []byte {
	var b bytes.Buffer
	for range remotePieces {
		for name, test := range ucxRemote {
			count := remoteCount
			if name == OpGet && memory == OtherMemory {
				count = ucxSlowCount
			}
			fmt.Fprintf(&b, "%s -t %s -s 8 -O 1 -n %d -w %d\n", name, test, count, count/10)
		}
	}
	return b.Bytes()
}

// parseUCXRemote returns nanoseconds by the name of the test.
func parseUCXRemote(out string) (map[string]float64, error) {
	var times bytes.Buffer
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		if len(fields) != ucxColumns || ucxRemote[fields[ucxName]] == "" {
			continue // the heading
		}
		us, err := strconv.ParseFloat(fields[ucxLatency], 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %q", errOutput, line)
		}
		fmt.Fprintln(&times, fields[ucxName], us*1e3)
	}
	return parseTimes(times.String())
}
