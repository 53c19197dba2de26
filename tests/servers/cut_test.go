//go:build soak

package servers

import (
	"os/exec"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"slices"
	"strings"
	"testing"
	"time"
)

// withNetwork starts a cluster whose daemons have hosts of their own.
func withNetwork(t *testing.T, nodes ...string) *scene {
	t.Helper()
	for _, program := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("hosts need the program %s; run .ci/setup test", program)
		}
	}
	daemonstest.NeedRoot(t)
	network, err := daemons.NewNetwork(slices.Concat(servers, nodes)...)
	if err != nil {
		t.Fatal(err)
	}
	// What has begun on the hosts is ended first.
	t.Cleanup(func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	})
	return newScene(t, daemons.Options{Nodes: len(nodes), Network: network})
}

var servers = []string{"s1", "s2", "s3"}

// cut is what of a network is lost.
type cut struct {
	name string
	make func(n *daemons.Network, victim string) error
	// leads means that it is done to the server that leads, else to a follower.
	leads bool
	// deaf means that the victim reaches no majority, and so can decide nothing.
	deaf bool
}

var cuts = []cut{
	{"the leader from everybody", func(n *daemons.Network, victim string) error { return n.CutOff(victim, n.Others(victim)...) }, true, true},
	{"the leader from the other servers, while the agents hear it", func(n *daemons.Network, victim string) error {
		return n.CutOff(victim, otherServers(victim)...)
	}, true, true},
	{"what the leader sends", func(n *daemons.Network, victim string) error { return n.Cut([]string{victim}, n.Others(victim)) }, true, true},
	{"what the leader is sent", func(n *daemons.Network, victim string) error { return n.Cut(n.Others(victim), []string{victim}) }, true, true},
	{"a follower from everybody", func(n *daemons.Network, victim string) error { return n.CutOff(victim, n.Others(victim)...) }, false, true},
	{"what a follower sends", func(n *daemons.Network, victim string) error { return n.Cut([]string{victim}, n.Others(victim)) }, false, false},
}

func otherServers(than string) []string {
	return slices.DeleteFunc(slices.Clone(servers), func(name string) bool { return name == than })
}

// Whatever is cut between servers and agents: the others go on, who is cut off decides nothing,
// what was acknowledged runs once, a gang goes on with its scrun, and all is well when the cable is
// back.
func TestCutServers(t *testing.T) {
	t.Parallel()
	s := withNetwork(t, "n1", "n2")
	gang, err := s.Exchange("gang", "n1,n2", 2)
	s.Check(err)
	s.goesOn(gang)
	load := s.Load(s.Ctx, len(servers), "n1")
	s.Check(load.AwaitAccepted(s.Ctx, 3))
	for _, c := range cuts {
		s.cut(c, gang, load)
	}
	id, err := gang.ID(s.Ctx)
	s.Check(err)
	summary, err := load.Stop(s.Ctx, id)
	t.Log(summary)
	s.Check(err)
	s.End(gang)
}

// cut lets one happen, and mends it.
func (s *scene) cut(c cut, gang *daemons.Job, load *daemons.Load) {
	s.T.Helper()
	victim := s.victim(c.leads)
	others := s.OtherServers(victim)
	load.Blocked()
	began := time.Now()
	s.Check(c.make(s.Network, victim.Name))
	if c.leads {
		s.leader(victim.Name, others...)
	} else {
		s.leader("", others...)
	}
	elected := time.Since(began)
	refused := func() {}
	if c.deaf {
		refused = s.refuses(victim)
	}
	s.Check(load.AwaitAccepted(s.Ctx, 2))
	s.runs(others[0], "hello")
	ran := time.Since(began)
	s.goesOn(gang)
	blocked := load.Blocked(others...)
	refused()
	s.Check(s.Network.Mend())
	mended := time.Now()
	s.leader("")
	s.runs(victim, "again")
	s.goesOn(gang)
	s.T.Logf("%s: seen that another leads after %v, a gang has run after %v, submissions were blocked for %v; all is well %v after it was mended", c.name,
		elected.Round(time.Millisecond), ran.Round(time.Millisecond), blocked.Round(time.Millisecond), time.Since(mended).Round(time.Millisecond))
}

