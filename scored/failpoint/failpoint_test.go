package failpoint

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"score/tests/await"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test run itself as a daemon that passes one point three times.
func TestMain(m *testing.M) {
	if os.Getenv("FAILPOINT_DAEMON") == "" {
		os.Exit(m.Run())
	}
	if _, err := FromEnvironment("n1", nil); err != nil {
		os.Exit(1)
	}
	for range 3 {
		_ = Hit(PlanArrived)
	}
	os.Exit(7)
}

func TestTableIsInOrder(t *testing.T) {
	for i, info := range Table {
		if int(info.Point) != i || info.Name == "" || info.Meaning == "" || info.Point.String() != info.Name {
			t.Errorf("row %d is %+v", i, info)
		}
	}
}

func TestBadLists(t *testing.T) {
	for list, want := range map[string]string{
		"switch.flush.begin":            "POINT=ACTION",
		"switch.flush=kill":             "there is no failpoint",
		"plan.arrived=explode":          "there is no action",
		"plan.arrived=kill@0":           "no number",
		"plan.arrived=kill@x":           "no number",
		"plan.arrived=kill:3s":          "need a duration",
		"plan.arrived=delay":            "need a duration",
		"plan.arrived=delay:-1ms":       "no duration",
		"plan.arrived=delay:2h":         "no duration",
		"plan.arrived=error":            "nothing can fail",
		"plan.arrived=shift:1ms":        "no value to shift",
		"n2:plan.arrived=stop,x=y":      "there is no failpoint", // also what others are told is checked
		"clock.sample=shift:1ms,\n a=b": "there is no failpoint",
	} {
		if _, err := parse(list, "n1"); !errors.Is(err, ErrList) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", list, err, want)
		}
	}
}

// setFor sets a list for the daemon n1 until the test ends.
func setFor(t *testing.T, list string) {
	t.Helper()
	t.Setenv(Variable, list)
	stop, err := FromEnvironment("n1", func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
}

func TestErrorAtTheNthTime(t *testing.T) {
	setFor(t, "launch.begin=error@2")
	for i, want := range []error{nil, ErrInjected, nil} {
		if err := Hit(LaunchBegin); !errors.Is(err, want) {
			t.Errorf("passing %d: %v, want %v", i+1, err, want)
		}
	}
}

func TestOthersAreNotConcerned(t *testing.T) {
	setFor(t, "n2:launch.begin=error,n2:clock.sample=shift:1s")
	if err := Hit(LaunchBegin); err != nil || armed.Load() != nil {
		t.Errorf("a point of another node: %v", err)
	}
}

func TestDelayAndShift(t *testing.T) {
	setFor(t, "n1:plan.arrived=delay:30ms, clock.sample=shift:-5ms,clock.sample=shift:1ms@2")
	start := time.Now()
	if err := Hit(PlanArrived); err != nil || time.Since(start) < 30*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	for i, want := range []time.Duration{-5, -4, -5} {
		if got := Shift(ClockSample); got != want*time.Millisecond {
			t.Errorf("passing %d is shifted by %v, want %v ms", i+1, got, want)
		}
	}
	if err := Hit(ClockSample); err != nil {
		t.Error(err)
	}
}

func TestKillAndStop(t *testing.T) {
	for _, c := range []struct {
		list    string
		stopped bool
		ends    func(syscall.WaitStatus) bool
	}{
		{"plan.arrived=kill@3", false, func(s syscall.WaitStatus) bool { return s.Signaled() && s.Signal() == syscall.SIGKILL }},
		{"plan.arrived=kill@4", false, func(s syscall.WaitStatus) bool { return s.Exited() && s.ExitStatus() == 7 }},
		{"plan.arrived=stop@2", true, func(s syscall.WaitStatus) bool { return s.Exited() && s.ExitStatus() == 7 }},
	} {
		daemon := exec.Command(os.Args[0])
		daemon.Env = append(os.Environ(), "FAILPOINT_DAEMON=1", Variable+"="+c.list)
		if err := daemon.Start(); err != nil {
			t.Fatal(err)
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(daemon.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil {
			t.Fatal(err)
		}
		if status.Stopped() != c.stopped {
			t.Errorf("%s: %#x", c.list, status)
		}
		if status.Stopped() {
			_ = daemon.Process.Signal(syscall.SIGCONT)
			if _, err := syscall.Wait4(daemon.Process.Pid, &status, 0, nil); err != nil {
				t.Fatal(err)
			}
		}
		if !c.ends(status) {
			t.Errorf("%s: it ended with %#x", c.list, status)
		}
		_ = daemon.Process.Release()
	}
}

// A file is obeyed as it is at the start, and as it becomes.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "points")
	t.Setenv(Variable, "@"+path)
	problems := make(chan error, 1)
	stop, err := FromEnvironment("n1", func(err error) { problems <- err })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	write := func(list string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // what is written again counts from the beginning
		write("n1:launch.begin=error\nn2:plan.arrived=kill\n")
		await.That(t, "the file is obeyed", func() bool { return errors.Is(Hit(LaunchBegin), ErrInjected) })
	}
	write("nonsense")
	if err := <-problems; !errors.Is(err, ErrList) {
		t.Error(err)
	}
	if armed.Load() != nil {
		t.Error("something is set by a list that is not usable")
	}
	write("launch.begin=error@1000000")
	await.That(t, "a usable list after one that was not", func() bool { return armed.Load() != nil })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	await.That(t, "a file that is gone sets still", func() bool { return armed.Load() == nil })
}

// A list that was written counts for the next point that is passed.
func TestFileCountsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "points")
	t.Setenv(Variable, "@"+path)
	stop, err := FromEnvironment("n1", func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for range 200 {
		for list, want := range map[string]error{"launch.begin=error": ErrInjected, "": nil} {
			if err := os.WriteFile(path+".new", []byte(list), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
			if err := Hit(LaunchBegin); !errors.Is(err, want) {
				t.Fatalf("with %q a point is passed with %v", list, err)
			}
		}
	}
}

func TestNotSetCostsNothing(t *testing.T) {
	t.Setenv(Variable, "")
	if _, err := FromEnvironment("n1", nil); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() {
		if Hit(SwitchFlushBegin) != nil || Shift(ClockSample) != 0 {
			t.Error("something is set")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNotSet(b *testing.B) {
	for range b.N {
		if Hit(SwitchFlushBegin) != nil {
			b.Fatal("something is set")
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("n1:switch.flush.begin=kill@3,clock.sample=shift:-1ms")
	f.Add("@")
	f.Fuzz(func(t *testing.T, list string) {
		if _, err := parse(list, "n1"); err != nil && !errors.Is(err, ErrList) {
			t.Error(err)
		}
	})
}
