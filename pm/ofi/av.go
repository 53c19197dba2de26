package ofi

import (
	"encoding/binary"
	"fmt"
	"score/pm/interjob"
	"score/pm/tag"
)

// Address is an index of an address vector.
type Address uint64

// AnyAddress is no address: a receive from it takes messages of all peers.
const AnyAddress = ^Address(0)

// nameMagic begins each name; its last byte is the version of the form.
const nameMagic = 0x53_50_4d_02 // SPM, 2

// Places in a name: magic, the job's size, port, and the address for ranks of other jobs, which has
// the job and the rank.
const (
	ranksAt   = 4
	portAt    = 8
	addressAt = 12
)

// AV is an address vector: it numbers peers in the order in which they were inserted.
type AV struct {
	d       *Domain
	peers   []tag.Peer
	names   [][NameBytes]byte // as they were inserted
	removed map[Address]bool
	index   [tag.Ports][]Address // by port, then rank: the address and 1, 0 for none
}

// AV returns an empty address vector.
func (d *Domain) AV() *AV {
	return &AV{d: d, removed: map[Address]bool{}}
}

// Insert numbers the peer of a name. The error is ErrAddress.
func (v *AV) Insert(name []byte) (Address, error) {
	p, err := v.d.parseName(name)
	if err != nil {
		return AnyAddress, err
	}
	a := Address(len(v.peers))
	v.peers, v.names = append(v.peers, p), append(v.names, [NameBytes]byte(name))
	if v.index[p.Port] == nil {
		v.index[p.Port] = make([]Address, v.d.iface.Ranks())
	}
	for int(p.Rank) >= len(v.index[p.Port]) {
		v.index[p.Port] = append(v.index[p.Port], 0) // of another job
	}
	v.index[p.Port][p.Rank] = a + 1
	return a, nil
}

// Remove forgets an address. Its number is not given to another peer.
func (v *AV) Remove(a Address) error {
	p, err := v.peer(a)
	if err != nil {
		return err
	}
	v.removed[a] = true
	if v.index[p.Port][p.Rank] != a+1 {
		return nil
	}
	v.index[p.Port][p.Rank] = 0
	for other, peer := range v.peers {
		if peer == p && !v.removed[Address(other)] {
			v.index[p.Port][p.Rank] = Address(other) + 1 // it was inserted more than once
		}
	}
	return nil
}

// Name returns the name that was inserted as the address.
func (v *AV) Name(a Address) ([NameBytes]byte, error) {
	if _, err := v.peer(a); err != nil {
		return [NameBytes]byte{}, err
	}
	return v.names[a], nil
}

func (v *AV) peer(a Address) (tag.Peer, error) {
	if v == nil || uint64(a) >= uint64(len(v.peers)) || len(v.removed) > 0 && v.removed[a] {
		return tag.Peer{}, ErrAddress
	}
	return v.peers[a], nil
}

// source returns the peer as the source of a receive.
func (v *AV) source(a Address) (tag.Peer, error) {
	if a == AnyAddress {
		return tag.AnyPeer, nil
	}
	return v.peer(a)
}

// address is the peer's number, or AnyAddress if it has none.
func (v *AV) address(p tag.Peer) Address {
	if v == nil {
		return AnyAddress
	}
	if ranks := v.index[p.Port%tag.Ports]; uint(p.Rank) < uint(len(ranks)) {
		return ranks[p.Rank] - 1 // 0 becomes AnyAddress
	}
	return AnyAddress
}

// name returns the name of a port of this rank. It includes the address for ranks of other jobs, if
// the system has a socket for them.
func (d *Domain) name(port uint8) (b [NameBytes]byte) {
	binary.LittleEndian.PutUint32(b[0:], nameMagic)
	binary.LittleEndian.PutUint32(b[ranksAt:], uint32(d.iface.Ranks()))
	b[portAt] = port
	address, err := d.iface.Address()
	if err != nil {
		address = interjob.Address{Job: d.iface.Channel().Job(), Rank: uint32(d.iface.Rank())}
	}
	encoded := address.Encode()
	copy(b[addressAt:], encoded[:])
	return b
}

func (d *Domain) parseName(b []byte) (tag.Peer, error) {
	if len(b) < NameBytes || binary.LittleEndian.Uint32(b) != nameMagic || b[portAt] >= tag.Ports {
		return tag.Peer{}, fmt.Errorf("%w: the name is none of this provider's", ErrAddress)
	}
	address, err := interjob.ParseAddress(b[addressAt:])
	if address.Job == d.iface.Channel().Job() {
		if ranks := binary.LittleEndian.Uint32(b[ranksAt:]); ranks != uint32(d.iface.Ranks()) || address.Rank >= ranks {
			return tag.Peer{}, fmt.Errorf("%w: the job has no such rank", ErrAddress)
		}
		return tag.Peer{Rank: address.Rank, Port: b[portAt]}, nil
	}
	if err != nil {
		return tag.Peer{}, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	ep, err := d.iface.Connect(address)
	if err != nil {
		return tag.Peer{}, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	return tag.Peer{Rank: uint32(ep.Rank()), Port: b[portAt]}, nil
}
