package kvpack

import "encoding/binary"

const (
	// shortest is the shortest match: a pointer takes two bytes or three.
	shortest = 4
	// longest is the longest match, which bounds the memory of a reader.
	longest = 512
	// window is the largest distance of a pointer: it covers the cards of a node's ranks with
	// pointers of at most three bytes.
	window = 1 << 20
	// tableBits is the logarithm of the number of remembered places; 16 KiB of them stay in a
	// processor's cache.
	tableBits = 12
	// MaxGrowth is the largest factor by which squeezed data grows when it is read: a token has at
	// least three bytes.
	MaxGrowth = longest / 3
)

// dictionary precedes all data, so that even the first card of a node is short. It has keys of
// MPICH and Open MPI and the beginnings of their cards, in the order of a body. A change of it
// changes the format.
const dictionary = "-bcast-1-/dev/shm/mpich_shar_tmp" + "-allgather-shm-1-" +
	"P-businesscard" + "description#$port#$ifname#127.0.0.1$" +
	"btl.openib.4.1mtl.psm2.4.1mtl.ofi.4.1osc.rdma.4.1pml.ucx" + "\x00\x0bbtl.tcp.4.1\x00\x00\x0cpml.base.2.0\x00\x02" +
	"\x00\x02\x00\xc8\x01\x1b0\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x04" +
	"\x04\x00\x00\x00\x01\x00\xc0\x00\x02\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04" +
	"\x04\x00\x00\x00\x00\x00\x01\x18\x1b\x04ob1\x00\x00\x01\x00\xc8\x01\x1b0\xfd"

// compress appends body as tokens.
func compress(dst, body []byte) []byte {
	text := make([]byte, 0, len(dictionary)+len(body))
	text = append(append(text, dictionary...), body...)
	var table [1 << tableBits]int32 // places plus one, by a hash of what stands there
	at := 0
	for ; at < len(dictionary); at++ {
		table[hashAt(text, at)] = int32(at) + 1
	}
	pending := at
	for at+shortest <= len(text) {
		slot := &table[hashAt(text, at)]
		from := int(*slot) - 1
		*slot = int32(at) + 1
		n := 0
		if from >= 0 && at-from <= window {
			n = matching(text, from, at)
		}
		if n < shortest {
			at++
			continue
		}
		dst = appendToken(dst, text[pending:at], n, at-from)
		for end := at + n; at < end; at++ {
			if at+shortest <= len(text) {
				table[hashAt(text, at)] = int32(at) + 1
			}
		}
		pending = at
	}
	if pending < len(text) {
		dst = appendToken(dst, text[pending:], 0, 0)
	}
	return dst
}

func appendToken(dst, raw []byte, length, back int) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(raw)))
	dst = append(dst, raw...)
	if length == 0 {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(length-shortest+1))
	return binary.AppendUvarint(dst, uint64(back))
}

func matching(text []byte, from, at int) int {
	n := 0
	for n < longest && at+n < len(text) && text[from+n] == text[at+n] {
		n++
	}
	return n
}

// hashAt hashes the bytes at a place; the multiplier is 2^32 divided by the golden ratio.
func hashAt(text []byte, at int) uint32 {
	const golden = 2654435769
	if at+shortest > len(text) {
		return 0
	}
	return binary.LittleEndian.Uint32(text[at:]) * golden >> (32 - tableBits)
}

// spread reverses compress. ok is false if the tokens do not yield exactly size bytes.
func spread(r *reader, size int) (text string, ok bool) {
	out := make([]byte, 0, len(dictionary)+size)
	out = append(out, dictionary...)
	end := len(dictionary) + size
	for len(out) < end {
		out = append(out, r.Chunk(r.Number())...)
		length := r.Number()
		if r.Bad() || len(out) > end {
			return "", false
		}
		if length == 0 {
			continue
		}
		length += shortest - 1
		back := r.Number()
		if r.Bad() || length > longest || back == 0 || back > uint64(len(out)) || len(out)+int(length) > end {
			return "", false
		}
		from := len(out) - int(back)
		for i := range int(length) {
			out = append(out, out[from+i]) // source and destination may overlap
		}
	}
	return string(out[len(dictionary):]), r.Left() == 0
}
