// Package abi is the layout of a context image: the memory that holds all
// network state of one rank on one channel. Programs in other languages and
// other versions of this library map the same bytes, so nothing here changes
// without a new Version.
//
// The package only says where things are and what they mean. Mapping the
// memory, and the protocols on it, are package channels; ../DESIGN.md explains
// both. The C header ../score_channel.h is generated from these types.
//
//	layout, err := abi.Geometry{Ranks: 64, LocalRanks: 16}.WithDefaults().Layout()
//	at := layout.Peer(rank) // offset of the peer's 128 bytes
package abi
