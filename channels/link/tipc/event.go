package tipc

import (
	"encoding/binary"
	"errors"
	"score/channels/link"

	"golang.org/x/sys/unix"
)

// Range is some names of one type, side by side.
type Range struct {
	Kind        uint32
	First, Last uint32
}

// Event reports that a socket bound a name (Gone: gave one up) that overlaps a subscribed range.
type Event struct {
	Gone        bool
	First, Last uint32       // the names that it bound
	Socket      link.Address // whose
	Range       Range        // that was subscribed to
	Handle      uint64       // as it was given then
}

// errEvent means that something is no event of the topology service.
var errEvent = errors.New("tipc: not an event of the topology service")

// A subscription and an event, in the byte order of the machine.
const (
	subFilterAt = 16
	subHandleAt = 20
	subTimeAt   = 12
	subBytes    = 28

	eventFirstAt  = 4
	eventLastAt   = 8
	eventRefAt    = 12
	eventNodeAt   = 16
	eventSubAt    = 20
	eventBytes    = eventSubAt + subBytes
	forever       = ^uint32(0)
	eachSocket    = unix.TIPC_SUB_PORTS // report each socket, not only the first and the last
	cancelling    = unix.TIPC_SUB_CANCEL
	filterUnknown = ^uint32(eachSocket)
)

// subscription returns the message to the topology service that begins or ends a subscription.
func subscription(r Range, handle uint64, filter uint32) (b [subBytes]byte) {
	putRange(b[:], r)
	binary.NativeEndian.PutUint32(b[subTimeAt:], forever)
	binary.NativeEndian.PutUint32(b[subFilterAt:], filter)
	binary.NativeEndian.PutUint64(b[subHandleAt:], handle)
	return b
}

func putRange(b []byte, r Range) {
	for i, v := range [...]uint32{r.Kind, r.First, r.Last} {
		binary.NativeEndian.PutUint32(b[4*i:], v)
	}
}

func rangeOf(b []byte) Range {
	return Range{Kind: binary.NativeEndian.Uint32(b), First: binary.NativeEndian.Uint32(b[4:]), Last: binary.NativeEndian.Uint32(b[8:])}
}

// parseEvent reads what the topology service wrote.
func parseEvent(b []byte) (e Event, err error) {
	if len(b) != eventBytes {
		return e, errEvent
	}
	sub := b[eventSubAt:]
	e = Event{
		First:  binary.NativeEndian.Uint32(b[eventFirstAt:]),
		Last:   binary.NativeEndian.Uint32(b[eventLastAt:]),
		Socket: link.SocketAddress(binary.NativeEndian.Uint32(b[eventNodeAt:]), binary.NativeEndian.Uint32(b[eventRefAt:])),
		Range:  rangeOf(sub),
		Handle: binary.NativeEndian.Uint64(sub[subHandleAt:]),
	}
	switch binary.NativeEndian.Uint32(b) {
	case unix.TIPC_PUBLISHED:
	case unix.TIPC_WITHDRAWN:
		e.Gone = true
	default:
		return Event{}, errEvent
	}
	if e.First > e.Last || e.Range.First > e.Range.Last || e.Last < e.Range.First || e.First > e.Range.Last ||
		binary.NativeEndian.Uint32(sub[subFilterAt:])&filterUnknown != 0 {
		return Event{}, errEvent
	}
	return e, nil
}
