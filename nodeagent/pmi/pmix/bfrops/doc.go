// Package bfrops packs and unpacks the values of PMIx messages ("buffer
// operations", the name that libpmix gives to it) in the two encodings that
// clients choose from by the name of the variable they find their server by:
//
//	V41   counts and integers as LEB128, signed ones in zig-zag (PMIX_SERVER_URI41, URI4)
//	V3    fixed widths in network order, sizes and ints with a type mark (PMIX_SERVER_URI3)
//
// Both are without descriptions of types (PMIX_BFROP_BUFFER_NON_DESC). What
// comes in is not trusted: each length and count is checked against what is left
// of the message, each value counted against [MaxValues], each nesting against
// [MaxDepth].
//
//	r := bfrops.NewReader(bfrops.V41, payload)
//	command := r.Command()
//	if err := r.Err(); err != nil { ... }
package bfrops
