package launch

import (
	"score/nodeagent/hostinfo"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// limits are soft and hard of one line of a rank's /proc/self/limits.
func (b *bench) limits(t *testing.T, name string, set func(*Rank)) (soft, hard string) {
	t.Helper()
	for line := range strings.Lines(b.output(t, "exec cat /proc/self/limits", set)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			f := strings.Fields(rest)
			return f[0], f[1]
		}
	}
	t.Fatalf("no limit %q", name)
	return "", ""
}

func TestLimits(t *testing.T) {
	b := newBench(t)
	soft, hard := b.limits(t, "Max open files", nil)
	own := b.inherited[unix.RLIMIT_NOFILE]
	if soft != strconv.FormatUint(own.Cur, 10) || hard != strconv.FormatUint(own.Max, 10) {
		t.Errorf("a rank inherits %s/%s open files, the Forker believes %+v", soft, hard, own)
	}
	soft, hard = b.limits(t, "Max open files", func(r *Rank) {
		r.Limits = []Limit{{unix.RLIMIT_NOFILE, 100, 200}}
	})
	if soft != "100" || hard != "200" {
		t.Errorf("asked for 100/200, the rank has %s/%s", soft, hard)
	}
	var mine unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &mine); err != nil || mine.Max == 200 {
		t.Errorf("the launcher's own limit is %+v now, %v", mine, err)
	}
	soft, _ = b.limits(t, "Max open files", nil)
	if soft != strconv.FormatUint(own.Cur, 10) {
		t.Errorf("the next rank has %s", soft)
	}
}

// Lowering takes no privilege: ranks of another user get his limits from a
// launcher that has not the capability to set limits of others, and it is itself
// again afterwards.
func TestLimitsOfAnotherUser(t *testing.T) {
	needRoot(t)
	b := newBench(t)
	if err := b.Do(dropCapability); err != nil {
		t.Fatal(err)
	}
	own := b.inherited[unix.RLIMIT_NOFILE]
	wanted, misfits := b.Fit([]Limit{{unix.RLIMIT_NOFILE, 100, own.Max}, {unix.RLIMIT_NPROC, 70, 80}})
	if len(misfits) > 0 {
		t.Errorf("not given: %v", misfits)
	}
	asNobody := func(r *Rank) { r.User, r.Limits = nobody, wanted }
	if soft, hard := b.limits(t, "Max open files", asNobody); soft != "100" || hard != amount(own.Max) {
		t.Errorf("open files: %s/%s, want 100/%s", soft, hard, amount(own.Max))
	}
	if soft, hard := b.limits(t, "Max processes", asNobody); soft != "70" || hard != "80" {
		t.Errorf("processes: %s/%s, want 70/80", soft, hard)
	}
	if err := b.Do(func() error {
		if uid, gid := unix.Getuid(), unix.Getgid(); uid != 0 || gid != 0 {
			t.Errorf("the launcher goes on as user %d, group %d", uid, gid)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// No rank may raise its priority, whatever the launcher might.
func TestNoPriorities(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"Max realtime priority", "Max nice priority"} {
		if soft, hard := b.limits(t, name, nil); soft != "0" || hard != "0" {
			t.Errorf("%s: %s/%s", name, soft, hard)
		}
	}
}

// Ranks of one user leave others some of the host's processes, whatever limit was asked for.
func TestProcessesAreBounded(t *testing.T) {
	b := newBench(t)
	most := hostinfo.UserProcesses()
	asked := Limit{unix.RLIMIT_NPROC, unix.RLIM_INFINITY, unix.RLIM_INFINITY}
	wanted, misfits := b.Fit([]Limit{asked})
	if len(misfits) > 0 {
		t.Errorf("every user would be told: %v", misfits)
	}
	for name, set := range map[string]func(*Rank){"inherited": nil, "asked": func(r *Rank) { r.Limits = wanted }} {
		_, hard := b.limits(t, "Max processes", set)
		if n, err := strconv.ParseUint(hard, 10, 64); err != nil || n > most {
			t.Errorf("%s: a rank's user may have %s processes, more than %d", name, hard, most)
		}
	}
}

// The kernel leaves a gap of the stack's limit above the mapped files, so a rank
// whose limit was right at exec has its libraries further down.
func TestStackIsRightAtExec(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_STACK, nil, &before); err != nil {
		t.Fatal(err)
	}
	const wanted = 1 << 30
	if before.Max < wanted {
		t.Skip("the hard limit on stacks is too low here")
	}
	t.Cleanup(func() {
		if err := unix.Prlimit(0, unix.RLIMIT_STACK, &before, nil); err != nil {
			t.Error(err)
		}
	})
	b := newBench(t)
	gap := func(set func(*Rank)) uint64 {
		var library, stack uint64
		for line := range strings.Lines(b.output(t, "exec cat /proc/self/maps", set)) {
			span, _, _ := strings.Cut(line, " ")
			low, high, _ := strings.Cut(span, "-")
			switch {
			case strings.Contains(line, "[stack]"):
				stack, _ = strconv.ParseUint(low, 16, 64)
			case strings.Contains(line, "/ld-linux"):
				library, _ = strconv.ParseUint(high, 16, 64)
			}
		}
		if library == 0 || stack < library {
			t.Skip("no dynamic loader below the stack here")
		}
		return stack - library
	}
	got := gap(func(r *Rank) { r.Limits = []Limit{{unix.RLIMIT_STACK, wanted, before.Max}} })
	if got < wanted-(64<<20) {
		t.Errorf("the gap below the stack is %d MiB with a limit of %d MiB", got>>20, wanted>>20)
	}
}

func TestLimitString(t *testing.T) {
	cases := map[string]Limit{
		"stack 8/unlimited": {unix.RLIMIT_STACK, 8, unix.RLIM_INFINITY},
		"rttime 1/2":        {unix.RLIMIT_RTTIME, 1, 2},
		"limit -1 0/0":      {-1, 0, 0},
		"limit 16 0/0":      {16, 0, 0},
	}
	for want, l := range cases {
		if got := l.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
