// Package bfrops packs and unpacks the values of PMIx messages. Libpmix calls this "buffer
// operations". There are two encodings. A client chooses one by the environment variable with which
// it finds its server:
//
//	V41   counts and integers as LEB128, signed ones in zig-zag (PMIX_SERVER_URI41, URI4)
//	V3    fixed widths in network order, sizes and ints with a type mark (PMIX_SERVER_URI3)
//
// Both are without descriptions of types (PMIX_BFROP_BUFFER_NON_DESC). Reader does not trust its
// input: it checks each length and count against the rest of the message, the number of values
// against [MaxValues], and their nesting against [MaxDepth]. types.go lists the types and how each
// is written.
//
//	r := bfrops.NewReader(bfrops.V41, payload)
//	command := r.Command()
//	if err := r.Err(); err != nil { ... }
package bfrops
