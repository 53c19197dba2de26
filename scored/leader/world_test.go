package leader

import (
	"fmt"
	"score/scored/api/jobmap"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
)

// world is the environment of a controller: the log, the agents and the clients. It records what
// the controller does.
type world struct {
	t     fataler
	b     *controller
	log   *state.State
	links map[string]*fakeLink
	seen  strings.Builder
	quiet bool // commits are not recorded

	committed uint64  // of the controller's commands
	busy      bool    // an entry is being written: nothing is committed meanwhile
	most      int     // commands of an entry; 0: as many as the leader takes
	failing   failing // the result of the next commit
	largest   int     // entry since the last submission by a user, in bytes
}

// failing is the result of a commit.
type failing uint8

const (
	committing     failing = iota
	entryLost              // the disk did not take it
	outcomeUnknown         // the leader gets an error, but the entry is committed
)

// fataler is a test of package testing or of rapid.
type fataler interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

var _ fataler = (*testing.T)(nil)

func newWorld(t fataler) *world { return newWorldIn(t, protocol.Own().Newest) }

// newWorldIn returns a world with a log in the protocol.
func newWorldIn(t fataler, version uint32) *world {
	w := &world{t: t, log: state.New(), links: make(map[string]*fakeLink)}
	if version > protocol.First {
		raise := &statepb.Command{Command: &statepb.Command_Raise{Raise: &statepb.Raise{Protocol: version}}}
		if err := w.log.Apply(&statepb.Entry{Commands: []*statepb.Command{raise}}); err != nil {
			t.Fatalf("%v", err)
		}
	}
	w.b = newController("lab", "v1", 1, w.log, time.Second.Nanoseconds())
	return w
}

// restart makes another leader take over from the committed state.
func (w *world) restart() {
	w.begin(w.b.term + 1)
	w.settle()
}

func (w *world) begin(term uint64) {
	w.links = make(map[string]*fakeLink)
	before := w.b
	w.b, w.committed = newController("lab", "v1", term, w.log, before.now+1), 0
	w.b.continueFrom(before.numbers())
}

// loseController drops the controller after a failed commit, as the loop does, and makes another in
// the same term.
func (w *world) loseController() {
	w.note("commit failed")
	before, links := w.b, w.links
	w.begin(before.term)
	for _, e := range before.effects {
		if e.call != nil {
			e.call(ErrLost)
		}
	}
	for _, link := range links {
		link.closed, link.cut = true, before.now
	}
}

// settle advances the controller, and commits and carries out its decisions, until nothing is left
// to do.
func (w *world) settle() {
	w.t.Helper()
	for {
		w.b.advance()
		ready := w.b.due(w.committed)
		for i := range ready {
			w.perform(&ready[i])
		}
		if w.busy {
			if len(ready) == 0 {
				return
			}
			continue
		}
		most := maxEntry
		if w.most > 0 {
			most = w.most
		}
		commands, taken := w.b.takeCommands(most)
		switch {
		case len(commands) > 0:
			w.propose(commands, taken)
		case len(ready) == 0:
			w.check()
			return
		}
	}
}

// propose commits the commands, or fails.
func (w *world) propose(commands []*statepb.Command, taken uint64) {
	w.t.Helper()
	now := w.failing
	w.failing = committing
	if now != entryLost {
		w.commit(commands)
		w.committed = taken
	}
	if now != committing {
		w.loseController()
	}
}

// commit applies an entry to the state: the controller may decide only what fits.
func (w *world) commit(commands []*statepb.Command) {
	w.t.Helper()
	entry := &statepb.Entry{Term: w.b.term, TimeNanos: w.b.now, Commands: commands}
	data, err := proto.Marshal(entry)
	if err != nil {
		w.t.Fatalf("an entry cannot be encoded: %v", err)
	}
	if len(commands) > 0 && commands[0].GetSubmit() != nil && commands[0].GetSubmit().GetParentJob() == 0 {
		w.largest = 0
	} else {
		w.largest = max(w.largest, len(data))
	}
	for _, command := range commands {
		w.checkCommand(command)
	}
	decoded := new(statepb.Entry)
	if err := proto.Unmarshal(data, decoded); err != nil {
		w.t.Fatalf("an entry cannot be decoded: %v", err)
	}
	if err := w.log.Apply(decoded); err != nil {
		w.t.Fatalf("the controller decided what does not fit the state: %v\n%v\n%s", err, commands, w.seen.String())
	}
	texts := make([]string, len(commands))
	for i, command := range commands {
		texts[i] = commandText(command)
	}
	w.note("log: %s", strings.Join(texts, ", "))
}

