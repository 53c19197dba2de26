package match

import (
	"slices"
	"testing"
)

// TestIndexOnlyWhenPassedOver checks that nothing is indexed before something else is taken, and
// then what was passed over only: receives and messages that are taken in order cost no table.
func TestIndexOnlyWhenPassedOver(t *testing.T) {
	var m Matcher
	rs := mixed(8)
	for i := range rs {
		m.Post(&rs[i])
	}
	for i := range 4 {
		arrive(t, &m, rs, i)
	}
	if len(m.posted.classes) != 0 {
		t.Fatal("receives that were matched in order were indexed")
	}
	arrive(t, &m, rs, 6)
	for i, want := range []bool{4: true, 5: true, 7: false} {
		if got := rs[i].indexed != notIndexed; got != want {
			t.Errorf("receive %d is indexed: %v", i, got)
		}
	}
}

// TestClassesFull checks what is searched without a table.
func TestClassesFull(t *testing.T) {
	var m Matcher
	rs := make([]Recv, postedClasses+2)
	for i := range rs {
		rs[i].Criteria = Criteria{Tag: 1 << 20, Ignore: uint64(i)}
		m.Post(&rs[i])
	}
	if m.Arrive(0, 0) != nil {
		t.Fatal("a message matched")
	}
	if len(m.posted.classes) != postedClasses || m.posted.further.len != 2 {
		t.Fatalf("%d classes, %d further", len(m.posted.classes), m.posted.further.len)
	}
	m.Cancel(&rs[3])
	again := Recv{Criteria: Criteria{Tag: 1 << 20, Ignore: 1 << 40}}
	m.Post(&again)
	if m.Arrive(0, 0) != nil || again.indexed != 4 {
		t.Errorf("the class that is empty was not used again: %d", again.indexed)
	}
}

// TestIndexOnlyWhenSearchedOften is the same for searches of held messages.
func TestIndexOnlyWhenSearchedOften(t *testing.T) {
	var m Matcher
	us := messages(3)
	for i := range us {
		m.Hold(&us[i])
	}
	for i := range heldClasses + 2 {
		c := Criteria{us[2].Source, us[2].Tag, uint64(i)}
		if m.Peek(c) != &us[2] {
			t.Fatalf("mask %#x found another message", i)
		}
	}
	if len(m.held.classes) != heldClasses {
		t.Errorf("%d classes", len(m.held.classes))
	}
	for i := range us[:2] {
		m.Remove(&us[i])
	}
	m.Peek(Criteria{Ignore: 1 << 40})
	if k := m.held.classes[0]; k.ignore != 1<<40 || len(m.held.classes) != heldClasses {
		t.Errorf("a class that is empty was not used again: it ignores %#x", k.ignore)
	}
}

// TestMisuse checks that what would tangle lists panics, and that another Matcher's receives and
// messages are left alone.
func TestMisuse(t *testing.T) {
	var m, other Matcher
	r, u := &Recv{Criteria: Criteria{Tag: 1}}, &Message{Tag: 2}
	m.Post(r)
	m.Hold(u)
	if other.Cancel(r) || other.Remove(u) {
		t.Error("taken out of another Matcher")
	}
	for name, f := range map[string]func(){
		"Post": func() { other.Post(r) },
		"Hold": func() { other.Hold(u) },
	} {
		if !panics(f) {
			t.Errorf("%s did not panic", name)
		}
	}
	if !m.Cancel(r) || !m.Remove(u) || m.posted.list.len+m.held.list.len != 0 {
		t.Error("not posted or held any more")
	}
	if *r != (Recv{Criteria: r.Criteria, order: r.order}) || *u != (Message{Tag: 2}) {
		t.Error("links are left")
	}
}

// TestLoops checks that loops may take out what they are given, and may end early.
func TestLoops(t *testing.T) {
	var m Matcher
	rs, us := mixed(4), messages(4)
	for i := range rs {
		rs[i].Tag |= 1 // matches no message
		rs[i].Ignore = 0
		m.Post(&rs[i])
		m.Hold(&us[i])
	}
	for r := range m.AllPosted() {
		if r == &rs[2] {
			break
		}
		m.Cancel(r)
	}
	for u := range m.AllHeld() {
		m.Remove(u)
	}
	if got := slices.Collect(m.AllPosted()); !slices.Equal(got, []*Recv{&rs[2], &rs[3]}) || m.held.list.len != 0 {
		t.Errorf("%d receives and %d messages are left", len(got), m.held.list.len)
	}
}

// TestAllocs checks that nothing is allocated once the tables have grown.
func TestAllocs(t *testing.T) {
	const n = 200
	var m Matcher
	rs, us := mixed(n), messages(n)
	round := func() {
		for i := range rs {
			m.Post(&rs[i])
		}
		for i := range rs {
			arrive(t, &m, rs, n-1-i)
		}
		for i := range us {
			m.Hold(&us[i])
		}
		for i := range us {
			c := rs[n-1-i].Criteria
			if m.Peek(c) != &us[n-1-i] || m.Claim(c) != &us[n-1-i] {
				t.Fatalf("message %d was not found", n-1-i)
			}
		}
	}
	round()
	if allocs := testing.AllocsPerRun(10, round); allocs != 0 {
		t.Errorf("%v allocations in a round", allocs)
	}
}

// arrive lets the message of receive i of mixed arrive.
func arrive(tb testing.TB, m *Matcher, rs []Recv, i int) {
	if m.Arrive(uint32(i%16), uint64(i)<<32|7|1<<60) != &rs[i] {
		tb.Fatalf("the message of receive %d did not find it", i)
	}
}

// panics reports whether f panics.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}
