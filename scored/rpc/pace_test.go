package rpc

import (
	"score/scored/leader"
	"testing"
	"time"
)

func newPacedPlace() *outputProgress {
	return &outputProgress{pacing: pacing{checkDue: make(chan struct{}, 1)}}
}

// The streams of a host share what it carries. A silent stream has no share, and the most contended
// host on the way sets the rate.
func TestFlowsDivideAHost(t *testing.T) {
	const spender = 1000
	f, now := newFlows(), time.Unix(1, 0)
	one, other := newPacedPlace(), newPacedPlace()
	small, large := leader.Host{Name: "a", CPUs: 2}, leader.Host{Name: "b", CPUs: 64}
	f.rate([]leader.Host{small, large}, spender, one, 1<<40, now) // nothing is saved up
	check := func(what string, hosts []leader.Host, p *outputProgress, want uint64) {
		t.Helper()
		if got := f.rate(hosts, spender, p, 0, now); got != want {
			t.Errorf("%s: %d bytes in a second, want %d", what, got, want)
		}
	}
	check("no other jobs", nil, one, 0)
	check("alone", []leader.Host{large, small}, one, 2*carriedPerCPU)
	check("the second", []leader.Host{small}, other, carriedPerCPU)
	check("the first beside the second", []leader.Host{large, small}, one, carriedPerCPU)
	now = now.Add(flowLasts + 1)
	check("the first again", []leader.Host{small}, one, 2*carriedPerCPU)
	f.end(one)
	check("the second alone", []leader.Host{small}, other, 2*carriedPerCPU)
	for range 1000 {
		f.rate([]leader.Host{small}, spender, newPacedPlace(), 0, now)
	}
	check("one of many", []leader.Host{small}, one, minCarried)
}

// A little output needs no check whether others compute; much output needs one now and then.
func TestContentionChecks(t *testing.T) {
	p, now := &pacing{checkDue: make(chan struct{}, 1)}, time.Unix(1, 0)
	looks := func(messages, bytes int, every time.Duration) (count int) {
		for range messages {
			now = now.Add(every)
			p.onMessage(now, bytes)
			select {
			case <-p.checkDue:
				count++
			default:
			}
		}
		return count
	}
	if n := looks(10, 80, time.Second); n != 0 {
		t.Errorf("%d looks at ten lines", n)
	}
	if n := looks(1000, 64<<10, time.Millisecond); n < 9 || n > 11 {
		t.Errorf("%d looks in a second of a flood", n)
	}
	if n := looks(10, 80, time.Second); n < 9 {
		t.Errorf("%d looks in ten seconds of a stream that may have a pace", n)
	}
}

// Loopback and this host's names are one host, and each host on the way is listed once.
func TestHostsOnTheWay(t *testing.T) {
	names := &hostNames{own: map[string]bool{"": true, "localhost": true, "head": true, "10.0.0.1": true}}
	for _, test := range []struct {
		node, client string
		others       []string
	}{
		{"127.0.0.1:7000", "@", nil},
		{"localhost:7000", "[::1]:80", nil},
		{"head:7000", "10.0.0.1:9", nil},
		{"10.0.0.2:7000", "@", []string{"10.0.0.2"}},
		{"10.0.0.2:7000", "10.0.0.2:5", []string{"10.0.0.2"}},
		{"node7:7000", "10.0.0.2:5", []string{"node7", "10.0.0.2"}},
	} {
		hosts := names.path(test.node, test.client)
		if len(hosts) != 1+len(test.others) || hosts[0].Name != ownHost || hosts[0].CPUs == 0 {
			t.Errorf("%s to %s by way of %v", test.node, test.client, hosts)
			continue
		}
		for i, want := range test.others {
			if hosts[i+1].Name != want {
				t.Errorf("%s to %s by way of %v, want %v", test.node, test.client, hosts, test.others)
			}
		}
	}
}

// Held input is sent at its pace. After a pause some may be sent at once, up to a bound.
func TestInputPace(t *testing.T) {
	p, begin := &inputPace{rate: 4 << 20}, time.Unix(1, 0)
	now, passed := begin, 0
	const size = 32 << 10
	for now.Sub(begin) < 10*time.Second {
		if due := p.nextAt(now, size); due.After(now) {
			now = due
		}
		passed += size + messageCost
	}
	seconds := now.Sub(begin).Seconds()
	if rate := float64(passed) / (seconds + inputBurst.Seconds()); rate > 1.01*(4<<20) || rate < 0.97*(4<<20) {
		t.Errorf("%.0f bytes in a second", rate)
	}
	if p.rate = 0; p.nextAt(now, size) != now {
		t.Error("input without a pace waits")
	}
}
