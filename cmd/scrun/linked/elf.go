package linked

import (
	"bytes"
	"debug/elf"
	"io"
)

// Layout of the header of a 64-bit ELF file and of a section's entry.
const (
	headerBytes   = 64
	atTable       = 40 // where the section table is
	atEntryBytes  = 58
	atEntries     = 60
	atNamesIndex  = 62
	sectionBytes  = 64
	atName        = 0
	atKind        = 4
	atOffset      = 24
	atSize        = 32
	functionsName = ".gopclntab"
)

// functionTable finds the Go linker's table of functions.
func functionTable(r io.ReaderAt) (span, error) {
	header, err := read(r, span{0, headerBytes})
	if err != nil {
		return span{}, err
	}
	if string(header[:4]) != elf.ELFMAG || elf.Class(header[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(header[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return span{}, errForeign
	}
	count, names := order.Uint16(header[atEntries:]), order.Uint16(header[atNamesIndex:])
	if order.Uint16(header[atEntryBytes:]) != sectionBytes || count > maxSections || names >= count {
		return span{}, errForeign
	}
	table, err := read(r, span{order.Uint64(header[atTable:]), uint64(count) * sectionBytes})
	if err != nil {
		return span{}, err
	}
	where := sectionAt(table, int(names))
	if where.size > maxSectionNames {
		return span{}, errForeign
	}
	text, err := read(r, where)
	if err != nil {
		return span{}, err
	}
	for i := range int(count) {
		entry := table[i*sectionBytes:]
		if elf.SectionType(order.Uint32(entry[atKind:])) == elf.SHT_PROGBITS && isFunctions(text, order.Uint32(entry[atName:])) {
			return sectionAt(table, i), nil
		}
	}
	return span{}, errForeign
}

func sectionAt(table []byte, i int) span {
	entry := table[i*sectionBytes:]
	return span{order.Uint64(entry[atOffset:]), order.Uint64(entry[atSize:])}
}

// isFunctions: position-independent programs have the section with a prefix (.data.rel.ro).
func isFunctions(names []byte, at uint32) bool {
	if uint64(at) >= uint64(len(names)) {
		return false
	}
	name, _, ok := bytes.Cut(names[at:], []byte{0})
	return ok && bytes.HasSuffix(name, []byte(functionsName))
}

// Layout of the header of the table (runtime.pcHeader), since Go 1.20.
const (
	tableMagic       = 0xfffffff1
	tableHeaderBytes = 48
	atPointerBytes   = 7
	atNamesOffset    = 32
	atUnitsOffset    = 40 // what follows the names
)

// functionNames finds the names in the table: each ends with a zero byte, in no order.
func functionNames(r io.ReaderAt, table span) (span, error) {
	header, err := read(r, span{table.offset, tableHeaderBytes})
	if err != nil {
		return span{}, err
	}
	if order.Uint32(header) != tableMagic || header[atPointerBytes] != 8 {
		return span{}, errForeign
	}
	return table.cut(order.Uint64(header[atNamesOffset:]), order.Uint64(header[atUnitsOffset:]))
}
