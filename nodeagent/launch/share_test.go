package launch

import "testing"

func TestNiceFor(t *testing.T) {
	for sharers, want := range map[int]int{0: 0, 1: 0, 2: 4, 10: 11, 100: 19, 1 << 20: 19} {
		if got := niceFor(sharers); got != want {
			t.Errorf("%d ranks on a processor get nice value %d, want %d", sharers, got, want)
		}
	}
}
