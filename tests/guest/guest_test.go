package guest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// patience bounds a test.
const patience = 110 * time.Second

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// must runs a command that must succeed, and returns its output.
func must(t *testing.T, g *Guest, command string) string {
	t.Helper()
	r, err := g.Run(patient(t), command)
	if err != nil || r.Code != 0 {
		t.Fatalf("%s: %+v, %v", command, r, err)
	}
	return strings.TrimSpace(r.Stdout)
}

func TestGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("boots guests")
	}
	g := Start(patient(t), t, Options{Name: "one", Shared: map[string]string{"/mnt/here": t.TempDir()}})
	if got := must(t, g, "hostname"); got != "one" {
		t.Errorf("the host name is %q", got)
	}
	if r, err := g.Run(patient(t), "echo out; echo err >&2; exit 3"); err != nil || r != (Result{"out\n", "err\n", 3}) {
		t.Errorf("%+v, %v", r, err)
	}
	if got := must(t, g, "seq 100000 | md5sum | cut -c1-32; seq 100000 | tail -n 1"); !strings.HasSuffix(got, "\n100000") {
		t.Errorf("%q", got)
	}
	if got := must(t, g, "seq 100000"); len(got) != 588894 {
		t.Errorf("%d bytes of output", len(got))
	}
	must(t, g, "echo kept > /etc/left && mkdir /sys/fs/cgroup/a && test -e /sys/fs/cgroup/a/cgroup.freeze")
	if err := g.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Run(patient(t), "true"); !errors.Is(err, ErrDead) {
		t.Errorf("a command after the power cut: %v", err)
	}
	if err := g.Boot(patient(t)); err != nil {
		t.Fatal(err)
	}
	if err := g.Reboot(patient(t)); err != nil {
		t.Fatal(err)
	}
	must(t, g, "test ! -e /etc/left")
	ctx, cancel := context.WithTimeout(patient(t), 200*time.Millisecond)
	defer cancel()
	if _, err := g.Run(ctx, "sleep 1000"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a command too long: %v", err)
	}
}

// TestNetwork joins two guests by Ethernet and pulls a cable.
func TestNetwork(t *testing.T) {
	if testing.Short() {
		t.Skip("boots guests")
	}
	network := NewSwitch(t)
	var guests []*Guest
	var ports []*Port
	for i := range 2 {
		p, err := network.Port()
		if err != nil {
			t.Fatal(err)
		}
		g := Start(patient(t), t, Options{Name: fmt.Sprint("g", i), Ports: []*Port{p}, Modules: []string{"tipc"}, ClockOffset: -time.Duration(i) * time.Hour})
		must(t, g, fmt.Sprintf("ip address add 10.9.0.%d/24 dev vec0 && ip link set vec0 up", i+1))
		guests, ports = append(guests, g), append(ports, p)
	}
	// Nothing listens: that the other refuses shows that packets go both ways.
	const reach = `timeout %s bash -c '</dev/tcp/10.9.0.2/9' 2>&1 | grep refused`
	must(t, guests[0], fmt.Sprintf(reach, "20"))
	ports[1].Pull()
	if r, err := guests[0].Run(patient(t), fmt.Sprintf(reach, "0.5")); err != nil || r.Code == 0 {
		t.Errorf("reached without a cable: %+v, %v", r, err)
	}
	ports[1].Plug()
	must(t, guests[0], fmt.Sprintf(reach, "20"))
	for i, g := range guests {
		must(t, g, fmt.Sprintf("tipc node set identity g%d && tipc bearer enable media eth device vec0", i))
	}
	must(t, guests[0], "for i in $(seq 100); do tipc node list | grep -q up && exit; sleep 0.1; done; exit 1")
	if a, b := must(t, guests[0], "date +%s"), must(t, guests[1], "date +%s"); a < b {
		t.Errorf("clocks are %s and %s", a, b)
	}
}
