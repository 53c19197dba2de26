package tipc

import (
	"context"
	"flag"
	"fmt"
	"score/tests/guest"
	"testing"
	"time"
)

// bench measures, which takes minutes and of which the figures are for people.
var bench = flag.Bool("tipc.bench", false, "run the benchmark's group tipc in a guest, and print its figures")

// benchPatience bounds the run: five minutes on an idle machine.
const benchPatience = 15 * time.Minute

// TestBench compares sockets of TIPC with those of TCP and UDP in a guest: make bench ONLY=tipc.
func TestBench(t *testing.T) {
	if !*bench {
		t.Skip("a benchmark; -tipc.bench runs it")
	}
	dir := t.TempDir()
	goTool(t, "build", "-o", dir+"/bench", "score/tests/bench")
	g := guest.Start(patient(t), t, guest.Options{Name: "alone", Memory: 512, Modules: []string{"tipc"}, Shared: map[string]string{"/mnt": dir}})
	ctx, cancel := context.WithTimeout(t.Context(), benchPatience)
	defer cancel()
	r, err := g.Run(ctx, "cd /tmp && ip link set lo up && /mnt/bench -only tipc -runs 5")
	fmt.Println(r.Stdout) // also what there is of it
	if err != nil || r.Code != 0 {
		t.Fatalf("exit code %d, %v\n%s", r.Code, err, r.Stderr)
	}
}
