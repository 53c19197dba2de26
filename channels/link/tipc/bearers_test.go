package tipc

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// answersFor returns the kernel's answer for the named bearers.
func answersFor(names ...string) (b []byte) {
	for _, name := range names {
		m := request(30, unix.NLM_F_MULTI, commandBearers, familyVersion, attribute(attrBearer|unix.NLA_F_NESTED, attribute(attrName, []byte(name+"\x00"))))
		b = append(b, m...)
	}
	done := request(unix.NLMSG_DONE, unix.NLM_F_MULTI, 0, 0, nil)
	return append(b, done...)
}

func failure(err unix.Errno) []byte {
	b := request(unix.NLMSG_ERROR, 0, 0, 0, nil)
	binary.NativeEndian.PutUint32(b[unix.SizeofNlMsghdr:], uint32(-int32(err)))
	return b
}

// taken is what answers makes of bytes.
func taken(b []byte) (names []string, done bool, err error) {
	done, err = answers(b, func(attributes []byte) error {
		name, err := bearerName(attributes)
		names = append(names, name)
		return err
	})
	return names, done, err
}

func TestBearersOfAnswers(t *testing.T) {
	for _, want := range [][]string{nil, {"eth:eth0"}, {"eth:eth0", "udp:UDP1"}} {
		if names, done, err := taken(answersFor(want...)); err != nil || !done || !slices.Equal(names, want) {
			t.Errorf("%v: %v, %v, %v", want, names, done, err)
		}
	}
	if _, _, err := taken(failure(unix.EPERM)); !errors.Is(err, unix.EPERM) {
		t.Error(err)
	}
	if _, done, err := taken(failure(0)); err != nil || !done {
		t.Error(done, err)
	}
	other := append(request(30, unix.NLM_F_MULTI, commandBearers, familyVersion, attribute(9, []byte("x"))), answersFor()...)
	if _, _, err := taken(other); !errors.Is(err, errNetlink) {
		t.Errorf("no name: %v", err)
	}
}

// TestBearersHere: whatever this system has, the answer is a list or says what is missing.
func TestBearersHere(t *testing.T) {
	names, err := Bearers()
	if kernel := Check(); (kernel == nil) != (err == nil) || kernel != nil && !errors.Is(err, ErrKernel) {
		t.Errorf("bearers %v, %v; sockets: %v", names, err, kernel)
	}
}

// TestNetworkOfAnswers: the id has four bytes.
func TestNetworkOfAnswers(t *testing.T) {
	id := binary.NativeEndian.AppendUint32(nil, 4712)
	if n, err := networkID(attribute(attrNet|unix.NLA_F_NESTED, attribute(attrNetID, id))); err != nil || n != 4712 {
		t.Error(n, err)
	}
	for what, b := range map[string][]byte{
		"nothing":    nil,
		"another":    attribute(attrBearer, nil),
		"no id":      attribute(attrNet, attribute(9, id)),
		"three byte": attribute(attrNet, attribute(attrNetID, id[:3])),
	} {
		if n, err := networkID(b); !errors.Is(err, errNetlink) {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
}

// TestNetworkHere: a kernel with TIPC has an id.
func TestNetworkHere(t *testing.T) {
	id, err := Network()
	if kernel := Check(); (kernel == nil) != (err == nil && id != 0) || kernel != nil && !errors.Is(err, ErrKernel) {
		t.Errorf("network %d, %v; sockets: %v", id, err, kernel)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add(answersFor("eth:eth0", "udp:UDP1"))
	f.Add(failure(unix.ENOENT))
	f.Fuzz(func(t *testing.T, data []byte) {
		names, _, _ := taken(data)
		_, _ = networkID(data)
		if len(names) > len(data) {
			t.Errorf("%d names of %d bytes", len(names), len(data))
		}
	})
}
