package exchange

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"score/nodeagent/pmi/kvpack"
	"strings"
)

// real is what a rank of MPICH 4.0.2 over UCX puts; each letter is half a byte that is the host's
// own (h) or the rank's (r), as two ranks of two hosts differ; the others are the same in all.
const real = "20rrrrrrrrrrrrrrrr2000637577CC2B3200F8D74F00000000004F030088rrrrrrrrrrrrrrrr21120102hhhhhhhhhhhhhhhhF9FFFFEF000000" +
	"00CF1917B75138539E3E4BD7E03737011323008rrrrrrr21060002C0hhhhhhCF1917B751389763344BD7E0373700132300rrrrrrrrrrhhhh" +
	"hhhhhhhhhhhh8D5377CC2B32004C3E5077CCAB33004F230088rr00370000000000430hhhhhhhhhhhhhhhhhA7D377CC2B32004C3E5077CCAB" +
	"33004F230088rrrr0080030000C02488hhhhhhhhhhhhhhhh478BBD37063600242E5077CCAB330092210084rrrr0000"

// Cards makes what the ranks of a node put: cards of size bytes, as MPICH with UCX writes them if
// size is about theirs (209 B), with as many interfaces more, or cut off. random ones have nothing
// in common.
type Cards struct {
	Size   int
	Random bool
	// PerNode is the number of ranks.
	PerNode int
	Seed    uint64
}

// Node packs a node's cards. plain is what they take as text, with keys.
func (c *Cards) Node(node int) (packed []byte, plain int) {
	host := rand.New(rand.NewPCG(c.Seed, uint64(node)))
	own := draw(host)
	pack := kvpack.NewPack(c.PerNode * c.Size)
	for k := range c.PerNode {
		rank := node*c.PerNode + k
		pack.Add(rank, fmt.Sprintf("-allgather-shm-1-%d", rank), c.card(own, rand.New(rand.NewPCG(^c.Seed, uint64(rank)))))
	}
	return pack.Append(nil), pack.PlainBytes()
}

// card is one of Size bytes, written in hexadecimal digits as MPICH does, or as it is if it is
// random.
func (c *Cards) card(host string, rank *rand.Rand) string {
	if c.Random {
		card := make([]byte, c.Size)
		for i := range card {
			card[i] = byte(rank.Uint32())
		}
		return string(card)
	}
	var text strings.Builder
	for text.Len() < 2*c.Size {
		text.WriteString(fill(real, 'h', host, fillRandom(rank)))
	}
	return strings.ToUpper(text.String()[:2*c.Size])
}

// draw makes the digits that a host has for itself.
func draw(r *rand.Rand) string {
	b := make([]byte, len(real)/2)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return hex.EncodeToString(b)
}

func fillRandom(r *rand.Rand) func() byte {
	const digits = "0123456789ABCDEF"
	return func() byte { return digits[r.IntN(len(digits))] }
}

// fill replaces the letters of the template.
func fill(template string, mark byte, with string, other func() byte) string {
	out := []byte(template)
	for i, c := range out {
		switch c {
		case mark:
			out[i] = with[i%len(with)]
		case 'r':
			out[i] = other()
		}
	}
	return string(out)
}
