package match_test

import (
	"fmt"
	"score/pm/tag/match"
)

// A message that comes too early is held until a receive takes it; one that a posted receive
// expects finds it.
func Example() {
	type receive struct {
		match.Recv
		name string // in practice the buffer
	}
	var m match.Matcher

	if m.Arrive(3, 7) == nil { // source 3, tag 7
		m.Hold(&match.Message{Source: 3, Tag: 7})
	}
	a := &receive{name: "a"}
	a.Criteria = match.Criteria{Source: match.AnySource, Tag: 7}
	if u := m.Post(&a.Recv); u != nil {
		fmt.Println(a.name, "takes the message of", u.Source)
	}

	b := &receive{name: "b"}
	b.Criteria = match.Criteria{Source: 4, Ignore: 0xff} // tags 0 to 255
	fmt.Println("b is posted:", m.Post(&b.Recv) == nil)
	fmt.Println("b takes the message:", m.Arrive(4, 9) == &b.Recv)
	// Output:
	// a takes the message of 3
	// b is posted: true
	// b takes the message: true
}
