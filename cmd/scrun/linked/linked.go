// Package linked finds out whether a program's file contains package pm, so that scrun can ask for
// channels by itself.
//
// A Go program contains the names of its functions for tracebacks, even if it was stripped
// (-ldflags="-s -w", strip). Package pm has a function whose name identifies the package. So linked
// reads little: the ELF header, the section table and those names, a few 100 KB.
//
//	if linked.PM("/home/ada/a.out") { ... }
package linked

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// marker is the function of package pm, with the ends of its name in the table.
const marker = "\x00score/pm.linkedIntoProgram\x00"

// Bounds on what is read, so that no file takes long.
const (
	// maxSections: the Go linker makes about 25, with debugging information and cgo 50.
	maxSections = 256
	// maxSectionNames is some times what those have.
	maxSectionNames = 64 << 10
	// maxNames bounds the functions' names: a program of 100 MB has 5 MB of them.
	maxNames = 8 << 20
	// chunk is read at a time: what fits a cache near the processor.
	chunk = 64 << 10
)

// errForeign is any file that is not a Go program for machines like ours.
var errForeign = errors.New("not a Go program")

// PM reports whether the file is a Go program that contains package pm. It returns false for
// everything that it cannot read or does not understand: a script, a program of another language or
// machine, a packed one.
func PM(path string) bool {
	// A pipe must not block the opening.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	return find(file)
}

func find(r io.ReaderAt) bool {
	table, err := functionTable(r)
	if err != nil {
		return false
	}
	names, err := functionNames(r, table)
	if err != nil {
		return false
	}
	return hasMarker(r, names)
}

// span is a part of a file.
type span struct{ offset, size uint64 }

// cut is the part of a span from one offset to another, if it has such a part.
func (s span) cut(from, to uint64) (span, error) {
	if from > to || to > s.size {
		return span{}, errForeign
	}
	return span{s.offset + from, to - from}, nil
}

func read(r io.ReaderAt, s span) ([]byte, error) {
	if s.offset > 1<<62 {
		return nil, errForeign
	}
	data := make([]byte, s.size)
	if n, err := r.ReadAt(data, int64(s.offset)); n < len(data) {
		return nil, errors.Join(errForeign, err)
	}
	return data, nil
}

// hasMarker looks for the marker in a part of a file, which must not be larger than maxNames.
func hasMarker(r io.ReaderAt, s span) bool {
	if s.size > maxNames || s.offset > 1<<62 {
		return false
	}
	wanted, overlap := []byte(marker), len(marker)-1
	data := make([]byte, overlap+chunk)
	kept := 0
	for s.size > 0 {
		part := min(s.size, chunk)
		if n, _ := r.ReadAt(data[kept:kept+int(part)], int64(s.offset)); n < int(part) {
			return false
		}
		have := data[:kept+int(part)]
		if bytes.Contains(have, wanted) {
			return true
		}
		kept = copy(data, have[max(0, len(have)-overlap):])
		s.offset, s.size = s.offset+part, s.size-part
	}
	return false
}

var order = binary.LittleEndian // of all machines that the cluster runs on
