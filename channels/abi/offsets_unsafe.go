package abi

import "unsafe"

// Offsets in bytes of the fields that programs access by atomic operations, from the start of their
// structure. They follow from the structures, which the C header has, too.
const (
	StatusSleepingAt = uint64(unsafe.Offsetof(Status{}.Sleeping))
	StatusGoneAt     = uint64(unsafe.Offsetof(Status{}.Gone))
	StatusWaitsAt    = uint64(unsafe.Offsetof(Status{}.Waits))
	StatusSinceAt    = uint64(unsafe.Offsetof(Status{}.Since))
	StatusWantedAt   = uint64(unsafe.Offsetof(Status{}.Wanted))
	StatusOffersAt   = uint64(unsafe.Offsetof(Status{}.Offers))
	StatusRecallsAt  = uint64(unsafe.Offsetof(Status{}.Recalls))

	LockRevokedAt = uint64(unsafe.Offsetof(Lock{}.Revoked))
	LockWantedAt  = uint64(unsafe.Offsetof(Lock{}.Wanted))
	LockLastAt    = uint64(unsafe.Offsetof(Lock{}.Last))
	LockDrivesAt  = uint64(unsafe.Offsetof(Lock{}.Drives))
	LockDueAt     = uint64(unsafe.Offsetof(Lock{}.Due))
	LockAwayAt    = uint64(unsafe.Offsetof(Lock{}.Away))
	LockPeerAt    = uint64(unsafe.Offsetof(Lock{}.Peer))
	LockSeqAt     = uint64(unsafe.Offsetof(Lock{}.Seq))
	LockGotAt     = uint64(unsafe.Offsetof(Lock{}.Got))
	LockTailAt    = uint64(unsafe.Offsetof(Lock{}.Tail))
	LockExtraAt   = uint64(unsafe.Offsetof(Lock{}.Extra))
	LockLocatedAt = uint64(unsafe.Offsetof(Lock{}.Located))

	OwnerStartAt = uint64(unsafe.Offsetof(Owner{}.Start))
	OwnerSpaceAt = uint64(unsafe.Offsetof(Owner{}.Space))
	OwnerBytes   = uint64(unsafe.Sizeof(Owner{}))

	WaitersBitsAt = uint64(unsafe.Offsetof(Waiters{}.Bits))

	LaneRecallAt = uint64(unsafe.Offsetof(Lane{}.Recall))
	LaneOwnerAt  = uint64(unsafe.Offsetof(Lane{}.Owner))
	LaneTailAt   = uint64(unsafe.Offsetof(Lane{}.Tail))
	SharedTailAt = uint64(unsafe.Offsetof(Shared{}.Tail))

	PeerFirstAt      = uint64(unsafe.Offsetof(Peer{}.First)) // in one word with Last
	PeerLastAt       = uint64(unsafe.Offsetof(Peer{}.Last))
	ArrivalGotAt     = uint64(unsafe.Offsetof(Arrival{}.Got))
	LocalPeerGoneAt  = uint64(unsafe.Offsetof(LocalPeer{}.Gone))
	LocalPeerStartAt = uint64(unsafe.Offsetof(LocalPeer{}.Start))
	LocalPeerSpaceAt = uint64(unsafe.Offsetof(LocalPeer{}.Space))

	KeptLengthAt = uint64(unsafe.Offsetof(Kept{}.Length))
	KeptPeerAt   = uint64(unsafe.Offsetof(Kept{}.Peer)) // in one word with First
	KeptFirstAt  = uint64(unsafe.Offsetof(Kept{}.First))
	KeptFramesAt = uint64(unsafe.Offsetof(Kept{}.Frames))
)
