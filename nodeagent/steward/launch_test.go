package steward_test

import (
	"testing"
	"time"
)

func TestTrueTimes64(t *testing.T) {
	for _, mode := range []struct {
		name    string
		options []option
	}{{"cgroup", []option{withCgroup}}, {"signals", nil}} {
		t.Run(mode.name, func(t *testing.T) {
			a := start(t, mode.options...)
			a.ready(a.order(64, []string{"/bin/true"}))
			begin := time.Now()
			a.do(a.conn.Launch())
			launched := a.launched()
			forked := time.Since(begin)
			a.done()
			t.Logf("64 ranks: forked after %v, done after %v", forked, time.Since(begin))
			if n := len(launched.GetPids()); n != 64 {
				t.Errorf("%d process ids", n)
			}
			for rank, e := range a.exits() {
				if e.GetExitCode() != 0 || e.GetSignal() != 0 || e.GetByUs() {
					t.Errorf("rank %d: %v", rank, e)
				}
			}
		})
	}
}
