package leader

import (
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/tests/pinned"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A script is a list of things that happen, each followed by what the leader
// did then. Run with -update after a wanted change, and read the difference.
//
//	node NAME CPUS [HELD...]    an agent connects, holding these jobs
//	reboot NAME CPUS [HELD...]  the same after its agent was restarted
//	gone NAME                   its stream ends
//	submit TASKS [KEY=VALUE...] a user submits a job; keys as in the code below
//	say NODE MESSAGE JOB [...]  an agent says prepared, launched, exited, done ...
//	cancel|kill|signal|requeue|because|attach|detach|hold|release|waits ...
//	drain|resume|remove NODE, states
//	wait DURATION, restart [AHEAD] (another leader takes over), settings, names
func TestScripts(t *testing.T) { pinned.Scripts(t, "testdata/*.txt", runScript) }

// runScript returns the script with the present output.
func runScript(t *testing.T, script string) string {
	s := &scripted{world: newWorld(t), attachments: make(map[string]*Attachment)}
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "> "):
			continue
		case line == "" || strings.HasPrefix(line, "#"):
			fmt.Fprintln(&out, line)
			continue
		}
		fmt.Fprintln(&out, line)
		s.seen.Reset()
		s.run(strings.Fields(line))
		for seen := range strings.Lines(s.seen.String()) {
			fmt.Fprintf(&out, "> %s", seen)
		}
	}
	return out.String()
}

type scripted struct {
	*world
	attachments map[string]*Attachment
	requests    uint64
	lastSpawn   uint64
}

func (s *scripted) number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	return n
}

func (s *scripted) run(words []string) {
	switch words[0] {
	case "node", "reboot":
		s.node(words)
	case "gone":
		link := s.links[words[1]]
		link.closed = true
		s.b.onLinkLost(words[1], link)
		s.settle()
	case "submit":
		s.submitLine(words[1:])
	case "say":
		s.sayLine(words[1], words[2], s.number(words[3]), words[4:])
	case "cancel":
		s.cancel(s.number(words[1]))
	case "kill":
		s.kill(s.number(words[1]))
	case "requeue": // job, reason
		s.noteRefusal(s.b.requeueFor(s.b.jobs[s.number(words[1])], "ada", strings.Join(words[2:], " ")))
		s.settle()
	case "hold", "release": // job; and who does it, if not its owner
		by, caller := "ada", owner
		if len(words) > 2 {
			by, caller = words[2], operator
		}
		j := s.b.jobs[s.number(words[1])]
		if words[0] == "hold" {
			s.noteRefusal(s.b.hold(j, &scorev1.Hold{By: by, Operator: caller.UID != j.user.GetUid()}))
		} else {
			s.noteRefusal(s.b.release(j, caller, by))
		}
		s.settle()
	case "waits":
		s.note("waits for %s", s.b.waitingFor(s.b.jobs[s.number(words[1])]))
	case "because":
		view := s.b.jobView(s.b.jobs[s.number(words[1])], "")
		s.note("%d times: %s", view.GetRestarts(), view.GetBecause())
	case "signal":
		if err := s.b.signal(s.b.jobs[s.number(words[1])], int32(s.number(words[2]))); err != nil {
			s.note("refused: %v", err)
		}
		s.settle()
	case "attach":
		options := AttachOptions{
			Owner: strings.Contains(words[2], "owner"), Output: strings.Contains(words[2], "output"),
			Acknowledges: strings.Contains(words[2], "output"),
		}
		a := newAttachment(nil, s.number(words[1]), options)
		if err := s.b.attach(s.b.jobs[a.job], a); err != nil {
			s.note("refused: %v", err)
		} else {
			s.attachments[words[1]+words[2]] = a
		}
		s.settle()
	case "detach":
		s.b.detach(s.number(words[1]), s.attachments[words[1]+words[2]])
		s.settle()
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatalf("%v", err)
		}
		s.advance(d)
	case "silence": // the agents send no heartbeats, or only one does not
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatalf("%v", err)
		}
		s.b.now += d.Nanoseconds()
		for name, n := range s.b.nodes {
			if len(words) > 2 && name != words[2] {
				n.lastMessage = s.b.now
			}
		}
		s.settle()
		if len(words) > 2 {
			s.b.checkLinks()
			s.settle()
		}
	case "read":
		id, attempt := s.number(words[1]), uint32(0)
		if j := s.b.jobs[id]; j != nil {
			attempt = j.attempts
		}
		s.b.read(id, attempt)
		s.settle()
	case "restart": // by how much the next leader's clock is ahead
		if len(words) > 1 {
			ahead, err := time.ParseDuration(words[1])
			if err != nil {
				s.t.Fatalf("%v", err)
			}
			s.b.now += ahead.Nanoseconds()
		}
		s.restart()
	case "explain":
		s.note("%s", strings.Join(s.b.explain(s.b.jobs[s.number(words[1])]).GetLines(), "; "))
	case "nodes":
		for _, n := range s.b.nodeViews() {
			s.note("%s: %d/%d channels", n.GetName(), n.GetChannelsUsed(), n.GetChannels())
		}
	case "states":
		for _, n := range s.b.nodeViews() {
			s.note(
				"%s: %s since %v jobs %v",
				n.GetName(),
				strings.TrimPrefix(n.GetState().String(), "NODE_STATE_"),
				time.Duration(n.GetSinceNanos()),
				n.GetJobIds(),
			)
		}
	case "drain": // node, "requeue" or "wait", reason
		d := &state.Drain{By: "root", Requeue: words[2] == "requeue", Reason: strings.Join(words[3:], " ")}
		_, err := s.b.drainNode(words[1], d)
		s.noteRefusal(err)
		s.settle()
	case "resume":
		_, err := s.b.resumeNode(words[1])
		s.noteRefusal(err)
		s.settle()
	case "remove":
		_, err := s.b.removeNode(words[1])
		s.noteRefusal(err)
		s.settle()
	case "known":
		ids := []uint64{}
		for _, j := range s.b.sortedJobs() {
			ids = append(ids, j.id)
		}
		s.note("jobs %v", ids)
	case "slice", "node_silence":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatalf("%v", err)
		}
		set := &scorev1.Settings{SliceNanos: d.Nanoseconds(), NodeSilenceNanos: d.Nanoseconds()}
		if _, err = s.b.setSettings(set, []string{words[0] + "_nanos"}); err != nil {
			s.note("answer: %v", err)
		} else {
			s.b.call(func(err error) { s.note("answer: %v", err) }) // as decide does
		}
		s.settle()
	default:
		s.t.Fatalf("unknown line %v", words)
	}
}

