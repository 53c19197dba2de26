package tipc

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"score/channels/link/tipc"
	"score/tests/guest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// host is a guest with a node of the cluster.
type host struct {
	t *testing.T
	*guest.Guest
	cable *guest.Port
}

// must runs a command that must succeed, and returns its output.
func (h *host) must(command string) string {
	h.t.Helper()
	r, err := h.Run(patient(h.t), "PATH=/mnt:$PATH; "+command)
	if err != nil || r.Code != 0 {
		h.t.Fatalf("%s: exit code %d, %v\n%s%s", command, r.Code, err, r.Stdout, r.Stderr)
	}
	return strings.TrimSpace(r.Stdout)
}

// await waits until a command succeeds.
func (h *host) await(command string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(patient(h.t), awaited)
	defer cancel()
	r, err := h.Run(ctx, fmt.Sprintf("PATH=/mnt:$PATH; until (%s) >/run/await 2>&1; do sleep 0.2; done", command))
	if err == nil && r.Code == 0 {
		return
	}
	said, _ := h.Run(patient(h.t), "cat /run/await /run/*.log /run/east /run/west") // what there is of it
	h.t.Fatalf("never: %s: %v\n%s", command, err, said.Stdout)
}

// awaited bounds the wait for one thing: the start of a job takes seconds in guests that are busy,
// and many times that where the machine is busy with others.
const awaited = 2 * time.Minute

// started runs a command until the guest ends.
func (h *host) started(command, log string) {
	h.t.Helper()
	h.must(fmt.Sprintf("(%s) >%s 2>&1 </dev/null &", command, log))
}

const agentConfig = `mkdir -p /etc/score && cat >/etc/score/score.toml <<'TOML'
[cluster]
name = "tipc"
certificates = "/etc/score/certificates"
[agent]
listen = "10.9.0.2:7421"
servers = ["10.9.0.1:7420"]
link = "tipc"
TOML`

// newHosts boots two hosts that a cable joins. Each has another device, whose cable leads nowhere.
func newHosts(t *testing.T) (hosts [2]*host) {
	t.Helper()
	bin := buildPrograms(t)
	network := guest.NewSwitch(t)
	for i := range hosts {
		port, err := network.Port()
		if err != nil {
			t.Fatal(err)
		}
		lonely, err := guest.NewSwitch(t).Port()
		if err != nil {
			t.Fatal(err)
		}
		g := guest.Start(patient(t), t, guest.Options{
			Name: fmt.Sprint("host", i+1), Memory: 512, Ports: []*guest.Port{port, lonely}, Modules: []string{"tipc"}, Shared: map[string]string{"/mnt": bin},
		})
		h := &host{t, g, port}
		h.must("for dir in /etc/score /var/lib /var/cache /run; do mkdir -p $dir && mount -t tmpfs tmpfs $dir; done")
		h.must(fmt.Sprintf("ip link set lo up; ip address add 10.9.0.%d/24 dev vec0 && ip link set vec0 up", i+1))
		h.must(fmt.Sprintf("tipc node set identity host%d", i+1))
		hosts[i] = h
	}
	return hosts
}

// enable gives TIPC a bearer.
func (h *host) enable(device string) {
	h.t.Helper()
	h.must("tipc bearer enable media eth device " + device)
}

// newCluster makes a cluster of the two hosts as docs/installing.md says.
func newCluster(hosts [2]*host) (one, two *host) {
	one, two = hosts[0], hosts[1]
	one.t.Helper()
	one.must(`scored init --address 10.9.0.1 --name tipc && sed -i 's/^#link = .*/link = "tipc"/' /etc/score/score.toml`)
	one.started("scored server", "/run/server.log")
	one.await("scored server list | grep -q leader")
	one.started("scored token create | scored agent --join -", "/run/agent.log")
	token := one.must("scored token create 2>/dev/null")
	two.must(agentConfig)
	two.started("scored agent --join "+token, "/run/agent.log")
	one.await("scored metrics | grep -q '2 up'")
	return one, two
}

