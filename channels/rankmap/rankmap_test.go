package rankmap

import (
	"errors"
	"net/netip"
	"os"
	"score/channels/link"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func at(text string) link.Address { return link.AddressOf(netip.MustParseAddrPort(text)) }

// maxRanks bounds the ranks of the maps that tests draw.
const maxRanks = 200

// maps draws a valid map, of addresses or of names.
func maps(t *rapid.T) *Map {
	nodes := rapid.IntRange(1, 9).Draw(t, "nodes")
	var directories []link.Address
	named := rapid.Bool().Draw(t, "named")
	names := link.NamesOf(rapid.Uint32().Draw(t, "type"), rapid.Uint64().Draw(t, "key"), uint32(nodes), maxRanks)
	for i := range nodes {
		if named {
			directories = append(directories, names.Directory(uint32(i)))
			continue
		}
		ip := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "ip4")))
		if rapid.Bool().Draw(t, "six") {
			ip = netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "ip6")))
		}
		if ip.IsUnspecified() || ip.Is4In6() {
			ip = netip.MustParseAddr("10.0.0.1")
		}
		directories = append(directories, link.AddressOf(netip.AddrPortFrom(ip, rapid.Uint16Min(1).Draw(t, "port"))))
	}
	nodeOf := rapid.SliceOfN(rapid.Uint32Range(0, uint32(nodes-1)), 1, maxRanks).Draw(t, "nodeOf")
	m, err := New(rapid.Uint32Range(0, uint32(nodes-1)).Draw(t, "own"), directories, nodeOf)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func same(a, b *Map) bool {
	return a.own == b.own && slices.Equal(a.directories, b.directories) && slices.Equal(a.nodeOf, b.nodeOf)
}

func TestFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := maps(t)
		for range 2 { // the position in the file is nobody's
			file, err := m.File()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteAt([]byte{1}, 0); err == nil {
				t.Fatal("the file can be written")
			}
			again, err := Open(file)
			if err != nil {
				t.Fatal(err)
			}
			if !same(m, again) {
				t.Fatalf("%+v became %+v", m, again)
			}
		}
	})
}

func TestQuestions(t *testing.T) {
	m, err := New(1, []link.Address{at("10.0.0.1:7"), at("10.0.0.2:7"), at("[::1]:9")}, []uint32{0, 1, 1, 2, 1})
	if err != nil {
		t.Fatal(err)
	}
	if m.Own() != 1 || m.Nodes() != 3 || m.Ranks() != 5 || !m.Remote() || !slices.Equal(m.Local(), []uint32{1, 2, 4}) {
		t.Errorf("%+v", m)
	}
	if m.Node(3) != 2 || m.Node(5) != NoNode || m.Node(NoNode) != NoNode {
		t.Error("nodes of ranks are wrong")
	}
	if m.Directory(2) != at("[::1]:9") || m.Directory(3) != (link.Address{}) {
		t.Error("directories are wrong")
	}
	alone, err := New(0, []link.Address{at("10.0.0.1:7")}, []uint32{0, 0})
	if err != nil || alone.Remote() {
		t.Error(alone, err)
	}
}

func TestNewRefuses(t *testing.T) {
	one := []link.Address{at("10.0.0.1:7")}
	for name, try := range map[string]func() (*Map, error){
		"no nodes":       func() (*Map, error) { return New(0, nil, []uint32{0}) },
		"no ranks":       func() (*Map, error) { return New(0, one, nil) },
		"own elsewhere":  func() (*Map, error) { return New(1, one, []uint32{0}) },
		"rank elsewhere": func() (*Map, error) { return New(0, one, []uint32{0, 1}) },
		"no address":     func() (*Map, error) { return New(0, []link.Address{{}}, []uint32{0}) },
		"no port":        func() (*Map, error) { return New(0, []link.Address{at("10.0.0.1:0")}, []uint32{0}) },
		"any address":    func() (*Map, error) { return New(0, []link.Address{at("0.0.0.0:7")}, []uint32{0}) },
	} {
		if _, err := try(); !errors.Is(err, ErrPlaces) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpenRefuses: files that may change, and sealed ones that hold something else.
func TestOpenRefuses(t *testing.T) {
	m, err := New(0, []link.Address{at("10.0.0.1:7")}, []uint32{0})
	if err != nil {
		t.Fatal(err)
	}
	good := m.encode()
	plain, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plain.Write(good); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(plain); !errors.Is(err, ErrPlaces) {
		t.Errorf("a plain file: %v", err)
	}
	for name, data := range map[string][]byte{"empty": {}, "short": good[:len(good)-1], "long": append(slices.Clone(good), 0)} {
		fd, err := unix.MemfdCreate("places-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err != nil {
			t.Fatal(err)
		}
		file := os.NewFile(uintptr(fd), name)
		if _, err := file.Write(data); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(file); !errors.Is(err, ErrPlaces) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDecode: what is accepted is a map, and encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	m, err := New(1, []link.Address{at("10.0.0.1:7"), at("[2001:db8::1]:9")}, []uint32{0, 1, 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m.encode())
	f.Add(m.encode()[:headBytes])
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decode(data)
		if err != nil {
			if !errors.Is(err, ErrPlaces) {
				t.Errorf("%v", err)
			}
			return
		}
		if string(m.encode()) != string(data) {
			t.Errorf("%x became %x", data, m.encode())
		}
	})
}

// TestNames: a map of names is one of a job's, side by side; addresses do not stand among them.
func TestNames(t *testing.T) {
	n := link.NamesOf(18888, 7, 2, 3)
	m, err := New(1, []link.Address{n.Directory(0), n.Directory(1)}, []uint32{0, 1, 1})
	if err != nil || !m.Named() || m.Names() != n {
		t.Fatalf("%+v, %v", m, err)
	}
	for what, directories := range map[string][]link.Address{
		"a gap":      {n.Directory(0), n.Directory(2)},
		"an address": {n.Directory(0), at("10.0.0.1:7")},
		"a name":     {at("10.0.0.1:7"), n.Directory(1)},
		"a socket":   {link.SocketAddress(1, 2), link.SocketAddress(1, 3)},
		"two types":  {n.Directory(0), link.NameAddress(18889, n.Base+1)},
		"the end":    {link.NameAddress(18888, 1<<32-3), link.NameAddress(18888, 1<<32-2)},
	} {
		if _, err := New(1, directories, []uint32{0, 1, 1}); !errors.Is(err, ErrPlaces) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
