package chaos

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// exitCluster is scrun's exit code where the cluster fails.
const exitCluster = 125

// errVerdict is wrapped by what must not be.
var errVerdict = errors.New("must not be")

// end is how a submission ended.
type end struct {
	code int    // of the job
	said string // by scrun, or the job's verdict if it was detached
	out  []byte
	runs map[int]int // how often each rank began
}

// judge checks a submission that has ended, and counts it.
func (w *world) judge(s *submission) {
	err := w.verdict(s)
	how := "as it should"
	switch {
	case err != nil:
		how = "WRONG"
		w.T.Errorf("%s, job %d, %s, by %s on %v: %v\nscrun said %q; from %s to %s this happened:%s", s.token, w.find(s.token).GetId(), s.kind,
			s.server, s.nodes, err, clip(s.said.String()), clock(s.began), clock(s.ended), w.during(s))
	case s.killed:
		how = "killed"
	case w.endOf(s).refused():
		how = "refused, its server was away"
	default:
		if e := w.endOf(s); e.code != s.code {
			how = "ended by a fault"
			w.T.Logf("%s, %s, on %v, ended after %s: code %d, %q", s.token, s.kind, s.nodes, w.explained(s), e.code, clip(e.said))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outcomes[s.kind+": "+how]++
	if err != nil {
		w.wrong = append(w.wrong, fmt.Sprintf("%s, %s, at %s, on %v, %s to %s: %v", s.token, s.kind, s.server, s.nodes, clock(s.began), clock(s.ended), err))
	}
}

func clip(text string) string { return text[:min(len(text), 4000)] }

func (w *world) verdict(s *submission) error {
	return verdictOf(s, w.endOf(s), w.explained(s))
}

// endOf finds out how a submission ended.
func (w *world) endOf(s *submission) end {
	e := end{code: s.command.ProcessState.ExitCode(), said: s.said.String(), out: []byte(s.out.String()), runs: map[int]int{}}
	if s.detached && e.code == 0 {
		verdict := w.find(s.token).GetVerdict()
		e.code, e.said = int(verdict.GetExitCode()), verdict.GetMessage()
	}
	if s.file != "" {
		e.out, _ = os.ReadFile(s.file) // it may never have begun
	}
	text, _ := os.ReadFile(s.ran())
	for word := range strings.FieldsSeq(string(text)) {
		rank, _ := strconv.Atoi(word)
		e.runs[rank]++
	}
	return e
}

// refused reports whether scrun found no daemon to submit the job to, which it says at once.
func (e end) refused() bool {
	return e.code == exitCluster && len(e.runs) == 0 && strings.Contains(e.said, "no daemon answers")
}

// verdictOf holds an end against what the submission was to do; explained names a fault by which it
// may have ended otherwise.
func verdictOf(s *submission, e end, explained string) error {
	if !s.again {
		for rank, times := range e.runs {
			if times > 1 {
				return fmt.Errorf("%w: rank %d has run %d times", errVerdict, rank, times)
			}
		}
	}
	switch {
	case s.killed, e.refused():
		return nil
	case s.ended.Sub(s.began) >= submitTimeout:
		return fmt.Errorf("%w: it hung", errVerdict)
	case e.code != s.code && explained == "":
		return fmt.Errorf("%w: exit code %d instead of %d, and nothing has happened to it; %q", errVerdict, e.code, s.code, e.said)
	case e.code != s.code && e.said == "":
		return fmt.Errorf("%w: exit code %d instead of %d without a word, after %s", errVerdict, e.code, s.code, explained)
	case e.code != s.code:
		return nil
	case len(e.runs) != s.ranks:
		return fmt.Errorf("%w: exit code %d though %d of %d ranks have run", errVerdict, e.code, len(e.runs), s.ranks)
	}
	if err := s.check(e.out); err != nil {
		return fmt.Errorf("%w: exit code %d, and %w", errVerdict, e.code, err)
	}
	return nil
}

// The checks are ones that can fail.
func TestVerdicts(t *testing.T) {
	began := time.Now()
	once := map[int]int{0: 1}
	for name, test := range map[string]struct {
		change    func(*submission)
		end       end
		explained string
		wrong     bool
	}{
		"right":                      {end: end{out: []byte("0 0\n0 1\n"), runs: once}},
		"a line is lost":             {end: end{out: []byte("0 0\n"), runs: once}, explained: "a fault", wrong: true},
		"a line comes twice":         {end: end{out: []byte("0 0\n0 1\n0 1\n"), runs: once}, wrong: true},
		"lines change places":        {end: end{out: []byte("0 1\n0 0\n"), runs: once}, wrong: true},
		"it never ran":               {end: end{out: []byte("0 0\n0 1\n"), runs: nil}, wrong: true},
		"it ran twice":               {end: end{out: []byte("0 0\n0 1\n"), runs: map[int]int{0: 2}}, wrong: true},
		"it may run twice":           {change: func(s *submission) { s.again = true }, end: end{out: []byte("0 0\n0 1\n"), runs: map[int]int{0: 2}}},
		"it fails, nobody knows why": {end: end{code: 125, said: "sorry", runs: once}, wrong: true},
		"it fails by a fault":        {end: end{code: 125, said: "sorry", runs: once}, explained: "a fault"},
		"it fails without a word":    {end: end{code: 125, runs: once}, explained: "a fault", wrong: true},
		"it hung":                    {change: func(s *submission) { s.ended = began.Add(submitTimeout) }, end: end{code: 2, said: "quit"}, explained: "a fault", wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &submission{token: "x", ranks: 1, began: began, ended: began.Add(time.Second), check: counted(1, 2)}
			if test.change != nil {
				test.change(s)
			}
			if err := verdictOf(s, test.end, test.explained); (err != nil) != test.wrong {
				t.Errorf("%v", err)
			}
		})
	}
}

// A fault explains the end of those it happened to, while or shortly before they ran.
func TestExplained(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	s := &submission{token: "j1", server: "s1", nodes: []string{"n1"}, began: at(100), ended: at(110)}
	for name, test := range map[string]struct {
		event event
		want  bool
	}{
		"on its node":              {event{victim: "n1", from: at(105), to: at(106), ends: true}, true},
		"which goes on":            {event{victim: "n1", from: at(105), ends: true}, true},
		"its own":                  {event{victim: "j1", from: at(105), to: at(106), ends: true}, true},
		"its server":               {event{victim: "s1", from: at(90), to: at(99), ends: true}, true},
		"on another node":          {event{victim: "n2", from: at(105), to: at(106), ends: true}, false},
		"long before":              {event{victim: "n1", from: at(10), to: at(11), ends: true}, false},
		"after it":                 {event{victim: "n1", from: at(111), to: at(112), ends: true}, false},
		"one that does not end it": {event{victim: "n1", from: at(105), to: at(106)}, false},
	} {
		if got := explains([]event{test.event}, s) != ""; got != test.want {
			t.Errorf("a fault %s explains it: %v", name, got)
		}
	}
}
