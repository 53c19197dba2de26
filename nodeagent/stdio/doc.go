// Package stdio is what the standard streams of ranks need besides moving
// bytes: cutting output at line ends, so that many ranks can share a terminal;
// labels; the meaning of -o, -e and -i; and the files that output goes to.
//
// It opens, reads and polls nothing: the caller brings the bytes and a function
// that opens a file. Nothing here grows with what a rank prints. A writer that
// blocks makes Add wait, and with it the reader of the rank's pipe: that is the
// back-pressure.
//
//	lines := stdio.NewLines(3, stdio.Format{Label: true, Tasks: 16})
//	err := lines.Add(chunk, emit) // "03: hello\n" reaches emit
//	err = lines.End(emit)         // at the end of the stream
//
//	target, err := stdio.ParseTarget("out.%t", 16)
//	name, err := target.Pattern.Expand(filename.Values{Rank: 3, Node: "n1", Job: 7})
package stdio
