package flowctl

import (
	"reflect"
	"testing"
	"unsafe"
)

// TestLayout pins the layout that lies in images: other programs read it.
func TestLayout(t *testing.T) {
	var s Sender
	var r Receiver
	for _, f := range []struct {
		name      string
		got, want uintptr
	}{
		{"Sender", unsafe.Sizeof(s), 80},
		{"Sender.una", unsafe.Offsetof(s.una), 0},
		{"Sender.end", unsafe.Offsetof(s.end), 12},
		{"Sender.tx", unsafe.Offsetof(s.tx), 16},
		{"Sender.limit", unsafe.Offsetof(s.limit), 32},
		{"Sender.window", unsafe.Offsetof(s.window), 44},
		{"Sender.deadline", unsafe.Offsetof(s.deadline), 48},
		{"Sender.sample", unsafe.Offsetof(s.sample), 72},
		{"Sender.hold", unsafe.Offsetof(s.hold), 76},
		{"Receiver", unsafe.Sizeof(r), 40},
		{"Receiver.next", unsafe.Offsetof(r.next), 0},
		{"Receiver.owed", unsafe.Offsetof(r.owed), 16},
		{"Receiver.kind", unsafe.Offsetof(r.kind), 18},
		{"Receiver.deadline", unsafe.Offsetof(r.deadline), 32},
	} {
		if f.got != f.want {
			t.Errorf("%s: size or offset is %d, want %d", f.name, f.got, f.want)
		}
	}
	if both := unsafe.Sizeof(s) + unsafe.Sizeof(r); both > 128 {
		t.Errorf("a peer takes %d bytes, want at most 128", both)
	}
	for _, typ := range []reflect.Type{reflect.TypeOf(s), reflect.TypeOf(r)} {
		for i := range typ.NumField() {
			switch k := typ.Field(i).Type.Kind(); k {
			case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Int64, reflect.Array:
			default:
				t.Errorf("%s.%s is a %v, which may not lie in an image", typ, typ.Field(i).Name, k)
			}
		}
	}
}
