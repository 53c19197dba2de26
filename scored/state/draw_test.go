package state

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"score/scored/state/statepb"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// dice draws evenly.
type dice struct{ *rand.Rand }

// seedNumbers is large enough that seeds hardly ever repeat: rapid likes small numbers.
const seedNumbers = 6

func newDice(seed []uint64) *dice {
	sum := fnv.New128a()
	for _, number := range seed {
		_, _ = sum.Write(binary.LittleEndian.AppendUint64(nil, number)) // cannot fail
	}
	both := sum.Sum(nil)
	return &dice{rand.New(rand.NewPCG(binary.LittleEndian.Uint64(both), binary.LittleEndian.Uint64(both[8:])))}
}

// upTo draws 0 to most.
func (d *dice) upTo(largest int) int { return d.IntN(largest + 1) }

// once returns true one time in n.
func (d *dice) once(n int) bool { return d.IntN(n) == 0 }

// amount draws a usage in nanoseconds, plausible or not.
func (d *dice) amount() int64 { return d.Int64N(1<<uint(1+d.upTo(49))) - 1 }

func pick[T any](d *dice, from []T) T { return from[d.IntN(len(from))] }

// kinds are all commands that an entry can hold.
var kinds = (&statepb.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("command").Fields()

// kindOf names a command.
func kindOf(c *statepb.Command) string {
	m := c.ProtoReflect()
	if field := m.WhichOneof(m.Descriptor().Oneofs().ByName("command")); field != nil {
		return string(field.Name())
	}
	return ""
}

// drawAny makes a command of any kind by reflection. It chooses values by the names and types of
// fields, so that the command sometimes fits the state. It draws the kinds for which this file has
// no line.
func drawAny(d *dice, s *State) *statepb.Command {
	command := new(statepb.Command)
	field := kinds.Get(d.IntN(kinds.Len()))
	m := command.ProtoReflect()
	fill(d, s, m.Mutable(field).Message(), 0)
	return command
}

// maxFill bounds the depth of nested messages.
const maxFill = 4

func fill(d *dice, s *State, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch {
		case d.once(10), field.IsMap():
		case field.IsList():
			list := m.Mutable(field).List()
			for range d.upTo(2) {
				if field.Message() == nil {
					list.Append(drawScalar(d, s, field))
				} else if depth < maxFill {
					fill(d, s, list.AppendMutable().Message(), depth+1)
				}
			}
		case field.Message() == nil:
			m.Set(field, drawScalar(d, s, field))
		case depth < maxFill:
			fill(d, s, m.Mutable(field).Message(), depth+1)
		}
	}
}

func drawScalar(d *dice, s *State, field protoreflect.FieldDescriptor) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(drawText(d, field))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(drawBytes(d, field))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(d.once(2))
	case protoreflect.EnumKind:
		values := field.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(d.IntN(values.Len())).Number())
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(drawNumber(d, s, field))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(d.upTo(3)))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(pick(d, []int64{-1, 0, 1, 7, 1 << 50}))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(d.upTo(4)) - 1)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(d.upTo(3) - 1))
	default:
		panic(fmt.Sprintf("%s is of a kind that drawScalar does not know yet: %v", field.FullName(), field.Kind()))
	}
}

// drawText draws from a few names.
func drawText(d *dice, field protoreflect.FieldDescriptor) string {
	pool := []string{"a", "b", "n1", "n2", "n3", ""}
	switch field.Name() {
	case "node", "name":
		pool = []string{"n1", "n2", "n3", "n4", "u", ""}
	case "id", "token_id", "token":
		pool = []string{"t1", "t2", ""}
	case "role":
		pool = []string{"agent", "server", ""}
	}
	return pick(d, pool)
}

// drawBytes draws keys and digests of the right length where a field needs them.
func drawBytes(d *dice, field protoreflect.FieldDescriptor) []byte {
	switch {
	case field.Name() == "key" && !d.once(4):
		return drawKey(d)
	case field.Name() == "digest" && !d.once(4):
		return make([]byte, DigestBytes)
	default:
		return []byte(pick(d, []string{"", "\x01", "\x02\x03"}))
	}
}

// drawKey draws one of few keys, so that some repeat.
func drawKey(d *dice) []byte {
	key := keyOf(pick(d, []string{"a", "b", "c", "d"}))
	return key[:]
}

// drawNumber draws job numbers where a field needs one.
func drawNumber(d *dice, s *State, field protoreflect.FieldDescriptor) uint64 {
	if jobs := s.Jobs(); field.Name() == "job_id" && len(jobs) > 0 && !d.once(4) {
		return pick(d, jobs).ID
	}
	if field.Name() == "job_id" {
		return s.NextJob()
	}
	return uint64(d.upTo(5))
}

// encodeEntry encodes the entry as in the log.
func encodeEntry(t *rapid.T, e *statepb.Entry) []byte {
	data, err := proto.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
