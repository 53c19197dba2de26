package message

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"score/nodeagent/pmi/pmix/bfrops"
	"strconv"
	"strings"
)

// MaxHello bounds the hello in bytes. Clients' hellos take about 60.
const MaxHello = 64 << 10

// Hello is the hello of a client.
type Hello struct {
	// Security is the client's method of authentication, Credential its
	// credential. On TCP neither proves anything; package steward
	// authenticates clients.
	Security   string
	Credential []byte
	// Flag is the kind of the client. Programs that were started as ranks send 0.
	Flag      uint8
	Namespace string
	Rank      uint32
	// Version is the version of the client's library, Encoding the name of its
	// encoding of values, BufferKind how it describes them.
	Version    string
	Encoding   string
	BufferKind uint8
	// Store is how the client keeps the data that it receives.
	Store string
}

// Release returns the first number of the version, 0 if it is none.
func (h *Hello) Release() int {
	text, _, _ := strings.Cut(h.Version, ".")
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// HelloLength reads the length of a hello from its header. It is in the byte order of the host.
func HelloLength(header []byte) uint64 { return binary.NativeEndian.Uint64(header[8:]) }

// ReadHello reads a hello after its header.
func ReadHello(data []byte) (Hello, error) {
	var h Hello
	r := helloReader{data: data}
	h.Security = r.text()
	h.Credential = bytes.Clone(r.take(uint64(r.number())))
	h.Flag = r.byte()
	h.Namespace = r.text()
	h.Rank = r.number()
	h.Version = r.text()
	h.Encoding = r.text()
	h.BufferKind = r.byte()
	h.Store = r.text()
	// Newer libraries append more, which this server ignores.
	if r.bad {
		return Hello{}, fmt.Errorf("%w: a greeting that ends too early", bfrops.ErrMalformed)
	}
	return h, nil
}

// Append appends the hello with its header.
func (h *Hello) Append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	text := func(s string) { dst = append(append(dst, s...), 0) }
	text(h.Security)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(h.Credential)))
	dst = append(dst, h.Credential...)
	dst = append(dst, h.Flag)
	text(h.Namespace)
	dst = binary.BigEndian.AppendUint32(dst, h.Rank)
	text(h.Version)
	text(h.Encoding)
	dst = append(dst, h.BufferKind)
	text(h.Store)
	binary.NativeEndian.PutUint64(dst[start+8:], uint64(len(dst)-start-HeaderLen))
	return dst
}

// AppendWelcome appends the answer to a hello that is accepted: peer is the
// client's number in the headers from then on.
func AppendWelcome(dst []byte, peer uint32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(Success))
	return binary.BigEndian.AppendUint32(dst, peer)
}

// AppendRefusal appends the answer to a hello that is refused. The connection ends then.
func AppendRefusal(dst []byte, code int32) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(code))
}

// helloReader reads the fields of a hello, which have an encoding of their own.
type helloReader struct {
	data []byte
	bad  bool
}

func (r *helloReader) take(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.bad, r.data = true, nil
		return nil
	}
	piece := r.data[:n]
	r.data = r.data[n:]
	return piece
}

func (r *helloReader) text() string {
	end := bytes.IndexByte(r.data, 0)
	if end < 0 {
		r.bad, r.data = true, nil
		return ""
	}
	return string(r.take(uint64(end) + 1)[:end])
}

func (r *helloReader) number() uint32 {
	if piece := r.take(4); piece != nil {
		return binary.BigEndian.Uint32(piece)
	}
	return 0
}

func (r *helloReader) byte() byte {
	if piece := r.take(1); piece != nil {
		return piece[0]
	}
	return 0
}
