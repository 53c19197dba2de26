package leader

import (
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/state/statepb"
	"strings"
	"testing"
)

// An order to prepare overtakes what waits for later commands, but nothing that the same agent
// gets, and not any number of effects.
func TestSendAhead(t *testing.T) {
	a, b := new(chanLink), new(chanLink)
	waiting := func(o *outbox, link Link, n int) {
		for range n {
			o.send(link, forgetMessage(1))
		}
	}
	tests := []struct {
		name string
		wait func(o *outbox)
		want string // the commands that each effect waits for
	}{
		{"nothing waits", func(*outbox) {}, "1!"},
		{"another agent waits", func(o *outbox) { waiting(o, b, 2) }, "1! 3 3"},
		{"the same agent waits", func(o *outbox) { waiting(o, b, 1); waiting(o, a, 1) }, "3 3 3!"},
		{"many wait", func(o *outbox) { waiting(o, b, maxOvertaken) }, "1!" + strings.Repeat(" 3", maxOvertaken)},
		{"too many wait", func(o *outbox) { waiting(o, b, maxOvertaken+1) }, strings.Repeat("3 ", maxOvertaken+1) + "3!"},
	}
	for _, test := range tests {
		var o outbox
		o.propose(&statepb.Command{})
		o.propose(&statepb.Command{})
		o.propose(&statepb.Command{})
		test.wait(&o)
		ahead := &agentpb.ServerMessage{}
		o.sendAhead(a, ahead, 1)
		var got []string
		for _, e := range o.effects {
			text := fmt.Sprint(e.after)
			if e.message == ahead {
				text += "!"
			}
			got = append(got, text)
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