// checkCommand fails on a command that must not be in this log, and on a job that ends otherwise
// than ordered.
func (w *world) checkCommand(command *statepb.Command) {
	w.t.Helper()
	if needs := state.Needs(command); needs > w.log.Protocol() && command.GetRaise() == nil {
		w.t.Fatalf("%s needs protocol %d, and the log is written in %d\n%s", commandText(command), needs, w.log.Protocol(), w.seen.String())
	}
	switch c := command.GetCommand().(type) {
	case *statepb.Command_End:
		record := w.log.Job(c.End.GetJobId())
		if record != nil && (record.Ending != nil || record.Ordered != "") && c.End.GetVerdict().GetReason() == exited {
			w.t.Fatalf("job %d ended as if by itself; ordered was %v %q\n%s", record.ID, record.Ending, record.Ordered, w.seen.String())
		}
	case *statepb.Command_Requeue:
		if record := w.log.Job(c.Requeue.GetJobId()); record != nil && record.Ending != nil {
			w.t.Fatalf("job %d restarts, and was to end\n%s", record.ID, w.seen.String())
		}
	}
}

func (w *world) perform(e *effect) {
	switch {
	case e.message != nil:
		e.link.Send(e.message)
	case e.close:
		e.link.Close(e.reason)
	case e.watcher != nil:
		e.watcher.deliver(e.event)
		w.note("client of %d: %s", e.watcher.job, eventText(e.event))
	case e.call != nil:
		e.call(nil)
	}
}

func (w *world) note(format string, args ...any) {
	if !w.quiet {
		fmt.Fprintf(&w.seen, format+"\n", args...)
	}
}

// check compares the controller with the committed state; they agree between batches.
func (w *world) check() {
	w.t.Helper()
	for _, record := range w.log.Jobs() {
		j := w.b.jobs[record.ID]
		want := map[state.Phase][]scorev1.JobState{
			state.Queued:    {queued},
			state.Allocated: {starting, running, ending},
			state.Running:   {running, ending},
			state.Done:      {done},
		}[record.Phase]
		if j == nil {
			if record.Phase != state.Done {
				w.t.Fatalf("the controller has lost job %d", record.ID)
			}
			continue
		}
		if !slices.Contains(want, j.state) {
			w.t.Fatalf("job %d is %v in the log and %v in the controller\n%s", record.ID, record.Phase, j.state, w.seen.String())
		}
		w.checkJob(j, record)
	}
	for id := range w.b.jobs {
		if w.log.Job(id) == nil {
			w.t.Fatalf("the log has lost job %d", id)
		}
	}
	if len(w.b.names) != len(w.log.Names()) {
		w.t.Fatalf("%d names in the controller, %d in the log", len(w.b.names), len(w.log.Names()))
	}
	if _, term := w.b.rotation, w.b.rotation.Term; term != w.b.term {
		w.t.Fatalf("plan of term %d in term %d", term, w.b.term)
	}
}

func (w *world) checkJob(j *job, record *state.Job) {
	w.t.Helper()
	if j.state == done && j.verdict == nil {
		w.t.Fatalf("job %d is done without a verdict", j.id)
	}
	if j.active() && int32(j.row) != record.Row {
		w.t.Fatalf("job %d is in row %d of the log and %d of the controller", j.id, record.Row, j.row)
	}
	if (j.state == starting || j.state == ending) && j.deadline == 0 {
		w.t.Fatalf("job %d is %v without a deadline", j.id, j.state)
	}
	for _, row := range w.b.rotation.Rows {
		for _, id := range row.Jobs {
			if uint64(id) == j.id && j.state != running {
				w.t.Fatalf("job %d is in the plan and %v", j.id, j.state)
			}
		}
	}
}

// fakeLink is an agent's end of a stream.
type fakeLink struct {
	world  *world
	node   string
	closed bool
	cut    int64 // when it was closed
	sent   []*scorev1.ServerMessage
}

func (l *fakeLink) Send(m *scorev1.ServerMessage) {
	if l.closed {
		return
	}
	l.sent = append(l.sent, m)
	l.world.note("%s: %s", l.node, messageText(m))
}

func (l *fakeLink) Close(reason string) {
	l.closed, l.cut = true, l.world.b.now
	l.world.note("%s: closed %s", l.node, reason)
}

func hello(node string, cpus uint32, jobs ...uint64) *scorev1.Hello {
	return &scorev1.Hello{
		Cluster: "lab", Node: node, Address: node + ":1", Version: "v1", Cpus: cpus, MemoryBytes: 1 << 30,
		BootId: "boot1", Jobs: jobs,
	}
}

