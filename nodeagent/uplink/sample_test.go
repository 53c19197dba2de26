package uplink

import (
	"score/nodeagent/clock"
	"score/scored/api/agentpb"
	"score/scored/hosttime"
	"testing"
)

func TestSampleOf(t *testing.T) {
	pong := func(change func(*agentpb.Pong)) *agentpb.Pong {
		p := &agentpb.Pong{
			AgentNanos: 1000, ArrivedNanos: 900_000, ClusterNanos: 900_200, Term: 3,
			Host: hosttime.Host(), BeforeNanos: 1500, AfterNanos: 1510,
		}
		change(p)
		return p
	}
	away := clock.Sample{Sent: 1000, Arrived: 900_000, Left: 900_200, Received: 2000}
	for _, tt := range []struct {
		name   string
		change func(*agentpb.Pong)
		want   clock.Sample
	}{
		{"same host", func(*agentpb.Pong) {}, clock.Sample{Sent: 1500, Arrived: 900_200, Left: 900_200, Received: 1510}},
		{"another host", func(p *agentpb.Pong) { p.Host = "6f1c" }, away},
		{"a host that is not known", func(p *agentpb.Pong) { p.Host = "" }, away},
		{"same host, another clock, ahead", func(p *agentpb.Pong) { p.BeforeNanos, p.AfterNanos = 2100, 2110 }, away},
		{"same host, another clock, behind", func(p *agentpb.Pong) { p.BeforeNanos, p.AfterNanos = 900, 910 }, away},
		{"after before before", func(p *agentpb.Pong) { p.AfterNanos = 1400 }, away},
		{
			"a server that does not tell when the ping arrived", func(p *agentpb.Pong) { p.Host, p.ArrivedNanos = "", 0 },
			clock.Sample{Sent: 1000, Arrived: 900_200, Left: 900_200, Received: 2000},
		},
	} {
		if got := sampleOf(pong(tt.change), 2000); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
