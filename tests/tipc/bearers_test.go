package tipc

import (
	"strings"
	"testing"
)

// TestBearersDisagree: the second host's TIPC has no bearer, then a bearer that leads elsewhere.
// Each time users and administrators read what to do, and jobs without channels run. Another
// network id is part of what the leader compares (see linksDiffer).
func TestBearersDisagree(t *testing.T) {
	if testing.Short() {
		t.Skip("boots guests")
	}
	t.Parallel()
	hosts := newHosts(t)
	hosts[0].enable("vec0")
	one, two := newCluster(hosts)

	const noBearer = `TIPC has no bearer, so that channels reach no other host: enable one as with "systemctl enable --now score-tipc@eth0" or "tipc bearer enable media eth device eth0"`
	one.await("scored node show host2 | grep -q 'note *TIPC has no bearer'")
	if out := one.must("scrun -N 2 -n 2 exchange 2>&1; test $? != 0"); !strings.Contains(out, "node host2: "+noBearer) {
		t.Errorf("%s", out)
	}
	one.must("scrun -N 2 -n 2 hostname") // it has no channels

	two.must("ip link set vec1 up")
	two.enable("vec1")
	one.await("! scored node show host2 | grep -q 'no bearer, so'")
	// Each job ends when its ranks have missed each other for some seconds, and its note with it.
	one.started("until [ -e /run/seen ]; do scrun -N 2 -n 2 exchange -for 60s; done", "/run/east")
	one.await("scored node show host1 | grep 'note *job [0-9]*: TIPC shows no names of node host2'")
	one.await("grep 'node host1: TIPC shows no names of node host2, so that channels do not reach it: give both bearers' /run/east")
	one.must("touch /run/seen")
	one.await("! scored node show host1 | grep 'shows no names'")

	// Only a kernel that has not joined a network takes another id, as that of a namespace.
	const inside = "ip netns exec inside "
	two.must("mkdir -p /run/netns && ip netns add inside")
	two.must(inside + "sh -c 'ip link set lo up; tipc node set netid 4712'")
	two.started(inside+"scored dev --link tipc --socket /run/dev", "/run/dev.log")
	const show = "scored --cluster /run/dev node show $(scored --cluster /run/dev node list | awk 'NR == 2 {print $1}')"
	two.await(show + " | grep 'link *tipc 18888 in network 4712,'")
}