// connect connects an agent.
func (w *world) connect(h *scorev1.Hello) (refusal string) {
	w.t.Helper()
	link := &fakeLink{world: w, node: h.GetNode()}
	refusal = w.b.onHello(h, link)
	if refusal == "" {
		w.links[h.GetNode()] = link
	}
	w.settle()
	return refusal
}

// receive delivers an agent's message.
func (w *world) receive(node string, m *scorev1.AgentMessage) {
	w.t.Helper()
	w.b.onMessage(node, w.links[node], m)
	w.settle()
}

// advance advances the time, deadline by deadline, with heartbeats from the agents.
func (w *world) advance(d time.Duration) {
	w.t.Helper()
	till := w.b.now + d.Nanoseconds()
	for {
		next := w.b.timers.deadline()
		if next == 0 || next > till {
			break
		}
		w.b.now = max(next, w.b.now)
		w.settle()
	}
	w.b.now = till
	for _, n := range w.b.nodes {
		n.lastMessage = till
	}
	w.settle()
}

func (w *world) submit(spec *scorev1.JobSpec) (uint64, error) {
	w.t.Helper()
	var id uint64
	var err error
	answered := false
	w.b.submit(spec, &scorev1.Identity{Uid: 7, User: "ada"}, owner, func(i uint64, e error) { id, err, answered = i, e, true })
	w.settle()
	if !answered && !w.busy {
		w.t.Fatalf("Submit was not answered")
	}
	return id, err
}

func jobSpec(tasks uint32) *scorev1.JobSpec {
	return &scorev1.JobSpec{Argv: []string{"a.out"}, Env: []string{"HOME=/"}, WorkDir: "/", Tasks: tasks, Detached: true, StdoutPattern: "o"}
}

func (w *world) attach(id uint64, options AttachOptions) *Attachment {
	w.t.Helper()
	a := newAttachment(nil, id, options)
	if err := w.b.attach(w.b.jobs[id], a); err != nil {
		w.t.Fatalf("attach: %v", err)
	}
	w.settle()
	return a
}

// stop ends a job as a user's order does.
func (w *world) stop(id uint64) {
	w.t.Helper()
	if w.b.jobs[id] == nil {
		w.note("there is no job %d", id)
		return
	}
	w.b.stop(w.b.jobs[id], verdict(cancelled, exitEnded, "the job was cancelled by ada"))
	w.settle()
}

// Messages of agents.

func prepared(id uint64) *scorev1.AgentMessage {
	return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Prepared{Prepared: &scorev1.Prepared{JobId: id}}}
}

func unprepared(id uint64, code int32, text string) *scorev1.AgentMessage {
	return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Prepared{Prepared: &scorev1.Prepared{JobId: id, ExitCode: code, Error: text}}}
}

func launched(id uint64, at int64) *scorev1.AgentMessage {
	return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Launched{Launched: &scorev1.Launched{JobId: id, AtNanos: at}}}
}

func exits(exit *scorev1.RankExited) *scorev1.AgentMessage {
	return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_RankExited{RankExited: exit}}
}

func nodeDone(id uint64) *scorev1.AgentMessage {
	return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_NodeDone{NodeDone: &scorev1.NodeDone{
		JobId: id, Usage: &scorev1.Usage{CpuNanos: 3, RunNanos: 5, Slices: 1, MaxRssBytes: 9},
	}}}
}

// Texts of the controller's actions, for scripts.

