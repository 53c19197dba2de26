package failures

import (
	"fmt"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// lives is for how long an agent lives that is killed again and again: long enough to have its
	// stewards back and to be asked for their output, too short for most of what takes longer.
	lives = 700 * time.Millisecond
	// deaths is how often it is killed while jobs end, one after the other.
	deaths = 8
)

// quiet is a rank that prints something, nothing for some tenths of a second (its argument), and
// something again.
const quiet = `echo "begins $SCORE_RANK"; sleep "$((($1 + SCORE_RANK) / 10)).$((($1 + SCORE_RANK) % 10))"; echo "ends $SCORE_RANK"`

// An agent is killed again and again under ranks that are mostly silent: each line comes once, and
// each job ends well, whenever in the life of an agent it ends.
func TestAgentThatDiesAgainAndAgain(t *testing.T) {
	t.Parallel()
	c := startCluster(t, daemons.Options{Nodes: 2, Slice: slice, Grace: time.Minute})
	for range rounds() {
		diesAgainAndAgain(t, c)
		if t.Failed() {
			return
		}
	}
}

func diesAgainAndAgain(t *testing.T, c *daemons.Cluster) {
	t.Helper()
	var gangs []*daemonstest.Program
	for i := range deaths {
		tenths := (i + 1) * int(lives/(100*time.Millisecond)) * 9 / 8 // each ends elsewhere in an agent's life
		gangs = append(gangs, start(t, c, "scrun", "-J", fmt.Sprint("quiet", i), "-s", "-N", "2", "-n", "2", "sh", "-c", quiet, "sh", fmt.Sprint(tenths)))
	}
	for _, g := range gangs {
		if err := daemons.Await(t.Context(), "both ranks of "+g.String()+" begin", func() bool { return strings.Count(g.Said(), "begins") == 2 }); err != nil {
			t.Fatalf("%v\n%s", err, g.Said())
		}
	}
	victim := c.Agent("n1")
	for range deaths {
		victim.Kill()
		born := time.NewTimer(lives)
		if err := victim.Start(); err != nil {
			t.Fatal(err)
		}
		if err := awaitConnected(t.Context(), victim); err != nil {
			t.Fatal(err)
		}
		<-born.C
	}
	for _, g := range gangs {
		code := g.Code()
		said := lined(g.Said(), "begins ", "ends ")
		want := []string{"begins 0", "begins 1", "ends 0", "ends 1"}
		if code != 0 || !slices.Equal(said, want) || strings.Contains(g.Said(), "may be missing") {
			t.Errorf("%s: exit code %d, and it said\n%s", g, code, g.Said())
		}
	}
	if err := c.AwaitClean(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// lined are the lines that begin with one of the words, sorted.
func lined(text string, words ...string) (found []string) {
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(line, word) }) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	slices.Sort(found)
	return found
}
