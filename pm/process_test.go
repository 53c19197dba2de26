package pm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestSpeedUpWaits is for programs that end at once: the end of a process waits for the kernel's
// part.
func TestSpeedUpWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		speedUpLater(t.Context())
		if took := time.Since(start); took != speedUpAfter {
			t.Errorf("after %v", took)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		speedUpLater(ended)
		if took := time.Since(start); took != speedUpAfter {
			t.Errorf("a process that has left waited %v", took-speedUpAfter)
		}
	})
}
