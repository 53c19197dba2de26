package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestStart(t *testing.T) {
	b := newBench(t)
	null := devNull(t)
	cases := map[string]struct {
		line string
		set  func(*Rank)
		want string
	}{
		"output":        {"echo hello", nil, "hello\n"},
		"arguments":     {"echo $0 $1", func(r *Rank) { r.Argv = append(r.Argv, "zero", "one") }, "zero one\n"},
		"environment":   {"echo $A", func(r *Rank) { r.Env = append(r.Env, "A=b c") }, "b c\n"},
		"directory":     {"pwd", func(r *Rank) { r.Dir = "/proc" }, "/proc\n"},
		"umask":         {"umask", func(r *Rank) { mask := uint32(0o027); r.Umask = &mask }, "0027\n"},
		"extra file":    {"echo x >&7", func(r *Rank) { r.Extra = []FD{{File: r.Stdout, Target: 7}} }, "x\n"},
		"only these":    {"ls /proc/self/fd", func(r *Rank) { r.Extra = []FD{{int(null.Fd()), 5}} }, "0\n1\n2\n3\n5\n"},
		"own group":     {"test $(cut -d' ' -f5 /proc/$$/stat) = $$ && echo yes", nil, "yes\n"},
		"input is null": {"wc -c", nil, "0\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := b.output(t, c.line, c.set); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSignalsAreClean(t *testing.T) {
	got := newBench(t).status(t, nil)
	for _, key := range []string{"SigBlk", "SigIgn"} {
		// The two real-time signals of the C library are its own matter.
		if mask, err := strconv.ParseUint(got[key], 16, 64); err != nil || mask&(1<<31-1) != 0 {
			t.Errorf("%s of a rank is %s", key, got[key])
		}
	}
}

func TestAffinityFollowsEachRank(t *testing.T) {
	var usual unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usual); err != nil {
		t.Fatal(err)
	}
	var cpus []int
	for cpu := 0; cpu <= MaxCPU; cpu++ {
		if usual.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	b := newBench(t)
	all := b.status(t, nil)["Cpus_allowed_list"]
	for _, cpu := range []int{cpus[0], cpus[len(cpus)-1], cpus[0]} {
		got := b.status(t, func(r *Rank) { r.CPUs = []int{cpu} })["Cpus_allowed_list"]
		if got != strconv.Itoa(cpu) {
			t.Errorf("pinned to %d, a rank may run on %s", cpu, got)
		}
	}
	if got := b.status(t, nil)["Cpus_allowed_list"]; got != all {
		t.Errorf("not pinned, a rank may run on %s, want %s", got, all)
	}
	_, err := b.startOne(&Rank{ID: 3, Path: "/bin/true", Argv: []string{"true"}, CPUs: []int{MaxCPU}})
	contains(t, err, "rank 3", "pinning to CPUs [1023]")
}

func TestUser(t *testing.T) {
	needRoot(t)
	b := newBench(t)
	if got := b.status(t, func(r *Rank) { r.User = &User{} }); got["NoNewPrivs"] != "0" {
		t.Error("root's ranks must keep set-user-id programs")
	}
	got := b.status(t, func(r *Rank) { r.User = nobody })
	want := map[string]string{
		"Uid": "65534\t65534\t65534\t65534", "Gid": "65533\t65533\t65533\t65533", "Groups": "65531 65532",
		"NoNewPrivs": "1", "CapEff": "0000000000000000",
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s is %q, want %q", key, got[key], value)
		}
	}
	r := shell(t, 4, "true", nil)
	if _, err := b.startOne(r); !errors.Is(err, ErrUser) {
		t.Errorf("root after a user: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	b := newBench(t)
	cases := map[string]struct {
		set  func(*Rank)
		want error
		says string
	}{
		"no path":        {func(r *Rank) { r.Path = "" }, ErrRank, "no program"},
		"no argv":        {func(r *Rank) { r.Argv = nil }, ErrRank, "no program"},
		"zero byte":      {func(r *Rank) { r.Path = "a\x00b" }, ErrRank, "zero byte"},
		"no stdout":      {func(r *Rank) { r.Stdout = -1 }, ErrRank, "standard stream"},
		"low target":     {func(r *Rank) { r.Extra = []FD{{0, 2}} }, ErrRank, "as number 2"},
		"high target":    {func(r *Rank) { r.Extra = []FD{{0, MaxFD + 1}} }, ErrRank, "256"},
		"bad CPU":        {func(r *Rank) { r.CPUs = []int{-1} }, ErrRank, "CPU -1"},
		"missing":        {func(r *Rank) { r.Path = "/no/such" }, ErrNotFound, `"/no/such"`},
		"no directory":   {func(r *Rank) { r.Dir = "/no/dir" }, ErrNotFound, `"/no/dir"`},
		"not executable": {func(r *Rank) { r.Path = "/etc/passwd" }, ErrNotExecutable, "/etc/passwd"},
		"wrong limit":    {func(r *Rank) { r.Limits = []Limit{{99, 1, 1}} }, ErrLimit, "limit 99"},
		"soft over hard": {func(r *Rank) { r.Limits = []Limit{{unix.RLIMIT_NOFILE, 2, 1}} }, ErrLimit, "nofile 2/1"},
		"small stack":    {func(r *Rank) { r.Limits = []Limit{{unix.RLIMIT_STACK, 1, 1}} }, ErrLimit, "stack 1/1"},
		"too long": {
			func(r *Rank) { r.Env = []string{"A=" + strings.Repeat("x", 1<<18)} },
			ErrNotExecutable, "shorten",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := shell(t, 7, "true", nil)
			c.set(r)
			p, err := b.startOne(r)
			if p != nil || !errors.Is(err, c.want) {
				t.Fatalf("got %v, %v, want %v", p, err, c.want)
			}
			contains(t, err, "rank 7", c.says)
		})
	}
	// None of it harmed the launcher, and nothing was reported as a rank.
	b.output(t, "true", nil)
	select {
	case e := <-b.exits:
		t.Errorf("a rank that never started was reported: %+v", e)
	default:
	}
}

// A program that somebody still has open for writing starts once it is closed.
func TestStartOfABusyProgram(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(t.TempDir(), "program")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("#!/bin/sh\necho written\n"); err != nil {
		t.Fatal(err)
	}
	busy := func(r *Rank) { r.Path = path }
	r := shell(t, 0, "", nil)
	busy(r)
	if _, err := b.startOne(r); !errors.Is(err, unix.ETXTBSY) || !errors.Is(err, ErrNotExecutable) {
		t.Fatalf("open for writing: %v", err)
	}
	time.AfterFunc(10*time.Millisecond, func() { f.Close() })
	if got := b.output(t, "", busy); got != "written\n" {
		t.Errorf("got %q", got)
	}
}

func TestStartAllStopsAtTheFirstFailure(t *testing.T) {
	b := newBench(t)
	ranks := make([]Rank, 4)
	for i := range ranks {
		ranks[i] = *shell(t, i, "sleep 1000", nil)
	}
	ranks[2].Path = "/no/such"
	started, err := b.StartAll(ranks)
	contains(t, err, "rank 2")
	if len(started) != 2 {
		t.Fatalf("%d started, want 2", len(started))
	}
	for _, p := range started {
		if err := p.SignalGroup(unix.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	b.exit(t)
	b.exit(t)
}

func TestCloseEndsTheRanks(t *testing.T) {
	b := newBench(t)
	if _, err := b.startOne(shell(t, 0, "exec sleep 1000", nil)); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if e := b.exit(t); e.Status.Signal != unix.SIGKILL {
		t.Errorf("the rank %v", e.Status)
	}
	if _, err := b.startOne(shell(t, 0, "true", nil)); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	b.Close() // a second time is harmless
}

func TestJoin(t *testing.T) {
	needRoot(t)
	const top = "/sys/fs/cgroup/memory"
	dir := filepath.Join(top, fmt.Sprintf("score.launch-test.%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("no version 1 memory hierarchy: ", err)
	}
	before, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	if err := b.Join(dir); err != nil {
		t.Fatal(err)
	}
	if got := b.output(t, "cat /proc/self/cgroup", nil); !strings.Contains(got, ":memory:/"+filepath.Base(dir)+"\n") {
		t.Errorf("a rank is in\n%s", got)
	}
	after, err := os.ReadFile("/proc/self/cgroup")
	if err != nil || string(after) != string(before) {
		t.Errorf("the process itself has moved to\n%s", after)
	}
	if err := b.Join(top); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Error(err)
	}
	contains(t, b.Join("/no/such"), "joining the job's group")
}
