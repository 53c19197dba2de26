package channels

import (
	"score/channels/abi"
	"sync/atomic"
)

// register records that this process writes as the rank, so that others can
// find out whether it still lives.
func (img *Image) register(rank uint32) error {
	me, err := Self()
	if err != nil {
		return err
	}
	at := img.layout.Peer(rank)
	if err := img.ensure(at, abi.PeerBytes); err != nil {
		return err
	}
	atomic.StoreUint64(img.mem.u64(at+abi.LocalPeerStartAt), me.Start)
	atomic.StoreUint64(img.mem.u64(at+abi.LocalPeerSpaceAt), me.Space)
	atomic.StoreUint32(img.mem.u32(at), me.Pid)
	return nil
}

// writer is the process that writes as the rank.
func (img *Image) writer(rank uint32) Process {
	at := img.layout.Peer(rank)
	if img.ensure(at, abi.PeerBytes) != nil {
		return Process{}
	}
	return Process{
		Pid:   atomic.LoadUint32(img.mem.u32(at)),
		Start: atomic.LoadUint64(img.mem.u64(at + abi.LocalPeerStartAt)),
		Space: atomic.LoadUint64(img.mem.u64(at + abi.LocalPeerSpaceAt)),
	}
}

// writerDead reports whether whoever writes as the rank surely died.
func (img *Image) writerDead(rank uint32) bool {
	if _, ok := img.index(rank); !ok {
		return false
	}
	return img.PeerGone(rank) || img.writer(rank).Dead()
}
