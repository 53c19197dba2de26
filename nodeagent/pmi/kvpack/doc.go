// Package kvpack packs the key sets of a node's ranks (their business cards) for the way to the
// other nodes. It has no I/O, and knows neither jobs nor fences.
//
//	pack := kvpack.NewPack(size)
//	pack.Add(rank, key, value) // ranks in ascending order
//	data := pack.Append(nil)
//
//	err := kvpack.Read(data, limits, func(rank int, key, value string) error { ... })
//
// The form, in numbers of unsigned LEB128:
//
//	data := 0 body                  as it is
//	      | 1 size tokens           squeezed: what came before is pointed at
//	body := n n*key m m*set         the table of distinct keys, then the sets
//	key  := shared own bytes hole   length shared with the key before, own length; hole-1 is where
//	                                the rank's number stands in decimal digits, 0: nowhere
//	set  := rank p p*(index value)  rank counted from the one before, plus one
//	value := size bytes             size*4, +1 for capital hex digits packed two to a byte, +2 for small ones
//	token := n bytes length back    n bytes as they are, then length-1 more bytes that stand back
//	                                bytes before; a length of 0 is none, and without back
//
// So a process takes one byte instead of its name space and rank, a key one byte (even if it
// contains the rank), and a size one or two bytes. Parts that the cards of a node share (addresses
// of the host, attributes of its interfaces) are there once. Random data is not shortened.
//
// Input is hostile: every number is checked, and the memory that reading takes is bounded by
// MaxGrowth.
package kvpack
