package match

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is a Matcher as two lists that are searched from their heads.
type model struct {
	posted []*Recv
	held   []*Message
}

// arrive is Matcher.Arrive.
func (m *model) arrive(source uint32, tag uint64) *Recv {
	i := slices.IndexFunc(m.posted, func(r *Recv) bool { return matches(r.Criteria, source, tag) })
	if i < 0 {
		return nil
	}
	r := m.posted[i]
	if !r.Multi {
		m.posted = slices.Delete(m.posted, i, i+1)
	}
	return r
}

// peek is Matcher.Peek.
func (m *model) peek(c Criteria) *Message {
	i := slices.IndexFunc(m.held, func(u *Message) bool { return matches(c, u.Source, u.Tag) })
	if i < 0 {
		return nil
	}
	return m.held[i]
}

// claim is Matcher.Claim.
func (m *model) claim(c Criteria) *Message {
	u := m.peek(c)
	m.remove(u)
	return u
}

// remove is Matcher.Remove.
func (m *model) remove(u *Message) bool {
	i := slices.Index(m.held, u)
	if i < 0 {
		return false
	}
	m.held = slices.Delete(m.held, i, i+1)
	return true
}

// cancel is Matcher.Cancel.
func (m *model) cancel(r *Recv) bool {
	i := slices.Index(m.posted, r)
	if i < 0 {
		return false
	}
	m.posted = slices.Delete(m.posted, i, i+1)
	return true
}

// matches says the rule bit by bit.
func matches(c Criteria, source uint32, tag uint64) bool {
	for bit := range 64 {
		if c.Ignore>>bit&1 == 0 && c.Tag>>bit&1 != tag>>bit&1 {
			return false
		}
	}
	return c.Source == AnySource || c.Source == source
}

// maxSteps is enough for lists of dozens, in more classes than there are.
const maxSteps = 300

// pair is a Matcher beside its model, and all receives and messages there ever were.
type pair struct {
	Matcher
	model
	masks []uint64
	recvs []*Recv
	all   []*Message
}

// Few sources and tags, so that most criteria match something and keys collide.
var (
	sources = rapid.Uint32Range(0, 3)
	tags    = rapid.Custom(func(t *rapid.T) uint64 {
		return rapid.Uint64Range(0, 3).Draw(t, "low") | rapid.Uint64Range(0, 1).Draw(t, "high")<<63
	})
)

// criteria draws criteria with one of the masks.
func (p *pair) criteria(t *rapid.T) Criteria {
	c := Criteria{sources.Draw(t, "source"), tags.Draw(t, "tag"), rapid.SampledFrom(p.masks).Draw(t, "ignore")}
	if rapid.IntRange(0, 3).Draw(t, "any") == 0 {
		c.Source = AnySource
	}
	return c
}

// post posts a receive, at times one that was posted before.
func (p *pair) post(t *rapid.T) {
	r := &Recv{}
	free := slices.DeleteFunc(slices.Clone(p.recvs), func(r *Recv) bool { return slices.Contains(p.model.posted, r) })
	if len(free) > 0 && rapid.Bool().Draw(t, "again") {
		r = rapid.SampledFrom(free).Draw(t, "receive")
	} else {
		p.recvs = append(p.recvs, r)
	}
	r.Criteria, r.Multi = p.criteria(t), rapid.IntRange(0, 7).Draw(t, "multi") == 0
	want := p.model.claim(r.Criteria)
	if want == nil {
		p.model.posted = append(p.model.posted, r)
	}
	if got := p.Post(r); got != want {
		t.Fatalf("Post: got %v, want %v", got, want)
	}
}

// arrive lets a message arrive and holds it if need be.
func (p *pair) arrive(t *rapid.T) {
	source, tag := sources.Draw(t, "source"), tags.Draw(t, "tag")
	want := p.model.arrive(source, tag)
	if got := p.Arrive(source, tag); got != want {
		t.Fatalf("Arrive: got %v, want %v", got, want)
	}
	if want != nil {
		return
	}
	u := &Message{}
	free := slices.DeleteFunc(slices.Clone(p.all), func(u *Message) bool { return slices.Contains(p.model.held, u) })
	if len(free) > 0 && rapid.Bool().Draw(t, "again") {
		u = rapid.SampledFrom(free).Draw(t, "message")
	} else {
		p.all = append(p.all, u)
	}
	u.Source, u.Tag = source, tag
	p.model.held = append(p.model.held, u)
	p.Hold(u)
}

// peek compares Peek.
func (p *pair) peek(t *rapid.T) {
	c := p.criteria(t)
	if got, want := p.Peek(c), p.model.peek(c); got != want {
		t.Fatalf("Peek: got %v, want %v", got, want)
	}
}

// claim compares Claim.
func (p *pair) claim(t *rapid.T) {
	c := p.criteria(t)
	if got, want := p.Claim(c), p.model.claim(c); got != want {
		t.Fatalf("Claim: got %v, want %v", got, want)
	}
}

// remove removes a message that is held or was.
func (p *pair) remove(t *rapid.T) {
	if len(p.all) == 0 {
		return
	}
	u := rapid.SampledFrom(p.all).Draw(t, "message")
	if got, want := p.Remove(u), p.model.remove(u); got != want {
		t.Fatalf("Remove: got %v, want %v", got, want)
	}
}

// cancel cancels a receive that is posted or was.
func (p *pair) cancel(t *rapid.T) {
	if len(p.recvs) == 0 {
		return
	}
	r := rapid.SampledFrom(p.recvs).Draw(t, "receive")
	if got, want := p.Cancel(r), p.model.cancel(r); got != want {
		t.Fatalf("Cancel: got %v, want %v", got, want)
	}
}

// step does one thing.
func (p *pair) step(t *rapid.T) {
	switch rapid.IntRange(0, 9).Draw(t, "action") {
	case 0, 1, 2:
		p.post(t)
	case 3, 4, 5:
		p.arrive(t)
	case 6:
		p.peek(t)
	case 7:
		p.claim(t)
	case 8:
		p.remove(t)
	case 9:
		p.cancel(t)
	}
}

// check compares the lists and checks the invariants.
func (p *pair) check(t *rapid.T) {
	if err := checkInvariants(&p.Matcher); err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(p.AllPosted()); !slices.Equal(got, p.model.posted) || p.Matcher.posted.list.len != len(got) {
		t.Fatalf("posted: got %v, want %v", got, p.model.posted)
	}
	if got := slices.Collect(p.AllHeld()); !slices.Equal(got, p.model.held) || p.Matcher.held.list.len != len(got) {
		t.Fatalf("held: got %v, want %v", got, p.model.held)
	}
}

// TestModel compares a Matcher with its model: with the masks of a program, and with so many that
// they do not have a class each.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		name  string
		masks []uint64
	}{
		{"one mask", []uint64{1 << 63}},
		{"a program's masks", []uint64{0, 1 << 63, 1<<63 | 3}},
		{"many masks", []uint64{0, 1, 2, 3, 4, 5, 6, 7, 1 << 63, 1<<63 | 1, ^uint64(0)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := &pair{masks: c.masks}
				for range rapid.IntRange(1, maxSteps).Draw(t, "steps") {
					p.step(t)
					p.check(t)
				}
			})
		})
	}
}
