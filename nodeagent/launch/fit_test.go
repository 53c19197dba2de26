package launch

import (
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// withoutCapability runs f on a thread that has lost CAP_SYS_RESOURCE, and is
// not used again.
func withoutCapability(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := dropCapability()
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// dropCapability takes CAP_SYS_RESOURCE from the calling thread.
func dropCapability() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Effective &^= 1 << unix.CAP_SYS_RESOURCE
	return unix.Capset(&header, &data[0])
}

func TestFit(t *testing.T) {
	b := newBench(t)
	// The bench's own limits may have no end, so what counts as inherited is said
	// here; a process that may raise a limit is not bound by it.
	own := func(resource int) Limit {
		now := b.inherited[resource]
		return Limit{resource, now.Cur, now.Max}
	}
	var files unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &files); err != nil {
		t.Fatal(err)
	}
	beyond := Limit{unix.RLIMIT_NOFILE, own(unix.RLIMIT_NOFILE).Soft, unix.RLIM_INFINITY} // above fs.nr_open for everybody
	lower := Limit{unix.RLIMIT_NOFILE, 10, 20}
	core := Limit{unix.RLIMIT_CORE, 0, own(unix.RLIMIT_CORE).Hard}
	for name, test := range map[string]struct {
		asked, want []Limit
		misfits     int
	}{
		"none":                          {nil, []Limit{}, 0},
		"inherited":                     {[]Limit{own(unix.RLIMIT_CPU)}, []Limit{own(unix.RLIMIT_CPU)}, 0},
		"beyond what anybody may":       {[]Limit{beyond}, []Limit{own(unix.RLIMIT_NOFILE)}, 1},
		"lower":                         {[]Limit{lower, core}, []Limit{lower, core}, 0},
		"what contradicts itself stays": {[]Limit{{1, 2, 1}, {99, 1, 1}}, []Limit{{1, 2, 1}, {99, 1, 1}}, 0},
		"no rank is given priorities":   {[]Limit{{unix.RLIMIT_RTPRIO, 1, 99}, {unix.RLIMIT_NICE, 1, 40}, {unix.RLIMIT_RTTIME, 1, 2}, core}, []Limit{core}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var got []Limit
			var misfits []Misfit
			withoutCapability(t, func() { got, misfits = b.Fit(test.asked) })
			if !slices.Equal(got, test.want) || len(misfits) != test.misfits {
				t.Errorf("got %v, %v; want %v and %d changed", got, misfits, test.want, test.misfits)
			}
		})
	}
	var after unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &after); err != nil || after != files {
		t.Errorf("trying has changed the process's own limit: %+v, %v; was %+v", after, err, files)
	}
}

// A hard limit is raised for who may and lowered for who may not, and either way
// a rank starts with it.
func TestFitRaises(t *testing.T) {
	needRoot(t)
	b := newBench(t)
	now := b.inherited[unix.RLIMIT_SIGPENDING]
	if now.Max == unix.RLIM_INFINITY {
		t.Skip("there is no higher limit")
	}
	asked := Limit{unix.RLIMIT_SIGPENDING, now.Max + 1, now.Max + 1}
	given := Limit{unix.RLIMIT_SIGPENDING, now.Max, now.Max}
	withoutCapability(t, func() {
		fit, misfits := b.Fit([]Limit{asked})
		if !slices.Equal(fit, []Limit{given}) || !slices.Equal(misfits, []Misfit{{asked, given}}) {
			t.Errorf("without the capability: %v, %v", fit, misfits)
		}
	})
	fit, _ := b.Fit([]Limit{asked})
	if _, hard := b.limits(t, "Max pending signals", func(r *Rank) { r.Limits = fit }); hard != amount(fit[0].Hard) {
		t.Errorf("a rank has %s, not %v", hard, fit)
	}
}

func TestMisfitString(t *testing.T) {
	m := Misfit{Limit{unix.RLIMIT_NOFILE, 10, 20}, Limit{unix.RLIMIT_NOFILE, 10, 15}}
	if got := m.String(); got != "nofile 10/15 instead of nofile 10/20" {
		t.Error(got)
	}
}
