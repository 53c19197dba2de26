package nodeagent_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"score/nodeagent"
	"score/nodeagent/cgroup"
	"score/nodeagent/leadertest"
	"score/nodeagent/mpidirs"
	"score/nodeagent/realtime"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/scorev1"
	"score/scored/api/transport/h2"
	"score/tests/processes"
	"score/tests/socketdir"
	"strconv"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"golang.org/x/sys/unix"
)

const (
	timeout = leadertest.Timeout
	testKey = "the key of the tests"
)

// node is an agent under test.
type node struct {
	t       testing.TB
	leader  *leadertest.Leader
	options nodeagent.Options
	cancel  context.CancelFunc
	result  chan error
	ended   bool
}

// clusterNow is the cluster's clock of the tests: the leader is on the same
// machine, so that a perfect estimate of the offset would be zero.
func clusterNow() int64 { return realtime.Now() }

func startLeader(t testing.TB) *leadertest.Leader {
	return leadertest.Start(t, leadertest.Options{Now: clusterNow, Keep: keepAll, Key: testKey})
}

func keepAll(hello *agentpb.Hello) []uint64 { return hello.GetJobs() }

// signalsOnly is the configuration cgroups = "off".
func signalsOnly(o *nodeagent.Options) { o.NoCgroups = true }

// startNode starts an agent that is stopped, with checks, when the test ends.
func startNode(t testing.TB, leader *leadertest.Leader, change ...func(*nodeagent.Options)) *node {
	t.Helper()
	n := newNode(t, leader, change...)
	n.run()
	t.Cleanup(n.stop)
	return n
}

func newNode(t testing.TB, leader *leadertest.Leader, change ...func(*nodeagent.Options)) *node {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := socketdir.Make(t)
	logger := zap.NewNop()
	if testing.Verbose() {
		logger = zaptest.NewLogger(t, zaptest.Level(zap.DebugLevel))
	}
	n := &node{t: t, leader: leader, result: make(chan error, 1)}
	n.options = nodeagent.Options{
		Name:           "n1",
		Cluster:        leader.Cluster(),
		Version:        "test",
		RunDir:         filepath.Join(dir, "n1"),
		Servers:        []string{leader.URL()},
		ClusterKey:     testKey,
		Listen:         "127.0.0.1:0",
		StewardExe:     exe,
		EnableRealtime: true,
		Logger:         logger,
	}
	for _, c := range change {
		c(&n.options)
	}
	if !n.options.NoCgroups {
		if report := cgroup.Probe(); !report.Usable {
			t.Skip("no control groups: " + report.Reason)
		}
	}
	return n
}

// arguments are what runAgent needs to be this node's agent.
func (n *node) arguments() []string {
	o := n.options
	return []string{o.Cluster, o.RunDir, o.Servers[0], o.Grace.String(), strconv.FormatBool(o.NoCgroups), o.JobsDir}
}

func runAgent(args []string) int {
	grace, err := time.ParseDuration(args[3])
	if err != nil {
		return 2
	}
	exe, err := os.Executable()
	if err != nil {
		return 2
	}
	agent, err := nodeagent.New(nodeagent.Options{
		Name: "n1", Cluster: args[0], Version: "test", RunDir: args[1], Servers: []string{args[2]},
		ClusterKey: testKey, Listen: "127.0.0.1:0", StewardExe: exe, Grace: grace, NoCgroups: args[4] == "true", JobsDir: args[5],
	})
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	if err == nil {
		err = agent.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (n *node) run() {
	agent, err := nodeagent.New(n.options)
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel, n.ended = cancel, false
	go func() { n.result <- agent.Run(ctx) }()
}

// wait returns what Run returned.
func (n *node) wait() error {
	n.t.Helper()
	select {
	case err := <-n.result:
		n.ended = true
		return err
	case <-time.After(timeout):
		n.t.Fatal("the agent does not stop")
		return nil
	}
}

// stop stops the agent and checks that nothing is left.
func (n *node) stop() {
	if n.ended {
		return
	}
	n.cancel()
	if err := n.wait(); err != nil {
		n.t.Errorf("Run = %v", err)
	}
	n.nothingLeft()
}

func (n *node) nothingLeft() {
	n.t.Helper()
	for _, dir := range n.groups() {
		n.t.Errorf("control group %s is left", dir)
	}
	files, err := filepath.Glob(filepath.Join(n.options.RunDir, "*"))
	if err != nil || len(files) > 0 {
		n.t.Errorf("files are left: %v, %v", files, err)
	}
	for _, place := range []string{n.options.RunDir + ".jobs", n.options.JobsDir} {
		if _, err := os.Stat(place); err == nil {
			n.t.Errorf("the jobs' directories are left in %s", place)
		}
	}
	if left := n.jobFiles(); len(left) > 0 {
		n.t.Errorf("files of jobs are left: %v", left)
	}
	if left := processesOf(n.options.RunDir); len(left) > 0 {
		n.t.Errorf("processes are left: %v", left)
	}
}

// jobFiles lists the directories of its jobs' ranks in the places that are everybody's.
func (n *node) jobFiles() []string {
	return mpidirs.Find(mpidirs.Prefix(n.options.Cluster, n.options.Name, n.options.RunDir))
}

// groups lists the control groups of the node.
func (n *node) groups() []string {
	var found []string
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"} {
		dirs, _ := filepath.Glob(filepath.Join(mount, "score."+n.options.Cluster+"."+n.options.Name))
		found = append(found, dirs...)
	}
	return found
}

// processesOf finds processes by a variable in their environment, which the
// test puts there: ranks and what they have started.
func processesOf(mark string) (found []int) {
	for p := range processes.All() {
		if bytes.Contains(p.Environ, []byte("AGENT_TEST="+mark+"\x00")) {
			found = append(found, p.PID)
		}
	}
	return found
}

// order makes an order to prepare one rank per CPU on this node alone.
func (n *node) order(job uint64, argv ...string) *agentpb.Prepare {
	n.t.Helper()
	me, err := user.Current()
	if err != nil {
		n.t.Fatal(err)
	}
	return &agentpb.Prepare{
		JobId: job,
		Spec: &scorev1.JobSpec{
			Argv:        argv,
			Env:         []string{"PATH=/usr/bin:/bin", "AGENT_TEST=" + n.options.RunDir},
			WorkDir:     "/",
			Tasks:       1,
			CpusPerTask: 1,
			Stdin:       scorev1.StdinMode_STDIN_MODE_RANK0,
			Mpi:         scorev1.MpiMode_MPI_MODE_PMI,
		},
		User:         &scorev1.Identity{Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid()), User: me.Username},
		Places:       []*scorev1.NodePlace{{Node: n.options.Name, Ranks: []uint32{0}, Cpus: []uint32{0}}},
		UniverseSize: 1,
	}
}

