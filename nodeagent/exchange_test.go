package nodeagent_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/nodeagent"
	"score/nodeagent/leadertest"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pair is two nodes with one job over both.
type pair struct {
	nodes    [2]*node
	sessions [2]*leadertest.Session
	byAgents bool // the agents make all exchanges
}

func startPair(t testing.TB, change func(*nodeagent.Options)) *pair {
	t.Helper()
	leader := startLeader(t)
	p := &pair{}
	for i := range p.nodes {
		p.nodes[i] = startNode(t, leader, change, func(o *nodeagent.Options) {
			o.Name = fmt.Sprintf("n%d", i+1)
			if i > 0 {
				o.Cluster = p.nodes[0].options.Cluster
			}
		})
		p.sessions[i] = leader.Next(t)
		clocked(t, p.sessions[i])
	}
	return p
}

// prepare orders job 1 with the same number of ranks on both nodes.
func (p *pair) prepare(t testing.TB, perNode int, argv ...string) {
	t.Helper()
	places := make([]*scorev1.NodePlace, len(p.nodes))
	for i := range p.nodes {
		places[i] = &scorev1.NodePlace{Node: p.nodes[i].options.Name, Address: p.sessions[i].Hello.GetAddress()}
		for k := range perNode {
			places[i].Ranks = append(places[i].Ranks, uint32(i*perNode+k))
			places[i].Cpus = append(places[i].Cpus, 0)
		}
	}
	for i, n := range p.nodes {
		order := n.order(1, argv...)
		order.Spec.Tasks = uint32(2 * perNode)
		order.FencesByMessage = !p.byAgents
		order.Places, order.NodeIndex, order.UniverseSize = places, uint32(i), uint32(2*perNode)
		p.sessions[i].Send(prepareMessage(order))
	}
	for _, s := range p.sessions {
		if m := prepared(t, s, 1); m.GetExitCode() != 0 {
			t.Fatalf("not prepared: %v", m)
		}
	}
}

func (p *pair) run(job uint64) {
	for _, s := range p.sessions {
		s.Send(planMessage(1, 1, time.Second, []uint64{job}))
	}
}

const hello = `
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
	int rank, size, sum;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("rank %d of %d: sum %d\n", rank, size, sum);
	MPI_Finalize();
	return 0;
}
`

