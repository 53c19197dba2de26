package rankmap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"score/channels/abi"
	"score/channels/link"

	"golang.org/x/sys/unix"
)

// The file: a head, the nodes' addresses, the ranks' nodes. Numbers are little-endian.
//
//	head     magic, own, nodes, ranks      4 bytes each
//	node     address 16 · port 2 · family 2 (4 or 6; an IPv4 address is IPv4-mapped)
//	         type 4 · instance 4 · 0 10 · family 2 (30; a TIPC name)
//	rank     node 4
const (
	magic     = 0x314c5053 // "SPL1"
	headBytes = 16
	nodeBytes = 20
	rankBytes = 4
	maxBytes  = headBytes + MaxNodes*nodeBytes + abi.MaxRanks*rankBytes
)

// seals: whoever has the file reads the same bytes for ever.
const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// File is a new sealed file that holds the map, to be handed to the ranks. The
// caller closes it.
func (m *Map) File() (*os.File, error) {
	const name = "score-places"
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	file := os.NewFile(uintptr(fd), name)
	_, err = file.Write(m.encode())
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("places: writing the map: %w", err)
	}
	return file, nil
}

// Open reads and checks a map. It takes the file over, also when it fails.
func Open(file *os.File) (*Map, error) {
	defer file.Close()
	got, err := unix.FcntlInt(file.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || got&seals != seals {
		return nil, fmt.Errorf("%w: the file can still be changed", ErrPlaces)
	}
	info, err := file.Stat()
	if err != nil || info.Size() < headBytes || info.Size() > maxBytes {
		return nil, fmt.Errorf("%w: impossible length", ErrPlaces)
	}
	data := make([]byte, info.Size())
	// The descriptor's position belongs to all who have it.
	if _, err := file.ReadAt(data, 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlaces, err)
	}
	return decode(data)
}

func (m *Map) encode() []byte {
	b := make([]byte, 0, headBytes+len(m.directories)*nodeBytes+len(m.nodeOf)*rankBytes)
	for _, v := range [...]uint32{magic, m.own, m.Nodes(), m.Ranks()} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, d := range m.directories {
		if kind, instance, ok := d.Name(); ok {
			b = appendName(b, kind, instance)
			continue
		}
		at := d.AddrPort()
		ip, family := at.Addr().As16(), uint16(6)
		if at.Addr().Unmap().Is4() {
			family = 4
		}
		b = append(b, ip[:]...)
		b = binary.LittleEndian.AppendUint16(b, at.Port())
		b = binary.LittleEndian.AppendUint16(b, family)
	}
	for _, node := range m.nodeOf {
		b = binary.LittleEndian.AppendUint32(b, node)
	}
	return b
}

func decode(b []byte) (*Map, error) {
	if len(b) < headBytes || binary.LittleEndian.Uint32(b) != magic {
		return nil, fmt.Errorf("%w: it begins with other bytes", ErrPlaces)
	}
	own := binary.LittleEndian.Uint32(b[4:])
	nodes, ranks := uint64(binary.LittleEndian.Uint32(b[8:])), uint64(binary.LittleEndian.Uint32(b[12:]))
	if nodes > MaxNodes || ranks > abi.MaxRanks || uint64(len(b)) != headBytes+nodes*nodeBytes+ranks*rankBytes {
		return nil, fmt.Errorf("%w: %d bytes for %d nodes and %d ranks", ErrPlaces, len(b), nodes, ranks)
	}
	m := &Map{own: own, directories: make([]link.Address, nodes), nodeOf: make([]uint32, ranks)}
	b = b[headBytes:]
	for i := range m.directories {
		at, ok := decodeNode(b[:nodeBytes])
		if !ok {
			return nil, fmt.Errorf("%w: address of node %d", ErrPlaces, i)
		}
		m.directories[i], b = at, b[nodeBytes:]
	}
	for i := range m.nodeOf {
		m.nodeOf[i] = binary.LittleEndian.Uint32(b[i*rankBytes:])
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

func appendName(b []byte, kind, instance uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = binary.LittleEndian.AppendUint32(b, instance)
	b = append(b, make([]byte, nameZeros)...)
	return binary.LittleEndian.AppendUint16(b, unix.AF_TIPC)
}

// nameZeros is how many bytes of an entry with a name are not used.
const nameZeros = nodeBytes - 4 - 4 - 2

// decodeNode takes one entry apart: only what encode writes is accepted.
func decodeNode(b []byte) (link.Address, bool) {
	ip := netip.AddrFrom16([16]byte(b[:16]))
	port, family := binary.LittleEndian.Uint16(b[16:]), binary.LittleEndian.Uint16(b[18:])
	switch {
	case family == unix.AF_TIPC:
		return link.NameAddress(binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])), [nameZeros]byte(b[8:18]) == [nameZeros]byte{}
	case family == 4 && ip.Is4In6():
		ip = ip.Unmap()
	case family != 6 || ip.Is4In6():
		return link.Address{}, false
	}
	return link.AddressOf(netip.AddrPortFrom(ip, port)), true
}