func (s *scripted) noteRefusal(err error) {
	if err != nil {
		s.note("refused: %v", err)
	}
}

func (s *scripted) node(words []string) {
	h := hello(words[1], uint32(s.number(words[2])))
	if words[0] == "reboot" {
		h.BootId = fmt.Sprint("boot", s.b.now)
	}
	for _, id := range words[3:] {
		if channels, ok := strings.CutPrefix(id, "channels="); ok {
			h.Channels = uint32(s.number(channels))
			continue
		}
		h.Jobs = append(h.Jobs, s.number(id))
	}
	if refusal := s.connect(h); refusal != "" {
		s.note("refused: %s", refusal)
	}
}

func (s *scripted) submitLine(words []string) {
	spec := jobSpec(uint32(s.number(words[0])))
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "nodes":
			spec.Nodes = uint32(s.number(value))
		case "attached":
			spec.Detached = false
		case "exclusive":
			spec.Exclusive = true
		case "oversubscribe":
			spec.Oversubscribe = true
		case "channels":
			spec.ChannelsPerTask = uint32(s.number(value))
		case "mem":
			spec.MemoryPerNodeBytes = s.number(value) << 20
		case "time":
			d, _ := time.ParseDuration(value)
			spec.TimeLimitNanos = d.Nanoseconds()
		case "warn":
			spec.WarnSignal, spec.WarnNanos = int32(s.number(value)), time.Second.Nanoseconds()
		case "killdead":
			spec.KillOnDeadlock = true
		case "recover":
			spec.Recover = true
		case "requeue":
			spec.Requeue = true
		case "staged": // the node that was given its file first
			spec.StageSeed, spec.Staged = value, []*scorev1.StagedFile{
				{Name: "a.out", Size: 1, Sha256: make([]byte, 32), Kind: scorev1.StagedKind_STAGED_KIND_PROGRAM},
			}
		case "list":
			spec.NodeList = strings.Split(value, ",")
		case "exclude":
			spec.ExcludeList = strings.Split(value, ",")
		case "hold":
			spec.Hold = true
		case "after", "afterany", "afterok", "afternotok":
			d := &scorev1.Dependency{Kind: map[string]scorev1.DependencyKind{
				"after": after, "afterany": afterAny, "afterok": afterOK, "afternotok": afterNotOK,
			}[key]}
			for id := range strings.SplitSeq(value, ":") {
				d.JobIds = append(d.JobIds, s.number(id))
			}
			spec.Dependencies = append(spec.Dependencies, d)
		case "badexit":
			spec.KillOnBadExit = true
		case "priority":
			spec.Priority = int32(s.number(value))
		default:
			s.t.Fatalf("unknown key %s", key)
		}
	}
	if _, err := s.submit(spec); err != nil {
		s.note("refused: %v", err)
	}
}

// partLost is what a node says that has lost its part of a job.
func partLost(id uint64, reason string) *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Abort{Abort: &agentpb.Abort{
		JobId: id, Rank: noRank, ExitCode: exitCluster, Message: reason + "; submit it again", PartLost: reason,
	}}}
}

