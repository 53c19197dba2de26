package hostinfo

import "testing"

func TestNodeProcesses(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct{ host, memory, total, want uint64 }{
		{32768, 24 * gib, 24 * gib, 24576},
		{32768, 48 * gib, 24 * gib, 24576},
		{32768, 12 * gib, 24 * gib, 12288},
		{32768, gib, 64 * gib, leastProcesses},
		{1000, gib, 64 * gib, 750},
		{1000, gib, 0, 750},
	} {
		if got := nodeProcesses(c.host, c.memory, c.total); got != c.want {
			t.Errorf("a node with %d of %d bytes, on a host of %d processes, has %d of them, not %d", c.memory, c.total, c.host, got, c.want)
		}
	}
	if host := hostProcesses(); host < 300 || host > 1<<32 {
		t.Errorf("this host can have %d processes", host)
	}
	if user, host := UserProcesses(), hostProcesses(); user != host/2 {
		t.Errorf("a user has %d of %d processes", user, host)
	}
}