func commandText(command *statepb.Command) string {
	switch c := command.GetCommand().(type) {
	case *statepb.Command_RegisterNode:
		return "RegisterNode " + c.RegisterNode.GetNode().GetName()
	case *statepb.Command_NodeGone:
		return "NodeGone " + c.NodeGone.GetNode()
	case *statepb.Command_DrainNode:
		if d := c.DrainNode.GetDrain(); d != nil {
			return fmt.Sprintf("DrainNode %s by %s requeue %v %q", c.DrainNode.GetNode(), d.GetBy(), d.GetRequeue(), d.GetReason())
		}
		return "DrainNode " + c.DrainNode.GetNode() + " no more"
	case *statepb.Command_Submit:
		return fmt.Sprint("Submit ", c.Submit.GetJobId())
	case *statepb.Command_Allocate:
		text := fmt.Sprintf("Allocate %d row %d", c.Allocate.GetJobId(), c.Allocate.GetRow())
		for _, p := range c.Allocate.GetPlaces() {
			text += fmt.Sprintf(" %s%v", p.GetNode(), p.GetRanks())
		}
		return text
	case *statepb.Command_MoveRow:
		return fmt.Sprintf("MoveRow %d to %d", c.MoveRow.GetJobId(), c.MoveRow.GetRow())
	case *statepb.Command_Requeue:
		if c.Requeue.GetRestart() {
			return fmt.Sprint("Restart ", c.Requeue.GetJobId())
		}
		return fmt.Sprint("Requeue ", c.Requeue.GetJobId())
	case *statepb.Command_OrderEnd:
		return fmt.Sprintf(
			"OrderEnd %d %s %q",
			c.OrderEnd.GetJobId(),
			strings.TrimPrefix(c.OrderEnd.GetVerdict().GetReason().String(), "END_REASON_"),
			c.OrderEnd.GetVerdict().GetMessage(),
		)
	case *statepb.Command_Raise:
		return fmt.Sprint("Raise ", c.Raise.GetProtocol())
	case *statepb.Command_OrderRequeue:
		return fmt.Sprintf("OrderRequeue %d %q", c.OrderRequeue.GetJobId(), c.OrderRequeue.GetBecause())
	case *statepb.Command_MarkRunning:
		return fmt.Sprint("MarkRunning ", c.MarkRunning.GetJobId())
	case *statepb.Command_End:
		return fmt.Sprintf("End %d %s", c.End.GetJobId(), verdictText(c.End.GetVerdict()))
	case *statepb.Command_SetSettings:
		return fmt.Sprintf("SetSettings slice %v rows %d", time.Duration(c.SetSettings.GetSettings().GetSliceNanos()), c.SetSettings.GetSettings().GetMaxRows())
	case *statepb.Command_PublishName:
		return fmt.Sprintf("PublishName %d %s", c.PublishName.GetJobId(), c.PublishName.GetService())
	case *statepb.Command_UnpublishName:
		return fmt.Sprintf("UnpublishName %d %s", c.UnpublishName.GetJobId(), c.UnpublishName.GetService())
	}
	return fmt.Sprintf("%T", command.GetCommand())
}

func verdictText(v *scorev1.Verdict) string {
	text := fmt.Sprintf("%s %d", strings.TrimPrefix(v.GetReason().String(), "END_REASON_"), v.GetExitCode())
	if v.GetRank() >= 0 {
		text += fmt.Sprintf(" by rank %d on %s", v.GetRank(), v.GetNode())
	}
	if v.GetMessage() != "" {
		text += fmt.Sprintf(" %q", v.GetMessage())
	}
	return text
}

// mapOf returns the places of a message; nil if it has none.
func mapOf(encoded []byte) []*scorev1.NodePlace {
	if encoded == nil {
		return nil
	}
	places, err := jobmap.Decode(encoded)
	if err != nil {
		panic(err)
	}
	return places
}

