package jobmap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// MaxNodes is how many nodes a cluster can have: it bounds plans and maps of jobs. Servers
	// apply entries by it, so another value needs a protocol of its own.
	MaxNodes = 4096
	// MaxRanks is how many ranks a job can have.
	MaxRanks = 1 << 22
	// maxCPUs bounds the CPUs of a place; the kernel's own bound is 8192.
	maxCPUs = 1 << 13
	// maxText bounds a name or an address, in bytes.
	maxText = 256
)

// ErrMap is wrapped by all errors of this package.
var ErrMap = errors.New("the places of a job cannot be read")

// Decode reads what Append wrote.
func Decode(data []byte) ([]*scorev1.NodePlace, error) {
	r := reader{data: data}
	if len(data) == 0 || data[0] != version {
		return nil, fmt.Errorf("%w: they begin with other bytes", ErrMap)
	}
	r.data = data[1:]
	nodes := r.number(MaxNodes)
	// The shortest node has six bytes, so a false count cannot cause a large allocation.
	if nodes > len(r.data) {
		r.bad = true
		nodes = 0
	}
	places := make([]*scorev1.NodePlace, nodes)
	left := MaxRanks
	name, address := "", ""
	for i := range places {
		name, address = r.text(name), r.text(address)
		ranks := r.list(left)
		left -= len(ranks)
		places[i] = &scorev1.NodePlace{Node: name, Address: address, Ranks: ranks, Cpus: r.list(maxCPUs)}
		if r.bad {
			return nil, fmt.Errorf("%w: node %d is damaged", ErrMap, i)
		}
	}
	if r.bad || len(r.data) > 0 {
		return nil, fmt.Errorf("%w: bytes are missing or left", ErrMap)
	}
	return places, nil
}

// Expand fills in the places of an order that has them encoded.
func Expand(order *agentpb.Prepare) error {
	if order.GetMap() == nil {
		return nil
	}
	places, err := Decode(order.GetMap())
	if err != nil {
		return err
	}
	order.Places = places
	return nil
}

// placesField is the number of Prepare.places.
const placesField = 4

// Compact returns the order without what Expand can restore, for forwarding.
func Compact(order *agentpb.Prepare) *agentpb.Prepare {
	if order.GetMap() == nil {
		return order
	}
	short := new(agentpb.Prepare)
	order.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Number() != placesField {
			short.ProtoReflect().Set(field, value)
		}
		return true
	})
	return short
}

// reader reads until the first error.
type reader struct {
	data []byte
	bad  bool
}

// number reads a number up to limit.
func (r *reader) number(limit int) int {
	v, n := binary.Uvarint(r.data)
	if n <= 0 || v > uint64(limit) {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return int(v)
}

func (r *reader) text(before string) string {
	common, more := r.number(len(before)), r.number(maxText)
	if r.bad || more > len(r.data) || common+more > maxText {
		r.bad = true
		return ""
	}
	if more == 0 && common == len(before) {
		return before
	}
	text := before[:common] + string(r.data[:more])
	r.data = r.data[more:]
	return text
}

// list reads ascending numbers, most of them at the most.
func (r *reader) list(limit int) []uint32 {
	var numbers []uint32
	next := 0
	for range r.number(limit) {
		first, count, distance := r.number(math.MaxUint32), r.number(limit-len(numbers)), 1
		if count > 1 {
			distance = r.number(math.MaxUint32)
		}
		first += next
		if r.bad || count == 0 || distance == 0 || first+(count-1)*distance > math.MaxUint32 {
			r.bad = true
			return nil
		}
		if numbers == nil {
			numbers = make([]uint32, 0, count)
		}
		for i := range count {
			numbers = append(numbers, uint32(first+i*distance))
		}
		next = first + (count-1)*distance + 1
	}
	return numbers
}
