package gang

import (
	"fmt"
	"score/tests/pinned"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestScripts runs testdata/*.txt. A script consists of commands, one per line; each
// paragraph of them is followed by a line of dashes and the pinned output. Lines
// with # are remarks. Output follows every command at once; -update pins it again.
func TestScripts(t *testing.T) { pinned.Scripts(t, "testdata/*.txt", runScript) }

const divider = "----"

func runScript(t *testing.T, text string) string {
	s := &script{t: t}
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		commands, _, _ := strings.Cut(block, divider+"\n")
		commands = strings.TrimSuffix(strings.TrimRight(commands, "\n"), "\n"+divider)
		got := s.runBlock(commands)
		if i > 0 {
			out.WriteString("\n")
		}
		out.WriteString(commands + "\n")
		if got != "" {
			out.WriteString(divider + "\n" + got)
		}
	}
	return out.String()
}

type script struct {
	t   *testing.T
	m   *Machine
	now int64
	rot Rotation
}

func (s *script) runBlock(commands string) string {
	var out strings.Builder
	for _, line := range strings.Split(commands, "\n") {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		out.WriteString(s.run(line))
		if s.m != nil {
			checkInvariants(s.t, s.m)
		}
	}
	return out.String()
}

func (s *script) run(line string) string {
	words := strings.Fields(line)
	args := words[1:]
	if s.m == nil && words[0] != "machine" {
		s.m = New(Config{})
	}
	switch words[0] {
	case "machine":
		s.m = New(s.config(args))
	case "config":
		return orNil(s.m.Configure(s.config(args)))
	case "nodes":
		for _, id := range strings.Split(args[0], ",") {
			n := s.node(args[1:])
			n.ID = NodeID(id)
			if err := s.m.AddNode(n); err != nil {
				return err.Error() + "\n"
			}
		}
	case "drop":
		lost, err := s.m.RemoveNode(NodeID(args[0]))
		if err == nil {
			return fmt.Sprintln("lost", lost)
		}
		return orNil(err)
	case "drain", "undrain":
		return orNil(s.m.SetDrain(NodeID(args[0]), words[0] == "drain"))
	case "at":
		s.now = int64(s.duration(args[0]))
	case "submit":
		return orNil(s.m.Submit(s.request(args)))
	case "end":
		for _, a := range args {
			if !s.m.Remove(JobID(s.number(a))) {
				return "unknown job\n"
			}
		}
	case "idle", "resume":
		s.m.SetIdle(JobID(s.number(args[0])), words[0] == "idle")
	case "sleep", "wake":
		s.m.SetAsleep(JobID(s.number(args[0])), words[0] == "sleep")
	case "schedule":
		return showDecision(s.m.Schedule(s.now))
	case "matrix":
		return s.m.Matrix().String()
	case "rows":
		return showRows(s.m.Rows())
	case "explain":
		e, ok := s.m.Explain(JobID(s.number(args[0])), s.now)
		if !ok {
			return "unknown job\n"
		}
		return e.String() + "\n"
	case "next":
		s.rot = Next(s.rot, s.m.Rows(), s.now, s.duration(args[0]))
		return showRotation(s.rot)
	default:
		s.t.Fatalf("unknown command %q", line)
	}
	return ""
}

func orNil(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + "\n"
}

func showDecision(d Decision) string {
	var b strings.Builder
	for _, mv := range d.Move {
		fmt.Fprintf(&b, "move %d from row %d to %d\n", mv.Job, mv.From, mv.To)
	}
	for _, a := range d.Start {
		fmt.Fprintf(&b, "start %d in row %d:", a.Job, a.Row)
		for _, p := range a.Places {
			fmt.Fprintf(&b, " %s cpus %s ranks %s", p.Node, spans(p.CPUs), spans(p.Ranks))
		}
		b.WriteString("\n")
	}
	if d.Empty() {
		return "nothing\n"
	}
	return b.String()
}

// spans writes 0,1,2,5 as 0-2,5.
func spans(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(list[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

func showRows(rows []RotationRow) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "row %d %v %v", r.Index, r.Slice, r.Jobs)
		if len(r.Asleep) > 0 {
			fmt.Fprintf(&b, " asleep %v", r.Asleep)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func showRotation(r Rotation) string {
	return fmt.Sprintf("version %d from %v, fresh %d after %d\n%s", r.Version, time.Duration(r.Origin), r.fresh, r.after, showRows(r.Rows))
}

func (s *script) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// size reads bytes, with or without a G for GiB.
func (s *script) size(text string) int64 {
	if g, ok := strings.CutSuffix(text, "G"); ok {
		return s.number(g) << 30
	}
	return s.number(text)
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *script) config(args []string) (c Config) {
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "rows":
			c.MaxRows = int(s.number(value))
		case "slice":
			c.Slice = s.duration(value)
		case "age":
			c.AgePerPoint = s.duration(value)
		default:
			s.t.Fatalf("unknown setting %q", a)
		}
	}
	return c
}

func (s *script) node(args []string) (n Node) {
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "cpus":
			n.CPUs = int(s.number(value))
		case "mem":
			n.Memory = s.size(value)
		case "channels":
			n.Channels = int(s.number(value))
		default:
			s.t.Fatalf("unknown property %q", a)
		}
	}
	return n
}

func (s *script) request(args []string) Request {
	r := Request{ID: JobID(s.number(args[0])), Tasks: 1, Submitted: s.now}
	for _, a := range args[1:] {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "n":
			r.Tasks = int(s.number(value))
		case "N":
			r.Nodes = int(s.number(value))
		case "c":
			r.CPUsPerTask = int(s.number(value))
		case "channels":
			r.Channels = int(s.number(value))
		case "mem":
			r.MemPerNode = s.size(value)
		case "prio":
			r.Priority = int(s.number(value))
		case "t":
			r.TimeLimit = s.duration(value)
		case "with":
			r.With = JobID(s.number(value))
		case "w":
			for _, id := range strings.Split(value, ",") {
				r.NodeList = append(r.NodeList, NodeID(id))
			}
		case "x":
			for _, id := range strings.Split(value, ",") {
				r.Exclude = append(r.Exclude, NodeID(id))
			}
		case "exclusive":
			r.Exclusive = true
		case "oversubscribe":
			r.Oversubscribe = true
		case "cyclic":
			r.Cyclic = true
		default:
			s.t.Fatalf("unknown option %q", a)
		}
	}
	return r
}