func messageText(message *scorev1.ServerMessage) string {
	switch m := message.GetMessage().(type) {
	case *scorev1.ServerMessage_Welcome:
		return fmt.Sprintf("Welcome term %d keep %v", m.Welcome.GetTerm(), m.Welcome.GetKeepJobs())
	case *scorev1.ServerMessage_Prepare:
		text := fmt.Sprintf("Prepare %d part %d of %d", m.Prepare.GetJobId(), m.Prepare.GetNodeIndex(), len(mapOf(m.Prepare.GetMap())))
		if m.Prepare.GetLeaseNanos() != 0 {
			text += fmt.Sprintf(" attempt %d restarts %d lease %v", m.Prepare.GetAttempt(), m.Prepare.GetRestarts(), time.Duration(m.Prepare.GetLeaseNanos()))
		}
		return text
	case *scorev1.ServerMessage_Stage:
		text := fmt.Sprintf(
			"Stage %d of %s: %d of %d nodes",
			m.Stage.GetJobId(),
			m.Stage.GetFiles()[0].GetName(),
			m.Stage.GetIndex(),
			len(m.Stage.GetAddresses()),
		)
		if more := m.Stage.GetNodes()[len(m.Stage.GetAddresses()):]; len(more) > 0 {
			text += ", and " + strings.Join(more, " ")
		}
		return text
	case *scorev1.ServerMessage_Plan:
		text := fmt.Sprintf("Plan %d.%d", m.Plan.GetTerm(), m.Plan.GetVersion())
		for _, row := range m.Plan.GetRows() {
			text += fmt.Sprintf(" row %d %v %v", row.GetIndex(), time.Duration(row.GetSliceNanos()), row.GetJobs())
		}
		if len(m.Plan.GetAsleep()) > 0 {
			text += fmt.Sprintf(" asleep %v", m.Plan.GetAsleep())
		}
		return text
	case *scorev1.ServerMessage_Kill:
		return fmt.Sprintf("Kill %d %q", m.Kill.GetJobId(), m.Kill.GetReason())
	case *scorev1.ServerMessage_Signal:
		return fmt.Sprintf("Signal %d %d", m.Signal.GetJobId(), m.Signal.GetSignal())
	case *scorev1.ServerMessage_Forget:
		return fmt.Sprintf("Forget %d", m.Forget.GetJobId())
	case *scorev1.ServerMessage_Name:
		return fmt.Sprintf("Name request %d ok %v port %q", m.Name.GetRequest(), m.Name.GetOk(), m.Name.GetPort())
	case *scorev1.ServerMessage_Spawn:
		return fmt.Sprintf("Spawn request %d child %d %q", m.Spawn.GetRequest(), m.Spawn.GetChildJob(), m.Spawn.GetError())
	case *scorev1.ServerMessage_Places:
		return fmt.Sprintf("Places request %d of job %d: %d nodes", m.Places.GetRequest(), m.Places.GetOfJob(), len(mapOf(m.Places.GetMap())))
	case *scorev1.ServerMessage_PartGone:
		return fmt.Sprintf("PartGone %d part %d %q", m.PartGone.GetJobId(), m.PartGone.GetNodeIndex(), m.PartGone.GetReason())
	case *scorev1.ServerMessage_ChildEnded:
		return fmt.Sprintf("ChildEnded %d of %d code %d", m.ChildEnded.GetChildJob(), m.ChildEnded.GetJobId(), m.ChildEnded.GetExitCode())
	case *scorev1.ServerMessage_Watch:
		var names []string
		for _, n := range m.Watch.GetNeighbours() {
			names = append(names, n.GetNode())
		}
		return fmt.Sprintf("Watch %v", names)
	case *scorev1.ServerMessage_AskRankStates:
		return fmt.Sprintf("AskRankStates %d of %d", m.AskRankStates.GetRequest(), m.AskRankStates.GetJobId())
	case *scorev1.ServerMessage_AskCut:
		return fmt.Sprintf("AskCut %d.%d of %d examine %v", m.AskCut.GetRequest()>>requestBits, m.AskCut.GetRequest()&(1<<requestBits-1),
			m.AskCut.GetJobId(), m.AskCut.GetExamine())
	case *scorev1.ServerMessage_AskChannels:
		return fmt.Sprintf("AskChannels %d of %v", m.AskChannels.GetRequest(), m.AskChannels.GetJobIds())
	}
	return fmt.Sprintf("%T", message.GetMessage())
}

func eventText(e Event) string {
	if e.Sources != nil {
		texts := make([]string, len(e.Sources))
		for i, s := range e.Sources {
			texts[i] = fmt.Sprintf("%d on %s", s.Job, s.Node)
			if s.Stdin {
				texts[i] += " with stdin"
			}
		}
		return "output of " + strings.Join(texts, ", ")
	}
	switch m := e.Message.GetEvent().(type) {
	case *scorev1.AttachEvent_State:
		text := strings.TrimPrefix(m.State.GetState().String(), "JOB_STATE_")
		if m.State.GetMessage() != "" {
			text += fmt.Sprintf(" %q", m.State.GetMessage())
		}
		return text
	case *scorev1.AttachEvent_Warning:
		return "warning: " + m.Warning
	case *scorev1.AttachEvent_OutputMissing:
		return "output is missing"
	case *scorev1.AttachEvent_Ended:
		return "ended: " + verdictText(m.Ended)
	case *scorev1.AttachEvent_RankStates_:
		return fmt.Sprintf("%d ranks, gang on %v", len(m.RankStates.GetRanks()), m.RankStates.GetGangOn())
	}
	return fmt.Sprintf("%T", e.Message.GetEvent())
}

// The memory promised to a job does not change with the default, nor with the leader.
func TestPromisedMemoryStays(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2)) // 1 GiB, two CPUs, eight rows
	id, err := w.submit(jobSpec(2))
	if err != nil {
		t.Fatal(err)
	}
	promised := w.b.jobs[id].memory
	if promised != (1<<30)/8 {
		t.Errorf("promised %d bytes", promised)
	}
	w.receive("n1", prepared(id))
	w.receive("n1", launched(id, w.b.now))
	if err := w.b.applySettings(&scorev1.Settings{SliceNanos: 1e8, MaxRows: 8, DefaultMemoryPerCpuBytes: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.restart()
	if j := w.b.jobs[id]; j.memory != promised || j.state != running {
		t.Errorf("after the change %d bytes, %v", j.memory, j.state)
	}
}