// exitRest has a node report exit code 0 of each rank of a running job whose end it has not
// reported.
func (s *scripted) exitRest(node string, id uint64) {
	j := s.b.jobs[id]
	if j == nil || !j.mayRun() || j.part(node) == nil {
		return
	}
	for _, rank := range j.part(node).Ranks {
		if !j.exits[rank] {
			s.receive(node, exits(&agentpb.RankExited{JobId: id, Rank: rank, AtNanos: s.b.now}))
		}
	}
}

func (s *scripted) sayLine(node, what string, id uint64, words []string) {
	arg := func(i int) uint64 {
		if i < len(words) {
			return s.number(words[i])
		}
		return 0
	}
	s.requests++
	switch what {
	case "prepared":
		s.receive(node, prepared(id))
	case "unprepared":
		s.receive(node, unprepared(id, int32(arg(0)), strings.Join(words[1:], " ")))
	case "launched":
		s.receive(node, launched(id, s.b.now))
	case "exited": // rank, code, signal, flags
		exit := &agentpb.RankExited{JobId: id, Rank: uint32(arg(0)), ExitCode: int32(arg(1)), Signal: int32(arg(2)), AtNanos: s.b.now}
		for _, flag := range words[min(3, len(words)):] {
			exit.ByUs = exit.ByUs || flag == "by-us"
			exit.BeforeFinalize = exit.BeforeFinalize || flag == "before-finalize"
			exit.Survived = exit.Survived || flag == "survived"
			exit.OutOfMemory = exit.OutOfMemory || flag == "out-of-memory"
			exit.CoreDumped = exit.CoreDumped || flag == "core"
			if flag == "earlier" {
				exit.AtNanos -= time.Second.Nanoseconds()
			}
		}
		s.receive(node, exits(exit))
	case "done": // after exit code 0 of the ranks that have said nothing else
		s.exitRest(node, id)
		s.receive(node, nodeDone(id))
	case "done-only":
		s.receive(node, nodeDone(id))
	case "abort", "abort-earlier":
		abort := &agentpb.Abort{JobId: id, Rank: noRank, ExitCode: int32(arg(1)), Message: strings.Join(words[2:], " ")}
		if words[0] != "none" {
			abort.Rank, abort.AtNanos = int32(arg(0)), s.b.now
		}
		if what == "abort-earlier" {
			abort.AtNanos -= time.Second.Nanoseconds()
		}
		s.receive(node, &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Abort{Abort: abort}})
	case "finds": // id: none; a node, and how it is
		s.receive(node, &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Suspicion{Suspicion: &agentpb.Suspicion{
			Node: words[0], Found: agentpb.Reachability(agentpb.Reachability_value["REACHABILITY_"+strings.ToUpper(words[1])]),
		}}})
	case "part-lost":
		s.receive(node, partLost(id, strings.Join(words, " ")))
	case "lapsed":
		s.receive(node, &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Abort{Abort: &agentpb.Abort{
			JobId: id, Rank: noRank, Lapsed: true, Message: "node " + node + " heard no leader for 10s",
		}}})
	case "time-near":
		s.receive(node, &agentpb.AgentMessage{Message: &agentpb.AgentMessage_TimeNear{TimeNear: &agentpb.TimeNear{JobId: id}}})
	case "time-up":
		s.receive(node, &agentpb.AgentMessage{Message: &agentpb.AgentMessage_TimeUp{TimeUp: &agentpb.TimeUp{JobId: id}}})
	case "note", "lost-output":
		s.receive(node, &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Note{Note: &agentpb.JobNote{
			JobId: id, Text: strings.Join(words, " "), OutputLost: what == "lost-output",
		}}})
	case "publish", "lookup", "unpublish":
		op := agentpb.NameOp(agentpb.NameOp_value["NAME_OP_"+strings.ToUpper(what)])
		m := &agentpb.NameRequest{JobId: id, Request: s.requests, Op: op, Service: words[0]}
		if again, ok := strings.CutPrefix(words[len(words)-1], "again="); ok { // a request whose answer was lost
			m.Request, words = s.number(again), words[:len(words)-1]
		}
		if len(words) > 1 {
			m.Port = words[1]
		}
		m.Once, m.Wait = slices.Contains(words, "once"), slices.Contains(words, "wait")
		s.receive(node, &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Name{Name: m}})
	case "places": // of job
		s.receive(node, &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Places{Places: &agentpb.PlacesRequest{
			JobId: id, Request: s.requests, OfJob: arg(0),
		}}})
	case "spawn", "spawn-again":
		if what == "spawn" {
			s.lastSpawn = s.requests
		}
		m := &agentpb.SpawnRequest{JobId: id, Request: s.lastSpawn, Apps: []*agentpb.SpawnApp{{Program: "child", Tasks: uint32(arg(0))}}}
		s.receive(node, &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Spawn{Spawn: m}})
	case "asleep", "awake": // epoch, number of the question, what was found that could wake it or "nothing"
		s.receive(node, cutSaid(s.world, id, what == "asleep", words))
	default:
		s.t.Fatalf("agents do not say %s", what)
	}
}
