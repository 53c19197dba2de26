package jobaccount

import (
	"os"
	"testing"
)

func TestLargest(t *testing.T) {
	if got := Largest([]int{os.Getpid(), 1 << 30}); got < 1<<20 {
		t.Errorf("this process has had %d bytes", got)
	}
}
