package steward_test

import (
	"net"
	"score/nodeagent/steward/direct"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
	"testing"
	"time"
)

func nowhere(uint32) uint16 { return 0 }

// portOf is where a steward of startRelayPair's job is looked for.
func portOf(p *stewardpb.PrepareJob, node uint32) uint16 {
	return direct.PortOf(p.DirectKey, node, p.Job.Places[node].GetAddress())
}

// listenAt is a socket at a port of loopback.
func listenAt(t *testing.T, port uint16) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(port)})
	if err != nil {
		t.Skip("another program has the port: " + err.Error())
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	return c
}

// The steward of a program that can speak PMIx alone greets its neighbour, no agent has said where
// that is, and answers it. Where another program has its port it does so from a different one.
func TestStewardsGreet(t *testing.T) {
	for name, taken := range map[string]bool{"its port is free": false, "its port is taken": true} {
		t.Run(name, func(t *testing.T) {
			a := start(t)
			order := a.order(1, sh("sleep 1000"), onNodeOfTwo(0), withKey, withSpec(func(s *scorev1.JobSpec) { s.Mpi = scorev1.MpiMode_MPI_MODE_PMIX }))
			neighbour := listenAt(t, portOf(order, 1))
			if own := listenAt(t, portOf(order, 0)); !taken { // it is nobody else's
				own.Close()
			}
			a.ready(order)
			a.do(a.conn.Launch())
			path, err := direct.New(order.DirectKey, 1, direct.Salt{1}, nowhere)
			if err != nil {
				t.Fatal(err)
			}
			hear := func() (p direct.Packet, from *net.UDPAddr) {
				t.Helper()
				buffer := make([]byte, direct.MaxDatagram)
				n, from, err := neighbour.ReadFromUDP(buffer)
				if err != nil {
					t.Fatal(err)
				}
				p, node, err := path.Open(buffer[:n])
				if err != nil || node != 0 {
					t.Fatal(node, err)
				}
				path.OnDatagram(node, p.Received)
				return p, from
			}
			greeting, from := hear()
			if greeting.Received != 0 || greeting.Stream != 0 || (from.Port == int(portOf(order, 0))) == taken {
				t.Fatalf("it greets with %+v from port %d", greeting, from.Port)
			}
			if _, err := neighbour.WriteToUDP(path.Seal(nil, 0, direct.Packet{}), from); err != nil {
				t.Fatal(err)
			}
			if answer, _ := hear(); answer.Received != 1 {
				t.Errorf("it answers %+v", answer)
			}
			a.do(a.conn.Kill())
			a.done()
		})
	}
}