func prepareMessage(order *agentpb.Prepare) *agentpb.ServerMessage {
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Prepare{Prepare: order}}
}

// planMessage makes a plan whose rows are the jobs given, effective at once.
func planMessage(term, version uint64, slice time.Duration, rows ...[]uint64) *agentpb.ServerMessage {
	plan := &agentpb.Plan{Term: term, Version: version, OriginNanos: clusterNow()}
	for i, jobs := range rows {
		plan.Rows = append(plan.Rows, &agentpb.Plan_Row{Index: uint32(i), SliceNanos: slice.Nanoseconds(), Jobs: jobs})
	}
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Plan{Plan: plan}}
}

func killMessage(job uint64) *agentpb.ServerMessage {
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Kill{Kill: &agentpb.Kill{JobId: job, Reason: "test"}}}
}

func forgetMessage(job uint64) *agentpb.ServerMessage {
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Forget{Forget: &agentpb.Forget{JobId: job}}}
}

func signalMessage(job uint64, signal int32) *agentpb.ServerMessage {
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Signal{Signal: &agentpb.SignalRanks{JobId: job, Signal: signal}}}
}

// prepared waits until the job is ready.
func prepared(t testing.TB, s *leadertest.Session, job uint64) *agentpb.Prepared {
	t.Helper()
	return s.Until(t, fmt.Sprintf("job %d prepared", job), func(m *agentpb.AgentMessage) bool {
		return m.GetPrepared().GetJobId() == job
	}).GetPrepared()
}

// mustPrepare orders a job and waits until it is ready.
func mustPrepare(t testing.TB, s *leadertest.Session, order *agentpb.Prepare) {
	t.Helper()
	s.Send(prepareMessage(order))
	if p := prepared(t, s, order.GetJobId()); p.GetExitCode() != 0 || p.GetError() != "" {
		t.Fatalf("not prepared: %v", p)
	}
}

func launched(t testing.TB, s *leadertest.Session, job uint64) *agentpb.Launched {
	t.Helper()
	return s.Until(t, fmt.Sprintf("job %d launched", job), func(m *agentpb.AgentMessage) bool {
		return m.GetLaunched().GetJobId() == job
	}).GetLaunched()
}

// mustRun has job 1 run alone.
func mustRun(t testing.TB, s *leadertest.Session, order *agentpb.Prepare) *agentpb.Launched {
	t.Helper()
	mustPrepare(t, s, order)
	s.Send(planMessage(1, 1, time.Second, []uint64{1}))
	return launched(t, s, 1)
}

// done waits for the end of the job here, and returns what was said of its
// ranks before.
func done(t testing.TB, s *leadertest.Session, job uint64) (*agentpb.NodeDone, []*agentpb.RankExited) {
	t.Helper()
	end := s.Until(t, fmt.Sprintf("job %d done", job), func(m *agentpb.AgentMessage) bool {
		return m.GetNodeDone().GetJobId() == job
	})
	var exits []*agentpb.RankExited
	for _, m := range s.Passed() {
		for _, e := range append(m.GetRanksExited().GetExits(), m.GetRankExited()) {
			if e.GetJobId() == job {
				exits = append(exits, e)
			}
		}
	}
	return end.GetNodeDone(), exits
}

// clocked waits until the agent knows the leader's clock.
func clocked(t testing.TB, s *leadertest.Session) {
	t.Helper()
	for s.Ping(t).GetRoundTripNanos() == 0 {
	}
}

// peer calls the agent's PeerService as servers do.
func (n *node) peer(s *leadertest.Session) agentpbconnect.PeerServiceClient {
	return n.leader.Calls(n.t, testKey, s.Hello.GetAddress())
}

// asAgent calls it as the agent of a node does.
func (n *node) asAgent(s *leadertest.Session, name string) agentpbconnect.PeerServiceClient {
	n.t.Helper()
	client := h2.NewClient(pkitest.FromKey(n.t, testKey, n.options.Cluster, pki.Agent, name), pki.Agent)
	n.t.Cleanup(client.CloseIdleConnections)
	return agentpbconnect.NewPeerServiceClient(client, "https://"+s.Hello.GetAddress())
}

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