// sent is how many packets have left a host.
func (h *host) sent() int {
	h.t.Helper()
	n, err := strconv.Atoi(h.must("cat /sys/class/net/vec0/statistics/tx_packets"))
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// tolerance makes TIPC give a link up after what silence, in milliseconds.
func (h *host) tolerance(silence int) {
	h.t.Helper()
	h.must(fmt.Sprintf("tipc link list | sed -n 's/: up$//p' | grep -v broadcast | while read l; do tipc link set tolerance %d link $l; done", silence))
}

// TestTwoHosts: two gangs of two hosts take turns and exchange messages by TIPC. Some are lost,
// while the cable is pulled for a second, in the middle of switches: the link goes down, and all
// names of the other host with it. Then the agents' links differ.
func TestTwoHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("boots guests")
	}
	t.Parallel()
	hosts := newHosts(t)
	for _, h := range hosts {
		h.enable("vec0")
	}
	hosts[0].await("tipc node list | grep -q up$")
	one, two := newCluster(hosts)
	for _, name := range []string{"host1", "host2"} {
		if shown := one.must("scored node show " + name); !strings.Contains(shown, "tipc 18888 by eth:vec0") {
			t.Errorf("%s", shown)
		}
	}
	one.must("scored config set slice 20ms && scored config set node_silence 30s") // links, not nodes, are to be lost
	for _, h := range hosts {
		h.tolerance(300)
	}
	before := one.sent()
	for _, gang := range []string{"east", "west"} {
		one.started("until [ -e /run/unplugged ]; do sleep 0.2; done | SCORE_LINK_FAULTS=loss=0.01 "+
			"scrun -N 2 -n 2 -J "+gang+" exchange -stdin; echo ended $?", "/run/"+gang)
	}
	one.await("scored job list | tee /run/jobs; test $(grep -c running /run/jobs) = 2")
	for range 2 {
		two.cable.Pull()
		one.must("sleep 1; tipc node list | grep down$") // fifty slices
		two.cable.Plug()
		one.await("tipc node list | grep up$")
	}
	one.must("touch /run/unplugged")
	for _, gang := range []string{"east", "west"} {
		one.await("grep -q ended /run/" + gang)
		out := one.must("cat /run/" + gang)
		if !strings.Contains(out, "every message is right") || !strings.Contains(out, "ended 0") {
			t.Errorf("%s: %s\nagents:\n%s\n%s", gang, out, one.must("cat /run/agent.log"), two.must("cat /run/agent.log"))
		}
		t.Log(out)
	}
	if n := one.sent() - before; n < 100 {
		t.Errorf("%d packets left host 1: the bearer was not used", n)
	}
	one.await("[ $(tipc nametable show | grep -cw 18888) = 2 ] || { tipc nametable show; exit 1; }") // the agents' own
	linksDiffer(t, one, two)
}

// linksDiffer has one agent use another link: a job that would need both is refused with that
// reason.
func linksDiffer(t *testing.T, one, two *host) {
	t.Helper()
	two.must(`kill -INT $(pidof scored); sed -i 's/^link = .*/link = "udp"/' /etc/score/score.toml`)
	two.await("! pidof scored")
	two.started("scored agent", "/run/agent.log")
	one.await("scored node show host2 | grep -q 'link *udp'")
	out := one.must("scrun -N 2 -n 2 exchange 2>&1; test $? != 0")
	if !strings.Contains(out, `whose link is "tipc 18888", to node host2, whose link is "udp": set agent.link`) {
		t.Errorf("%s", out)
	}
	one.must("scrun -N 2 -n 2 hostname") // it has no channels
}

// TestNoTIPC: where the kernel has no TIPC, an agent that is to use it says what to do.
func TestNoTIPC(t *testing.T) {
	if err := tipc.Check(); !errors.Is(err, tipc.ErrKernel) {
		t.Skip("this machine's kernel has TIPC, or hides it:", err)
	}
	if testing.Short() {
		t.Skip("builds programs")
	}
	t.Parallel()
	bin := buildPrograms(t)
	command := exec.CommandContext(patient(t), filepath.Join(bin, "scored"), "dev", "--link", "tipc", "--socket", filepath.Join(bin, "socket"))
	out, err := command.CombinedOutput()
	const says = `agent.link: the kernel has no TIPC: load it as with "systemctl enable --now score-tipc@eth0" or "modprobe tipc", ` +
		`or set agent.link = "udp"`
	if err == nil || !strings.HasSuffix(strings.TrimSpace(string(out)), says) {
		t.Errorf("%v: %s", err, out)
	}
}
