package leader

import (
	"fmt"
	"score/scored/api/protocol"
	"score/scored/state"
	"score/scored/state/statepb"
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

	committed   uint64  // of the controller's commands
	busy        bool    // an entry is being written: nothing is committed meanwhile
	maxCommands int     // commands of an entry; 0: as many as the leader takes
	failing     failing // the result of the next commit
	largest     int     // entry since the last submission by a user, in bytes
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
	w.b = newController(configOf(1, w.log), w.log, time.Second.Nanoseconds())
	return w
}

// configOf returns what a controller for the state is given.
func configOf(term uint64, s *state.State) config {
	return config{cluster: "lab", version: "v1", term: term, readState: func(f func(*state.State)) { f(s) }}
}

// restart makes another leader take over from the committed state.
func (w *world) restart() {
	w.begin(w.b.term + 1)
	w.settle()
}

func (w *world) begin(term uint64) {
	w.links = make(map[string]*fakeLink)
	before := w.b
	w.b, w.committed = newController(configOf(term, w.log), w.log, before.now+1), 0
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
		maxCommands := maxEntry
		if w.maxCommands > 0 {
			maxCommands = w.maxCommands
		}
		commands, taken := w.b.takeCommands(maxCommands)
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
	for _, command := range commands {
		if command.GetAllocate() != nil {
			w.checkStart(command.GetAllocate().GetJobId())
		}
	}
	texts := make([]string, len(commands))
	for i, command := range commands {
		texts[i] = commandText(command)
	}
	w.note("log: %s", strings.Join(texts, ", "))
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
