package fabric

import (
	"bytes"
	"errors"
	"io"
)

// gasnetMark is the text in GASNet programs that lists the providers of libfabric for which GASNet
// was configured, here pm alone. Such a program ends in its first call without the library of the
// channels.
const gasnetMark = "$GASNetOfiProvidersSupported: pm $"

// maxSearched bounds the bytes of a program that are searched. Marks are among its constants,
// before the tables for debuggers.
const maxSearched = 256 << 20

// onlyPM reports whether the file contains the mark.
func onlyPM(program string) bool { return fileContains(program, gasnetMark) }

// contains reports whether the text of r contains mark.
func contains(r io.Reader, mark []byte) (bool, error) {
	buffer := make([]byte, 1<<20)
	kept := 0 // bytes at the beginning that may hold the start of a mark
	for {
		n, err := io.ReadFull(r, buffer[kept:])
		text := buffer[:kept+n]
		switch {
		case bytes.Contains(text, mark):
			return true, nil
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, err
		}
		kept = copy(buffer, text[len(text)-len(mark)+1:])
	}
}
