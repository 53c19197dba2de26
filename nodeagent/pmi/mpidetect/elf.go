package mpidetect

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// file reads the headers of an ELF file of either class and byte order.
type file struct {
	r     io.ReaderAt
	order binary.ByteOrder
	class elf.Class
	// rpath and runpath are the search paths for libraries that the file names.
	rpath, runpath []string
}

// segment has the needed fields of a program header.
type segment struct {
	kind                  elf.ProgType
	offset, address, size uint64
}

func indexOf(segments []segment, kind elf.ProgType) int {
	return slices.IndexFunc(segments, func(s segment) bool { return s.kind == kind })
}

// header reads the file header, in its 64-bit form for both classes.
func (f *file) header() (elf.Header64, error) {
	if f.class == elf.ELFCLASS64 {
		var h elf.Header64
		text, err := f.bytes(0, uint64(binary.Size(h)))
		if err == nil {
			_, err = binary.Decode(text, f.order, &h)
		}
		return h, err
	}
	var h elf.Header32
	text, err := f.bytes(0, uint64(binary.Size(h)))
	if err == nil {
		_, err = binary.Decode(text, f.order, &h)
	}
	return elf.Header64{Machine: h.Machine, Phoff: uint64(h.Phoff), Phentsize: h.Phentsize, Phnum: h.Phnum}, err
}

func (f *file) segments(header elf.Header64) ([]segment, error) {
	if header.Phnum > maxSegments {
		return nil, damaged("%d program headers, the most is %d", header.Phnum, maxSegments)
	}
	size := uint64(binary.Size(elf.Prog64{}))
	if f.class == elf.ELFCLASS32 {
		size = uint64(binary.Size(elf.Prog32{}))
	}
	if header.Phnum > 0 && uint64(header.Phentsize) != size {
		return nil, damaged("program headers of %d bytes", header.Phentsize)
	}
	table, err := f.bytes(header.Phoff, size*uint64(header.Phnum))
	if err != nil {
		return nil, err
	}
	segments := make([]segment, 0, header.Phnum)
	for ; len(table) > 0; table = table[size:] {
		s, err := f.segment(table)
		if err != nil {
			return nil, err
		}
		segments = append(segments, s)
	}
	return segments, nil
}

func (f *file) segment(text []byte) (segment, error) {
	if f.class == elf.ELFCLASS64 {
		var p elf.Prog64
		_, err := binary.Decode(text, f.order, &p)
		return segment{elf.ProgType(p.Type), p.Off, p.Vaddr, p.Filesz}, err
	}
	var p elf.Prog32
	_, err := binary.Decode(text, f.order, &p)
	return segment{elf.ProgType(p.Type), uint64(p.Off), uint64(p.Vaddr), uint64(p.Filesz)}, err
}

// needed reads the names of the libraries from the dynamic segment.
func (f *file) needed(segments []segment, dynamic segment) ([]string, error) {
	entries, err := f.dynamic(dynamic)
	if err != nil {
		return nil, err
	}
	var places, rpath, runpath []uint64
	var table, size uint64
	for _, entry := range entries {
		switch elf.DynTag(entry.Tag) {
		case elf.DT_STRTAB:
			table = entry.Val
		case elf.DT_STRSZ:
			size = entry.Val
		case elf.DT_NEEDED:
			places = append(places, entry.Val)
		case elf.DT_RPATH:
			rpath = append(rpath, entry.Val)
		case elf.DT_RUNPATH:
			runpath = append(runpath, entry.Val)
		default:
		}
	}
	if len(places) > maxNeeded {
		return nil, damaged("%d libraries, the most is %d", len(places), maxNeeded)
	}
	if n := len(rpath) + len(runpath); n > maxPaths {
		return nil, damaged("%d search paths, the most is %d", n, maxPaths)
	}
	if f.rpath, err = f.names(segments, table, size, rpath); err != nil {
		return nil, err
	}
	if f.runpath, err = f.names(segments, table, size, runpath); err != nil {
		return nil, err
	}
	return f.names(segments, table, size, places)
}

// dynamic reads the dynamic segment up to its end mark.
func (f *file) dynamic(s segment) ([]elf.Dyn64, error) {
	size := uint64(binary.Size(elf.Dyn64{}))
	if f.class == elf.ELFCLASS32 {
		size = uint64(binary.Size(elf.Dyn32{}))
	}
	if s.size > maxDynamic*size {
		return nil, damaged("a dynamic segment of %d bytes", s.size)
	}
	text, err := f.bytes(s.offset, s.size-s.size%size)
	if err != nil {
		return nil, err
	}
	var entries []elf.Dyn64
	for ; len(text) > 0; text = text[size:] {
		entry, err := f.entry(text)
		if err != nil {
			return nil, err
		}
		if elf.DynTag(entry.Tag) == elf.DT_NULL {
			break
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func (f *file) entry(text []byte) (elf.Dyn64, error) {
	if f.class == elf.ELFCLASS64 {
		var entry elf.Dyn64
		_, err := binary.Decode(text, f.order, &entry)
		return entry, err
	}
	var entry elf.Dyn32
	_, err := binary.Decode(text, f.order, &entry)
	return elf.Dyn64{Tag: int64(entry.Tag), Val: uint64(entry.Val)}, err
}

// names reads the strings at the given places of the string table.
func (f *file) names(segments []segment, table, size uint64, places []uint64) ([]string, error) {
	names := make([]string, 0, len(places))
	for _, place := range places {
		if place >= size {
			return nil, damaged("a library name outside the string table")
		}
		offset, ok := fileOffset(segments, table+place)
		if !ok {
			return nil, damaged("the string table is in no segment")
		}
		name, err := f.text(offset)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// fileOffset returns the offset in the file of an address in memory.
func fileOffset(segments []segment, address uint64) (uint64, bool) {
	for _, s := range segments {
		if s.kind == elf.PT_LOAD && address >= s.address && address-s.address < s.size {
			return s.offset + (address - s.address), true
		}
	}
	return 0, false
}

func (f *file) text(offset uint64) (string, error) {
	if offset > 1<<62 {
		return "", damaged("offset %#x", offset)
	}
	buffer := make([]byte, maxText+1)
	n, err := f.r.ReadAt(buffer, int64(offset))
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	end := bytes.IndexByte(buffer[:n], 0)
	if end < 0 {
		return "", damaged("a library name or path of more than %d bytes", maxText)
	}
	return string(buffer[:end]), nil
}

// bytes reads a piece of the file; the callers bound its size.
func (f *file) bytes(offset, size uint64) ([]byte, error) {
	if offset > 1<<62 {
		return nil, damaged("offset %#x", offset)
	}
	text := make([]byte, size)
	n, err := f.r.ReadAt(text, int64(offset))
	if n == len(text) {
		return text, nil
	}
	if errors.Is(err, io.EOF) {
		err = damaged("it ends before its headers do")
	}
	return nil, err
}
