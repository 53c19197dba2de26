package messages

import (
	"context"
	"score/pm"
	"score/pm/tag"
	"time"
)

// Matching inside a node: rank 1 posts many receives, then rank 0 sends a message for each, the
// last one posted first. Every third receive is for any source, every third for a mask of tags.

const (
	matchTags   = 200
	matchRounds = 20 // in a measurement
	matchPieces = 20 // measurements, of which the least counts
	// matchMask are bits of a tag that the receives with a mask do not look at.
	matchMask = 0xff << 32
	// matchReady is the tag of the words between.
	matchReady = 1 << 20
)

// Names of Matching's values: nanoseconds for a message.
const (
	MatchOne   = "one"   // all receives are of the same tag
	MatchMixed = "mixed" // each is of a tag of its own
)

// Matching measures it.
func Matching(ctx context.Context) (map[string]float64, error) {
	out, err := runPair(ctx, Shm, "match", nil)
	if err != nil {
		return nil, err
	}
	return parseTimes(out)
}

func matchRank(ch *pm.Channel) error {
	e, err := newTagEnd(ch, false)
	if err != nil {
		return err
	}
	m := &matching{tagEnd: e, rank: ch.Rank(), word: make([]byte, 8), many: make([]tag.Op, matchTags)}
	for range matchPieces {
		for _, name := range []string{MatchOne, MatchMixed} {
			var spent time.Duration
			for range matchRounds {
				took, err := m.round(name == MatchMixed)
				if err != nil {
					return err
				}
				spent += took
			}
			if m.rank == 0 {
				printTime(name, time.Now().Add(-spent), matchRounds*matchTags)
			}
		}
	}
	return e.close()
}

type matching struct {
	*tagEnd
	rank int
	word []byte
	many []tag.Op
}

// round is timed from when the receives are posted until all messages are there.
func (m *matching) round(mixed bool) (time.Duration, error) {
	if m.rank == 1 {
		return 0, m.receiveAll(mixed)
	}
	if err := m.take(); err != nil {
		return 0, err
	}
	start := time.Now()
	for i := matchTags - 1; i >= 0; i-- {
		if err := m.ep.Send(&m.many[i], m.peer, matchTag(i, mixed), m.word); err != nil {
			return 0, err
		}
	}
	if err := m.all(); err != nil {
		return 0, err
	}
	err := m.take()
	return time.Since(start), err
}

func (m *matching) receiveAll(mixed bool) error {
	for i := range m.many {
		if err := m.ep.Receive(&m.many[i], m.criteria(i, mixed), m.word); err != nil {
			return err
		}
	}
	if err := m.report(); err != nil {
		return err
	}
	if err := m.all(); err != nil {
		return err
	}
	return m.report()
}

func matchTag(i int, mixed bool) uint64 {
	if mixed {
		return uint64(i)
	}
	return 0
}

func (m *matching) criteria(i int, mixed bool) tag.Criteria {
	c := tag.Criteria{Source: m.peer, Tag: matchTag(i, mixed)}
	switch {
	case !mixed:
	case i%3 == 1:
		c.Source = tag.AnyPeer
	case i%3 == 2:
		c.Ignore = matchMask
	}
	return c
}

func (m *matching) all() error {
	for i := range m.many {
		for o := &m.many[i]; !o.Done(); {
			m.worker.Progress()
		}
		if err := m.many[i].Err; err != nil {
			return err
		}
	}
	return nil
}

func (m *matching) report() error {
	if err := m.ep.Send(m.next(), m.peer, matchReady, nil); err != nil {
		return err
	}
	return m.sent()
}

func (m *matching) take() error {
	if err := m.ep.Receive(m.next(), tag.Criteria{Source: m.peer, Tag: matchReady}, nil); err != nil {
		return err
	}
	return m.received()
}
