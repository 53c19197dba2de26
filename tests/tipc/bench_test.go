package tipc

import (
	"context"
	"flag"
	"fmt"
	"score/tests/guest"
	"testing"
	"time"
)

// bench turns the measurement on: it takes minutes, and its figures are for people.
var bench = flag.Bool("tipc.bench", false, "run the benchmark's group tipc in a guest, and print its figures")

// many turns the measurement of many sockets on.
var many = flag.Bool("tipc.many", false, "measure 100,000 connections, sockets and names in a guest, and print the figures")

// benchPatience bounds the run: five minutes on an idle machine.
const benchPatience = 15 * time.Minute

// manyMemory, in MiB, is room for 100,000 sockets.
const manyMemory = 2048

// benchPort is where the second host starts the processes that answer.
const benchPort = "10.9.0.2:7500"

// TestBench compares sockets of TIPC with those of TCP and UDP: make bench ONLY=tipc between two
// guests that an Ethernet bearer joins, then in one.
func TestBench(t *testing.T) {
	if !*bench {
		t.Skip("a benchmark; -tipc.bench runs it")
	}
	hosts := newHosts(t)
	for _, h := range hosts {
		goTool(t, "build", "-o", h.Shared["/mnt"]+"/bench", "score/tests/bench")
		h.enable("vec0")
	}
	hosts[0].await("tipc node list | grep -q up$")
	hosts[1].started("bench socket-peers "+benchPort, "/run/peers.log")
	hosts[1].await("grep -q 1D4C /proc/net/tcp") // the port
	before := hosts[0].sent()
	hosts[0].measures(" -far " + benchPort)
	if hosts[0].sent() == before {
		t.Error("no packet left the host: the bearer was not used")
	}
	hosts[0].measures("")
}

// TestMany measures 100,000 connections, sockets and names in one guest.
func TestMany(t *testing.T) {
	if !*many {
		t.Skip("a benchmark; -tipc.many runs it")
	}
	dir := t.TempDir()
	goTool(t, "build", "-o", dir+"/bench", "score/tests/bench")
	g := guest.Start(patient(t), t, guest.Options{Name: "alone", Memory: manyMemory, Modules: []string{"tipc"}, Shared: map[string]string{"/mnt": dir}})
	h := &host{t: t, Guest: g}
	h.must("ip link set lo up")
	h.measures(" -many")
}

// measures runs the benchmark, and prints its figures.
func (h *host) measures(options string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), benchPatience)
	defer cancel()
	r, err := h.Run(ctx, "cd /tmp && /mnt/bench -only tipc -runs 5"+options)
	fmt.Println(r.Stdout) // also what there is of it
	if err != nil || r.Code != 0 {
		said, _ := h.Run(h.t.Context(), "cat /run/*.log") // what there is of it
		h.t.Fatalf("exit code %d, %v\n%s%s", r.Code, err, r.Stderr, said.Stdout)
	}
}
