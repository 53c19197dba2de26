package link

import "testing"

var someBulk = BulkHead{Job: 1 << 60, Channel: 1, From: 2, To: 3, Call: 4, Token: 5, Size: 6, At: 7 << 32, Sum: 8, Summed: true}

func TestBulkHeadIsReadAsWritten(t *testing.T) {
	for _, h := range []BulkHead{someBulk, {Size: 1}, {Size: MaxBulk, At: 1<<64 - 1}} {
		var b [BulkBytes]byte
		h.Put(&b)
		if got, err := ParseBulk(b[:]); err != nil || got != h {
			t.Errorf("%+v, %v, want %+v", got, err, h)
		}
		for bit := range 8 * BulkBytes {
			b[bit/8] ^= 1 << (bit % 8)
			if _, err := ParseBulk(b[:]); err == nil {
				t.Errorf("bit %d is flipped, and nothing is said", bit)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
		if _, err := ParseBulk(b[:BulkBytes-1]); err == nil {
			t.Error("a part of a header is taken")
		}
	}
	for _, h := range []BulkHead{{}, {Size: MaxBulk + 1}} {
		var b [BulkBytes]byte
		h.Put(&b)
		if _, err := ParseBulk(b[:]); err == nil {
			t.Errorf("%d bytes are taken", h.Size)
		}
	}
}

func FuzzParseBulk(f *testing.F) {
	var b [BulkBytes]byte
	someBulk.Put(&b)
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ParseBulk(data)
		if err != nil {
			return
		}
		var again [BulkBytes]byte
		if h.Put(&again); again != [BulkBytes]byte(data) {
			t.Errorf("%x is read as %+v, which is %x", data[:BulkBytes], h, again)
		}
	})
}