// compileHello builds the program hello with Debian's MPICH.
func compileHello(t testing.TB) string {
	t.Helper()
	compiler, err := exec.LookPath("mpicc.mpich")
	if err != nil {
		t.Skip("no mpicc.mpich here; install mpich and libmpich-dev")
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.out")
	if err := os.WriteFile(file, []byte(hello), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// exchangeMode is a mode of agents, and who makes the exchanges.
type exchangeMode struct {
	name     string
	change   func(*nodeagent.Options)
	byAgents bool
}

func exchangeModes() (all []exchangeMode) {
	for _, mode := range modes {
		all = append(all, exchangeMode{mode.name, mode.change, false}, exchangeMode{mode.name + " by agents", mode.change, true})
	}
	return all
}

func TestMPICHOverTwoNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	program := compileHello(t)
	for _, mode := range exchangeModes() {
		t.Run(mode.name, func(t *testing.T) {
			p := startPair(t, mode.change)
			p.byAgents = mode.byAgents
			p.prepare(t, 2, program)
			var streams [2]*stdio
			for i, n := range p.nodes {
				streams[i] = attach(t, n, p.sessions[i], 1)
			}
			p.run(1)
			for i, stream := range streams {
				out := drain(t, stream)
				for k := range 2 {
					if want := fmt.Sprintf("rank %d of 4: sum 6\n", 2*i+k); !strings.Contains(out, want) {
						t.Errorf("node %d wrote %q, without %q", i, out, want)
					}
				}
			}
			for i, s := range p.sessions {
				_, exits := done(t, s, 1)
				for _, e := range exits {
					if e.GetExitCode() != 0 || e.GetSignal() != 0 || e.GetBeforeFinalize() {
						t.Errorf("node %d: %v", i, e)
					}
				}
			}
		})
	}
}

func TestUnreachablePeerEndsTheJob(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a bound of many seconds; run without -short")
	}
	program := compileHello(t)
	for _, byAgents := range []bool{false, true} {
		t.Run(fmt.Sprintf("by agents %v", byAgents), func(t *testing.T) { unreachablePeerEndsTheJob(t, program, byAgents) })
	}
}

func unreachablePeerEndsTheJob(t *testing.T, program string, byAgents bool) {
	p := startPair(t, func(*nodeagent.Options) {})
	p.byAgents = byAgents
	p.prepare(t, 1, program)
	p.nodes[0].stop() // the root of the tree
	p.sessions[1].Send(planMessage(1, 1, time.Second, []uint64{1}))
	abort := p.sessions[1].Until(t, "abort", func(m *agentpb.AgentMessage) bool { return m.GetAbort() != nil }).GetAbort()
	if abort.GetExitCode() != 125 || !strings.Contains(abort.GetMessage(), "node n1 cannot be reached") {
		t.Errorf("abort: %v", abort)
	}
	_, exits := done(t, p.sessions[1], 1)
	if len(exits) != 1 || !exits[0].GetByUs() {
		t.Errorf("exits: %v", exits)
	}
}

// speakPMI is a rank that says one PMI-1 request after the other, and waits for
// the answer to each.
func speakPMI(requests []string) int {
	fd, err := strconv.Atoi(os.Getenv("PMI_FD"))
	if err != nil {
		return 1
	}
	server := os.NewFile(uintptr(fd), "PMI")
	replies := bufio.NewReader(server)
	for _, request := range requests {
		if _, err := server.WriteString(request); err != nil {
			return 1
		}
		reply, err := replies.ReadString('\n')
		if err != nil {
			return 1
		}
		fmt.Print(reply)
	}
	return 0
}

func TestNamesAndSpawnGoToTheLeader(t *testing.T) {
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	mustPrepare(t, s, n.order(1, n.options.StewardExe, "pmi",
		"cmd=init pmi_version=1 pmi_subversion=1\n",
		"cmd=publish_name service=service port=port-1\n",
		"mcmd=spawn\nnprocs=2\nexecname=child\ntotspawns=1\nspawnssofar=1\nargcnt=0\npreput_num=0\ninfo_num=0\nendcmd\n",
		"cmd=abort exitcode=9\n"))
	s.Send(planMessage(1, 1, time.Second, []uint64{1}))
	isName := func(m *agentpb.AgentMessage) bool { return m.GetName() != nil }
	name := s.Until(t, "name", isName).GetName()
	if name.GetJobId() != 1 || name.GetOp() != agentpb.NameOp_NAME_OP_PUBLISH || name.GetService() != "service" {
		t.Errorf("name: %v", name)
	}
	s.Drop() // before the answer
	s = leader.Next(t)
	if again := s.Until(t, "name again", isName).GetName(); again.GetRequest() != name.GetRequest() {
		t.Errorf("name: %v", again)
	}
	s.Send(&agentpb.ServerMessage{Message: &agentpb.ServerMessage_Name{Name: &agentpb.NameReply{
		JobId: 1, Request: name.GetRequest(), Ok: true,
	}}})
	spawn := s.Until(t, "spawn", func(m *agentpb.AgentMessage) bool { return m.GetSpawn() != nil }).GetSpawn()
	if len(spawn.GetApps()) != 1 || spawn.GetApps()[0].GetProgram() != "child" || spawn.GetApps()[0].GetTasks() != 2 {
		t.Errorf("spawn: %v", spawn)
	}
	s.Drop()
	s = leader.Next(t)
	s.Until(t, "spawn again", func(m *agentpb.AgentMessage) bool { return m.GetSpawn() != nil })
	for _, m := range s.Passed() {
		if m.GetName() != nil {
			t.Error("an answered request was repeated")
		}
	}
	s.Send(&agentpb.ServerMessage{Message: &agentpb.ServerMessage_Spawn{Spawn: &agentpb.SpawnReply{
		JobId: 1, Request: spawn.GetRequest(), Error: "no room",
	}}})
	abort := s.Until(t, "abort", func(m *agentpb.AgentMessage) bool { return m.GetAbort() != nil }).GetAbort()
	if abort.GetRank() != 0 || abort.GetExitCode() != 9 {
		t.Errorf("abort: %v", abort)
	}
	done(t, s, 1)
}
