package hostile

import (
	"encoding/binary"
	"fmt"
	"net"
	"score/scored/api/scorev1/scorev1connect"
	"sync"
	"testing"
	"time"
)

const (
	// unread connections make unreadCalls calls each, and pinging ones send unreadPings pings, of
	// which the kernel takes the answers to 11,000. Without bounds the server would need 700 MB for
	// the calls.
	unread, unreadCalls  = 800, 128
	pinging, unreadPings = 60, 18_000
	// taken bounds how long the server may take to take it all, or to end the connection.
	taken = 20 * time.Second

	// Frames of HTTP/2 (RFC 9113, section 6), and a field of a header (RFC 7541, section 6.2.2).
	headersFrame, settingsFrame, pingFrame = 1, 4, 6
	endOfHeaders, initialWindow            = 4, 4
	literalField                           = 0
)

// unread has a user make calls without end and read nothing, not even refusals. The server keeps
// few of them, and others are served.
func (s *scene) unread(t *testing.T) {
	flood := start(t, s.Cluster, eve, "unread")
	if n := flood.number(); n != unread+pinging {
		t.Errorf("%d of %d connections were made", n, unread+pinging)
	}
	s.answers()
	if took := time.Duration(start(t, s.Cluster, ada, "one").number()) * time.Millisecond; took > served {
		t.Errorf("another's job took %v", took)
	}
	mb := s.resident()
	if mb > maxResident {
		t.Errorf("the server needed %d MB", mb)
	}
	t.Logf("the server needed up to %d MB", mb)
}

// playUnread sends all that, and tells on how many connections.
func playUnread() error {
	conns, err := dial(unread + pinging)
	if err != nil {
		return err
	}
	calls, pings := http2Start(), http2Start()
	for i := range unreadCalls {
		calls = appendFrame(calls, headersFrame, endOfHeaders, uint32(2*i+1), callHeader())
	}
	for range unreadPings {
		pings = appendFrame(pings, pingFrame, 0, 0, make([]byte, 8))
	}
	var all sync.WaitGroup
	for i, c := range conns {
		all.Go(func() { send(c, map[bool][]byte{true: calls, false: pings}[i < unread]) })
	}
	all.Wait()
	fmt.Println(len(conns))
	return nil
}

// send sends what the server takes; it may end the connection.
func send(c net.Conn, flood []byte) {
	_ = c.SetWriteDeadline(time.Now().Add(taken))
	_, _ = c.Write(flood)
}

// http2Start is the beginning of a connection whose client takes no byte of an answer's body.
func http2Start() []byte {
	return appendFrame([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), settingsFrame, 0, 0, []byte{0, initialWindow, 0, 0, 0, 0})
}

func appendFrame(out []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	head = binary.BigEndian.AppendUint32(append(head, flags), stream)
	return append(append(out, head...), payload...)
}

// callHeader is the header of a submission whose body does not come.
func callHeader() (header []byte) {
	for _, field := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":authority", "x"},
		{":path", scorev1connect.JobServiceSubmitProcedure},
		{"content-type", "application/proto"},
	} {
		header = append(header, literalField)
		for _, text := range field {
			header = append(append(header, byte(len(text))), text...)
		}
	}
	return header
}
