// Package stdio formats the standard streams of ranks: it cuts output at line ends, so that many
// ranks can share a terminal, adds labels, parses -o, -e and -i, and writes output files.
//
// It opens, reads and polls nothing: the caller provides the bytes and a function that opens a
// file. Its memory does not grow with the output. If a writer blocks, Add waits, and so does the
// reader of the rank's pipe: that is the back-pressure.
//
//	lines := stdio.NewLines(3, stdio.Format{Label: true, Tasks: 16})
//	err := lines.Add(chunk, emit) // "03: hello\n" reaches emit
//	err = lines.End(emit)         // at the end of the stream
//
//	target, err := stdio.ParseTarget("out.%t", 16)
//	name, err := target.Pattern.Expand(filename.Values{Rank: 3, Node: "n1", Job: 7})
package stdio
