package fence

import "encoding/binary"

// announcer encodes announcements of pieces: the size, and the piece itself if it is small.
type announcer struct {
	// small is the largest piece that is sent with its size, in bytes.
	small int
}

// empty is the size of the largest piece that counts as empty: it holds its sender's identity, but
// no data.
const empty = 32

func (a announcer) announce(data []byte) []byte {
	room := 0
	if len(data) <= a.small {
		room = len(data)
	}
	word := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen32+room), uint64(len(data)))
	return append(word, data[:room]...)
}

// announced decodes an announcement; has is false if the piece is not in it.
func (a announcer) announced(word []byte) (size int, data []byte, has, ok bool) {
	n, width := binary.Uvarint(word)
	if width <= 0 || n > MaxBytes {
		return 0, nil, false, false
	}
	size, data = int(n), word[width:]
	has = size <= a.small
	return size, data, has, has && len(data) == size || !has && len(data) == 0
}

// decode decodes the announcements of all nodes. It returns the pieces, and whether none is
// missing. The error wraps ErrProtocol or ErrTooLarge.
func (a announcer) decode(words [][]byte) (pieces [][]byte, whole bool, err error) {
	pieces, whole = make([][]byte, len(words)), true
	bytes := 0
	for i, word := range words {
		size, data, has, ok := a.announced(word)
		if !ok {
			return nil, false, errNotAsLarge
		}
		pieces[i] = data
		whole = whole && has
		bytes += size
	}
	if bytes > MaxBytes {
		return nil, false, tooLargeError(bytes)
	}
	return pieces, whole, nil
}
