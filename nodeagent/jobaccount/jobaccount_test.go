package jobaccount

import (
	"os"
	"testing"
)

func TestLargest(t *testing.T) {
	if got := peakResident("Name:\ta\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"); got != 2<<20 {
		t.Errorf("VmHWM of 2048 kB is %d bytes", got)
	}
	for _, text := range []string{"", "Name:\tkthread\n", "\nVmHWM:\t", "\nVmHWM:\t-1 kB\n"} {
		if got := peakResident(text); got != 0 {
			t.Errorf("%q has %d bytes", text, got)
		}
	}
	if got := Largest([]int{os.Getpid(), 1 << 30}); got < 1<<20 {
		t.Errorf("this process has had %d bytes", got)
	}
}
