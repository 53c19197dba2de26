package plural

import "testing"

func TestOf(t *testing.T) {
	for n, want := range []string{"0 jobs run", "1 job runs", "2 jobs run"} {
		if got := Of(n, "job runs", "jobs run"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
