package wire

import (
	"fmt"
	"regexp"
	"score/nodeagent/pmi"
	"score/tests/pinned"
	"strconv"
	"strings"
	"testing"
)

// TestScripts plays the files of testdata/scripts. A line without indent is an
// input, the indented lines below it are what came of it:
//
//	job 0 0 1        a job with these nodes of its ranks
//	0: text          rank 0 sends a line of PMI-1
//	0# text          rank 0 sends a frame of PMI-2; the length is added
//	0= "text"        rank 0 sends these bytes, quoted as in Go
//	0= "x"*2000      the same, so many times
//	gone 0           rank 0's connection ends
//	name 1 ok port   the name table answers request 1; "no" for not ok
//	spawn 1 kvs 0,0  the scheduler answers request 1; "failed: reason" to refuse
//
// Lines beginning with '#' are comments. -update writes the results again.
func TestScripts(t *testing.T) { pinned.Scripts(t, "testdata/scripts/*.txt", playScript) }

func playScript(t *testing.T, before string) string {
	s := &script{t: t}
	for _, line := range strings.Split(strings.TrimRight(before, "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		s.out.WriteString(line + "\n")
		if line != "" && !strings.HasPrefix(line, "#") {
			s.input(line)
		}
	}
	return s.out.String()
}

type script struct {
	t   *testing.T
	job *testJob
	out strings.Builder
}

var (
	sendLine = regexp.MustCompile(`^(\d+)([:#=]) ?(.*)$`)
	repeated = regexp.MustCompile(`^(".*")\*(\d+)$`)
)

func (s *script) input(line string) {
	if m := sendLine.FindStringSubmatch(line); m != nil {
		rank, _ := strconv.Atoi(m[1])
		s.job.feed(rank, s.text(m[2], m[3]))
		s.print()
		return
	}
	words := strings.SplitN(line, " ", 4)
	number := 0
	if words[0] != "job" {
		number, _ = strconv.Atoi(words[1])
	}
	switch words[0] {
	case "job":
		s.start(strings.Fields(line)[1:])
	case "gone":
		fmt.Fprintf(&s.out, "  phase %d\n", s.job.gone(number))
	case "name":
		port := strings.Join(words[3:], " ")
		s.job.do(0, func(e *pmi.Engine) { e.NameResult(uint64(number), words[2] == "ok", port) })
	case "spawn":
		s.job.do(0, func(e *pmi.Engine) { e.SpawnResult(uint64(number), spawnResult(line, words)) })
	default:
		s.t.Fatalf("what is %q?", line)
	}
	s.print()
}

func spawnResult(line string, words []string) pmi.SpawnResult {
	if _, reason, ok := strings.Cut(line, "failed: "); ok {
		return pmi.SpawnResult{Failed: reason}
	}
	result := pmi.SpawnResult{KVSName: words[2]}
	if len(words) > 3 {
		for _, code := range strings.Split(words[3], ",") {
			n, _ := strconv.Atoi(code)
			result.ErrCodes = append(result.ErrCodes, n)
		}
	}
	return result
}

func (s *script) text(how, text string) string {
	switch how {
	case ":":
		return line1(text)
	case "#":
		return frame2(text)
	}
	times := 1
	if m := repeated.FindStringSubmatch(text); m != nil {
		text = m[1]
		times, _ = strconv.Atoi(m[2])
	}
	bytes, err := strconv.Unquote(text)
	if err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	return strings.Repeat(bytes, times)
}

func (s *script) start(nodes []string) {
	info := pmi.JobInfo{Job: 1, KVSName: "kvs_1"}
	for _, text := range nodes {
		node, err := strconv.Atoi(text)
		if err != nil {
			s.t.Fatal(err)
		}
		info.RankNode = append(info.RankNode, int32(node))
	}
	s.job = newTestJob(s.t, info)
}

// print writes what has happened: first what ranks were sent, then the rest.
func (s *script) print() {
	for rank := range s.job.info.Size() {
		if text := s.job.take(rank); text != "" {
			fmt.Fprintf(&s.out, "  %d< %q\n", rank, text)
		}
	}
	for i := range s.job.others {
		s.printEffect(&s.job.others[i])
	}
	s.job.others = nil
}

func (s *script) printEvent(e *pmi.Event) {
	switch e.Kind {
	case pmi.EventFenceReady:
		fmt.Fprintf(&s.out, "  fence %d ready\n", e.Seq)
	case pmi.EventNameOp:
		fmt.Fprintf(&s.out, "  name request %+v of rank %d\n", e.Name, e.Rank)
	case pmi.EventSpawn:
		fmt.Fprintf(&s.out, "  spawn request of rank %d: %+v\n", e.Rank, *e.Spawn)
	default:
		s.t.Fatalf("unknown event %+v", e)
	}
}

func (s *script) printEffect(e *Effect) {
	switch e.Kind {
	case Contact:
		fmt.Fprintf(&s.out, "  contact %d\n", e.Rank)
	case Finalized:
		fmt.Fprintf(&s.out, "  finalized %d\n", e.Rank)
	case Event:
		s.printEvent(e.Event)
	case Abort:
		fmt.Fprintf(&s.out, "  abort by rank %d, code %d, %q\n", e.Rank, e.Code, e.Message)
	case Violation:
		fmt.Fprintf(&s.out, "  VIOLATION of %d: %v\n", e.Rank, e.Err)
	default:
		s.t.Fatalf("unknown effect %+v", e)
	}
}
