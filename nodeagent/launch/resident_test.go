package launch

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

func TestPeakResident(t *testing.T) {
	if got := peakResident("Name:\ta\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"); got != 2<<20 {
		t.Errorf("VmHWM of 2048 kB is %d bytes", got)
	}
	for _, text := range []string{"", "Name:\tkthread\n", "\nVmHWM:\t", "\nVmHWM:\t-1 kB\n"} {
		if got := peakResident(text); got != 0 {
			t.Errorf("%q has %d bytes", text, got)
		}
	}
}

// The kernel counts the launcher's memory, which a rank shares until its exec, as the rank's.
func TestMemoryOfTheLauncherIsNoRanks(t *testing.T) {
	const large = 128 << 20
	memory := make([]byte, large)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	b := newBench(t)
	b.BeginJob(nil)
	if _, err := b.startOne(shell(t, 0, "exit 0", nil)); err != nil {
		t.Fatal(err)
	}
	if got := b.exit(t).Usage.MaxRSS; got != 0 {
		t.Errorf("a shell has %d bytes, while the launcher has %d", got, PeakResident(os.Getpid()))
	}
	more := PeakResident(os.Getpid()) + large
	buffer := fmt.Sprintf("dd if=/dev/zero of=/dev/null bs=%d count=1 2>/dev/null", more)
	started, err := b.StartAll([]Rank{*shell(t, 0, "exit 0", nil), *shell(t, 1, buffer, nil)})
	if err != nil || len(started) != 2 {
		t.Fatal(len(started), err)
	}
	for range 2 {
		e := b.exit(t)
		if got := e.Usage.MaxRSS; e.ID == 0 && got != 0 || e.ID == 1 && got < more {
			t.Errorf("rank %d has %d bytes, while the launcher has %d", e.ID, got, PeakResident(os.Getpid()))
		}
	}
	runtime.KeepAlive(memory)
}
