package mpidetect

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"score/nodeagent/userfs"
	"syscall"
)

// ErrDamaged means that the headers of an ELF file contradict each other. The kernel would refuse
// most such files, too.
var ErrDamaged = errors.New("damaged ELF file")

// Bounds on the data read from a file, so that a hostile file takes neither memory nor time. Real
// programs stay far below.
const (
	// maxSegments bounds the program headers; compilers make about 13.
	maxSegments = 128
	// maxDynamic bounds the dynamic entries; about 30 are usual.
	maxDynamic = 4096
	// maxNeeded bounds the libraries that the file itself names.
	maxNeeded = 256
	// maxPaths bounds the search paths in a file; one or two are usual.
	maxPaths = 8
	// maxText bounds the length of a library's name or a search path: file names have up to 255
	// bytes, and paths name a few directories.
	maxText = 2047
)

// Inspect returns the report on the file at path. Errors are those of opening and reading, and
// ErrDamaged.
func Inspect(path string) (Report, error) {
	// A pipe must block neither opening nor reading, and a terminal must not become the caller's.
	file, err := userfs.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Report{}, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return Report{}, err
	}
	return inspectReader(file)
}

// inspectReader is like Inspect, for an open file.
func inspectReader(r io.ReaderAt) (Report, error) {
	var ident [elf.EI_NIDENT]byte
	if n, err := r.ReadAt(ident[:], 0); n < len(ident) {
		if errors.Is(err, io.EOF) {
			// Too short for a binary; the kernel will decide what it is.
			return Report{}, nil
		}
		return Report{}, err
	}
	if !bytes.HasPrefix(ident[:], []byte(elf.ELFMAG)) {
		return Report{}, nil
	}
	f := file{r: r, class: elf.Class(ident[elf.EI_CLASS])}
	switch elf.Data(ident[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		f.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		f.order = binary.BigEndian
	default:
		return Report{}, damaged("byte order %d", ident[elf.EI_DATA])
	}
	if f.class != elf.ELFCLASS32 && f.class != elf.ELFCLASS64 {
		return Report{}, damaged("class %d", ident[elf.EI_CLASS])
	}
	return f.inspect()
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

func (f *file) inspect() (Report, error) {
	report := Report{ELF: true, Class: f.class}
	header, err := f.header()
	if err != nil {
		return report, err
	}
	report.Machine = elf.Machine(header.Machine)
	segments, err := f.segments(header)
	if err != nil {
		return report, err
	}
	if at := indexOf(segments, elf.PT_DYNAMIC); at >= 0 {
		if report.Needed, err = f.needed(segments, segments[at]); err != nil {
			return report, err
		}
	}
	report.Family = familyOf(report.Needed)
	report.rpath, report.runpath = f.rpath, f.runpath
	if len(report.Needed) == 0 && indexOf(segments, elf.PT_INTERP) < 0 {
		report.Family = StaticUnknown
	}
	return report, nil
}
