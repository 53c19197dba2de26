package match

import (
	"fmt"
	"testing"
)

// libraryMask is what a library ignores in each receive: bits of its protocol.
const libraryMask = 0xf << 60

// anyTag ignores the tags of programs as well, and leaves the communicator.
const anyTag = libraryMask | 0xffff_ffff

// mixed returns n receives in three classes, each of which takes one message only: one in four has
// any source, one in four any tag.
func mixed(n int) []Recv {
	rs := make([]Recv, n)
	for i := range rs {
		tag := uint64(i)<<32 | 7 // a communicator each, so wildcards do not overlap
		rs[i].Criteria = Criteria{Source: uint32(i % 16), Tag: tag, Ignore: libraryMask}
		switch i % 4 {
		case 1:
			rs[i].Source = AnySource
		case 3:
			rs[i].Ignore = anyTag
		}
	}
	return rs
}

// BenchmarkOne is a receive that is posted and matched while no other is posted.
func BenchmarkOne(b *testing.B) {
	for _, c := range []struct {
		name string
		Criteria
	}{
		{"exact", Criteria{Source: 3, Tag: 7}},
		{"mask", Criteria{Source: 3, Tag: 7, Ignore: libraryMask}},
		{"any", Criteria{Source: AnySource, Ignore: anyTag}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var m Matcher
			r := Recv{Criteria: c.Criteria}
			b.ReportAllocs()
			for b.Loop() {
				m.Post(&r)
				if m.Arrive(3, 7) != &r {
					b.Fatal("no match")
				}
			}
		})
	}
}

// BenchmarkBeside is the same while others are posted that do not match.
func BenchmarkBeside(b *testing.B) {
	const others = 200
	var m Matcher
	rs := mixed(others)
	for i := range rs {
		m.Post(&rs[i])
	}
	r := Recv{Criteria: Criteria{Source: 3, Tag: 8}}
	b.ReportAllocs()
	for b.Loop() {
		m.Post(&r)
		if m.Arrive(3, 8) != &r {
			b.Fatal("no match")
		}
	}
}

// orders are those in which the n receives of a round are matched.
var orders = []struct {
	name string
	at   func(i, n int) int
}{
	{"forward", func(i, _ int) int { return i }},
	{"reverse", func(i, n int) int { return n - 1 - i }},
}

// BenchmarkPosted is a round of 200 or 20,000 matches. In "single" each receive is posted and
// matched while no other is; in the others all are posted, then all are matched. The time of a
// match is with its post.
func BenchmarkPosted(b *testing.B) {
	for _, n := range depths {
		rs := mixed(n)
		b.Run(fmt.Sprintf("single/%d", n), func(b *testing.B) {
			var m Matcher
			for b.Loop() {
				for i := range rs {
					m.Post(&rs[i])
					arrive(b, &m, rs, i)
				}
			}
			perMatch(b, n)
		})
		for _, order := range orders {
			b.Run(fmt.Sprintf("%s/%d", order.name, n), func(b *testing.B) {
				var m Matcher
				for b.Loop() {
					for i := range rs {
						m.Post(&rs[i])
					}
					for i := range rs {
						arrive(b, &m, rs, order.at(i, n))
					}
				}
				perMatch(b, n)
			})
		}
	}
}

// BenchmarkHeld is the same with messages that are held and receives that find them.
func BenchmarkHeld(b *testing.B) {
	for _, n := range depths {
		rs := mixed(n)
		us := messages(n)
		b.Run(fmt.Sprintf("single/%d", n), func(b *testing.B) {
			var m Matcher
			for b.Loop() {
				for i := range rs {
					m.Hold(&us[i])
					takeOne(b, &m, rs, us, i)
				}
			}
			perMatch(b, n)
		})
		for _, order := range orders {
			b.Run(fmt.Sprintf("%s/%d", order.name, n), func(b *testing.B) {
				var m Matcher
				for b.Loop() {
					for i := range us {
						m.Hold(&us[i])
					}
					for i := range us {
						takeOne(b, &m, rs, us, order.at(i, n))
					}
				}
				perMatch(b, n)
			})
		}
	}
}

// depths are the lengths of lists in benchmarks: what programs have, and far more.
var depths = []int{200, 20_000}

// messages returns the messages that mixed receives take.
func messages(n int) []Message {
	us := make([]Message, n)
	for i := range us {
		us[i].Source, us[i].Tag = uint32(i%16), uint64(i)<<32|7|1<<60
	}
	return us
}

// takeOne lets receive i of mixed find its message.
func takeOne(b *testing.B, m *Matcher, rs []Recv, us []Message, i int) {
	if m.Post(&rs[i]) != &us[i] {
		b.Fatalf("receive %d did not find its message", i)
	}
}

// perMatch reports the time of a match in rounds of n.
func perMatch(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/match")
	b.ReportMetric(0, "ns/op")
}