// victim is a server to which something may be done: the gang's scrun is not on its host.
func (s *scene) victim(leads bool) *daemons.Daemon {
	s.T.Helper()
	for {
		leader := s.leader("")
		follower := s.OtherServers(leader)[0]
		switch {
		case leads && leader != s.Server:
			return leader
		case !leads && follower != s.Server:
			return follower
		case !leads:
			return s.OtherServers(leader)[1]
		}
		s.Check(s.StepDown(s.Ctx))
	}
}

// A node is cut off, or its messages are lost: it counts as lost, its gangs end with that reason or
// begin again when the ranks that nobody can reach are dead, and never before; a gang on other
// nodes goes on. Then it is of use again.
func TestCutAgent(t *testing.T) {
	for _, c := range []cut{
		{name: "from everybody", make: func(n *daemons.Network, victim string) error { return n.CutOff(victim, n.Others(victim)...) }},
		{name: "what it sends", make: func(n *daemons.Network, victim string) error { return n.Cut([]string{victim}, n.Others(victim)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			withNetwork(t, nodes...).cutAgent(c)
		})
	}
}

var nodes = []string{"n1", "n2", "n3"}

// foundWithin is within what time a node must be found lost: 3 s, and what a busy machine adds. The
// rule itself is tried in virtual time, in scored/leader and nodeagent/failuredetector.
const foundWithin = 30 * time.Second

func (s *scene) cutAgent(c cut) {
	s.T.Helper()
	follower := s.OtherServers(s.leader(""))[0]
	again := s.scrun(follower, "--requeue", "-s", "-n", "1", "-N", "1", "-J", "again", "sh", "-c", beat)
	s.Await("the rank lives", func() bool { return s.exists("alive") })
	victim := s.Find(s.Ctx, "again").GetPlaces()[0].GetNode()
	left := slices.DeleteFunc(slices.Clone(nodes), func(name string) bool { return name == victim })
	elsewhere, err := s.Exchange("elsewhere", strings.Join(left, ","), len(left))
	s.Check(err)
	s.goesOn(elsewhere)
	dies := s.scrun(follower, "-s", "-n", "2", "-N", "2", "-w", left[0]+","+victim, "-J", "dies", "sh", "-c", "echo lives; exec sleep 1000")
	s.Await("both ranks live", func() bool { return strings.Count(dies.Said(), "lives") == 2 })

	began := time.Now()
	s.Check(c.make(s.Network, victim))
	s.Await("the loss is found", func() bool { return s.Find(s.Ctx, "dies").GetVerdict() != nil })
	lost := time.Since(began)
	if lost > foundWithin {
		s.T.Errorf("the node was lost after %v", lost)
	}
	dies.Ends(125, "node "+victim+" was lost")
	s.goesOn(elsewhere)
	again.Ends(0, "job 1 restarts (restart 1): node "+victim, "begins 1")
	s.neverTwice()
	restart := time.Since(began)
	s.goesOn(elsewhere)

	s.Check(s.Network.Mend())
	s.Check(s.AwaitUp(s.Ctx))
	s.scrun(follower, "-n", "1", "-N", "1", "-w", victim, "echo", "back").Ends(0, "back")
	s.goesOn(elsewhere)
	s.End(elsewhere)
	s.T.Logf("%s: lost after %v, its job had started again and ended after %v", c.name, lost.Round(time.Millisecond), restart.Round(time.Millisecond))
}

// beat is a rank that leaves a line for each instant at which it was alive, and runs until it is
// started again.
const beat = `
echo "begins $SCORE_RESTART_COUNT"
if [ "$SCORE_RESTART_COUNT" -gt 0 ]; then date +%s%N >begun; exit 0; fi
while :; do date +%s%N >>alive; sleep 0.02; done
`

// neverTwice reports that the first attempt was dead before the second lived.
func (s *scene) neverTwice() {
	s.T.Helper()
	alive, begun := s.lines("alive"), s.lines("begun")
	if len(alive) == 0 || len(begun) != 1 {
		s.T.Fatalf("the first attempt wrote %d lines, the second %q", len(alive), begun)
	}
	// Numbers of as many digits; the last line may be cut off.
	if last := alive[max(0, len(alive)-2)]; last >= begun[0] {
		s.T.Errorf("the first attempt lived at %s, and the second began at %s", last, begun[0])
	}
}
