package mpidetect

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// buildELF makes an executable that names the libraries.
func buildELF(class elf.Class, order binary.ByteOrder, machine elf.Machine, interpreted bool, needed ...string) []byte {
	const tableAt, dynamicAt = 0x400, 0x1000
	table := []byte{0}
	var dynamic []elf.Dyn64
	for _, name := range needed {
		dynamic = append(dynamic, elf.Dyn64{Tag: int64(elf.DT_NEEDED), Val: uint64(len(table))})
		table = append(append(table, name...), 0)
	}
	dynamic = append(dynamic,
		elf.Dyn64{Tag: int64(elf.DT_STRTAB), Val: 0x10000 + tableAt},
		elf.Dyn64{Tag: int64(elf.DT_STRSZ), Val: uint64(len(table))},
		elf.Dyn64{Tag: int64(elf.DT_NULL)},
	)
	segments := []elf.Prog64{{Type: uint32(elf.PT_LOAD), Vaddr: 0x10000, Filesz: 0x4000}}
	if interpreted {
		segments = append(segments, elf.Prog64{Type: uint32(elf.PT_INTERP), Off: 0x300, Filesz: 16})
	}
	segments = append(segments, elf.Prog64{Type: uint32(elf.PT_DYNAMIC), Off: dynamicAt, Filesz: uint64(len(dynamic)) * 16})

	file := make([]byte, 0x4000)
	put := func(at int, value any) int {
		n, err := binary.Encode(file[at:], order, value)
		if err != nil {
			panic(err)
		}
		return at + n
	}
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(class), byte(elf.ELFDATA2LSB), 1}
	if order.String() == binary.BigEndian.String() {
		ident[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	}
	copy(file[tableAt:], table)
	at := dynamicAt
	if class == elf.ELFCLASS64 {
		next := put(0, elf.Header64{
			Ident: ident, Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Phoff: 64,
			Phentsize: uint16(binary.Size(elf.Prog64{})), Phnum: uint16(len(segments)),
		})
		for _, s := range segments {
			next = put(next, s)
		}
		for _, d := range dynamic {
			at = put(at, d)
		}
		return file
	}
	next := put(0, elf.Header32{
		Ident: ident, Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Phoff: 52,
		Phentsize: uint16(binary.Size(elf.Prog32{})), Phnum: uint16(len(segments)),
	})
	for _, s := range segments {
		next = put(next, elf.Prog32{Type: s.Type, Off: uint32(s.Off), Vaddr: uint32(s.Vaddr), Filesz: uint32(s.Filesz)})
	}
	for _, d := range dynamic {
		at = put(at, elf.Dyn32{Tag: int32(d.Tag), Val: uint32(d.Val)})
	}
	return file
}

func amd64(needed ...string) []byte {
	return buildELF(elf.ELFCLASS64, binary.LittleEndian, elf.EM_X86_64, true, needed...)
}

func TestFamilies(t *testing.T) {
	for _, tt := range []struct {
		name string
		file []byte
		want Family
	}{
		{"Debian's MPICH", amd64("libmpich.so.12", "libc.so.6"), MPICH},
		{"MPICH's own name", amd64("libm.so.6", "libmpi.so.12", "libc.so.6"), MPICH},
		{"MPICH from Fortran", amd64("libmpifort.so.12", "libc.so.6"), MPICH},
		{"Open MPI 4", amd64("libmpi.so.40", "libc.so.6"), OpenMPI},
		{"Open MPI 2", amd64("libmpi.so.20"), OpenMPI},
		{"Open MPI from Fortran", amd64("libmpi_usempif08.so.40"), OpenMPI},
		{"PMIx without MPI", amd64("libpmix.so.2"), PMIx},
		{"PMIx before Open MPI", amd64("libpmix.so.2", "libmpi.so.40"), OpenMPI},
		{"Open MPI before PMIx", amd64("libmpi.so.40", "libpmix.so.2"), OpenMPI},
		{"PMIx and MPICH", amd64("libpmix.so.2", "libmpi.so.12"), MPICH},
		{"Slurm's PMI-2", amd64("libpmi2.so.0", "libc.so.6"), PMI2},
		{"an MPI over Slurm's PMI-2", amd64("libpmi2.so.0", "libmpich.so.12"), MPICH},
		{"with a path", amd64("/opt/mpich/lib/libmpi.so.12"), MPICH},
		{"no MPI", amd64("libc.so.6"), None},
		{"something that begins like it", amd64("libmpiwrapper.so.1", "libmpfr.so.6"), None},
		{"static", buildELF(elf.ELFCLASS64, binary.LittleEndian, elf.EM_X86_64, false), StaticUnknown},
		{"nothing needed, but loaded by ld.so", amd64(), None},
		{"32 bits", buildELF(elf.ELFCLASS32, binary.LittleEndian, elf.EM_386, true, "libmpich.so.12"), MPICH},
		{"big endian", buildELF(elf.ELFCLASS64, binary.BigEndian, elf.EM_S390, true, "libmpich.so.12"), MPICH},
		{"32 bits, big endian", buildELF(elf.ELFCLASS32, binary.BigEndian, elf.EM_PPC, true, "libmpi.so.40"), OpenMPI},
		{"a script", []byte("#!/bin/sh\nexec mpirun ./a.out\n"), None},
		{"an empty file", nil, None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report, err := inspectReader(bytes.NewReader(tt.file))
			if err != nil || report.Family != tt.want {
				t.Errorf("got %v, %v, want %v", report.Family, err, tt.want)
			}
		})
	}
}

func TestFamilyTraits(t *testing.T) {
	for family, want := range map[Family]bool{None: false, MPICH: true, OpenMPI: true, PMIx: true, PMI2: true, StaticUnknown: false} {
		if family.Parallel() != want {
			t.Errorf("%v: parallel %v, want %v", family, family.Parallel(), want)
		}
	}
	if Family(99).String() != "unknown" {
		t.Error("a family of the future has no name")
	}
}

func TestRuns(t *testing.T) {
	x86 := amd64("libc.so.6")
	i386 := buildELF(elf.ELFCLASS32, binary.LittleEndian, elf.EM_386, true, "libc.so.6")
	x32 := buildELF(elf.ELFCLASS32, binary.LittleEndian, elf.EM_X86_64, true, "libc.so.6")
	arm := buildELF(elf.ELFCLASS64, binary.LittleEndian, elf.EM_AARCH64, true, "libc.so.6")
	riscv32 := buildELF(elf.ELFCLASS32, binary.LittleEndian, elf.EM_RISCV, true, "libc.so.6")
	for _, tt := range []struct {
		name, host string
		file       []byte
		want       bool
	}{
		{"own", "amd64", x86, true},
		{"32 bits on 64", "amd64", i386, true},
		{"x32", "amd64", x32, true},
		{"arm on x86", "amd64", arm, false},
		{"x86 on arm", "arm64", x86, false},
		{"64 bits on 32", "386", x86, false},
		{"other width of one machine", "riscv64", riscv32, false},
		{"a script", "arm64", []byte("#!/bin/sh\nexit 0 # and more text\n"), true},
		{"a host nobody knows", "hal9000", x86, true},
	} {
		report, err := inspectReader(bytes.NewReader(tt.file))
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Runs(tt.host); got != tt.want {
			t.Errorf("%s: runs on %s is %v, want %v", tt.name, tt.host, got, tt.want)
		}
	}
}

// change returns the file with bytes replaced.
func change(file []byte, at int, with ...byte) []byte {
	file = slices.Clone(file)
	copy(file[at:], with)
	return file
}

func TestDamaged(t *testing.T) {
	good := amd64("libmpich.so.12")
	for name, file := range map[string][]byte{
		"class":               change(good, elf.EI_CLASS, 9),
		"byte order":          change(good, elf.EI_DATA, 9),
		"ends in its header":  good[:40],
		"ends in its table":   good[:100],
		"many headers":        change(good, 56, 0xff, 0xff),
		"wrong header size":   change(good, 54, 1, 0),
		"table far away":      change(good, 32, 0, 0, 0, 0, 0, 0, 0, 0x7f),
		"dynamic too large":   change(good, 64+2*56+32, 0, 0, 0, 0, 1),
		"dynamic beyond end":  change(good, 64+2*56+8, 0, 0xff),
		"dynamic far away":    change(good, 64+2*56+8, 0, 0, 0, 0, 0, 0, 0, 0x7f),
		"name beyond table":   change(good, 0x1008, 0xff, 0xff),
		"table in no segment": change(good, 0x1018, 0, 0, 0, 0, 1),
		"table far away too":  change(good, 64+8, 0, 0, 0, 0, 0, 0, 0, 0x7f),
		"endless name":        append(good[:0x400:0x400], append(bytes.Repeat([]byte{'x'}, 0xc00), good[0x1000:]...)...),
		"many libraries":      amd64(slices.Repeat([]string{"x"}, maxNeeded+1)...),
	} {
		if report, err := inspectReader(bytes.NewReader(file)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %+v, %v, want %v", name, report, err, ErrDamaged)
		}
	}
}

func TestInspectFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := Inspect(filepath.Join(dir, "nothing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if report, err := Inspect(dir); err != nil || report.ELF {
		t.Errorf("a directory: %+v, %v", report, err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if report, err := Inspect(pipe); err != nil || report.ELF {
		t.Errorf("a pipe: %+v, %v", report, err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self, err := Inspect(program)
	if err != nil || !self.ELF || !self.Runs(runtime.GOARCH) {
		t.Errorf("this test: %+v, %v", self, err)
	}
	shell, err := Inspect("/bin/sh")
	if err != nil || shell.Family != None || !slices.ContainsFunc(shell.Needed, isLibc) {
		t.Skipf("no shell with a shared C library here: %+v, %v", shell, err)
	}
}

func isLibc(name string) bool { return strings.HasPrefix(name, "libc.") }

func FuzzInspect(f *testing.F) {
	f.Add(amd64("libmpich.so.12"))
	f.Add(buildELF(elf.ELFCLASS32, binary.BigEndian, elf.EM_PPC, true, "libmpi.so.40"))
	f.Add([]byte("#!/bin/sh"))
	f.Fuzz(func(t *testing.T, file []byte) {
		report, err := inspectReader(bytes.NewReader(file))
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("an error of its own: %v", err)
		}
		for _, name := range report.Needed {
			if len(name) > maxText {
				t.Errorf("a name of %d bytes", len(name))
			}
		}
		_ = report.Runs(runtime.GOARCH)
	})
}

// TestFollow is for an MPI that comes in by way of another library.
// folder returns an empty directory, and what writes files there.
func folder(t *testing.T) (dir string, write func(name string, content []byte) (path string)) {
	dir = t.TempDir()
	return dir, func(name string, content []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
}

func TestFollow(t *testing.T) {
	dir, write := folder(t)
	write("libsolver.so.1", amd64("libdeep.so", "libc.so.6"))
	write("libdeep.so", amd64("libmpi.so.40"))
	write("libc.so.6", amd64("libmpi.so.40")) // nobody looks
	write("libplain.so", buildELF(elf.ELFCLASS64, binary.LittleEndian, elf.EM_X86_64, false))
	write("libother.so", buildELF(elf.ELFCLASS64, binary.LittleEndian, elf.EM_AARCH64, true, "libmpi.so.40"))
	write("libloop.so", amd64("libloop.so", "libloop2.so"))
	write("libloop2.so", amd64("libloop.so"))
	write("libbroken.so", []byte("\x7fELF"))
	for _, test := range []struct {
		needed []string
		want   Family
	}{
		{[]string{"libsolver.so.1"}, OpenMPI},
		{[]string{"libsolver.so.1", "libmpich.so.12"}, MPICH}, // its own comes first
		{[]string{"libplain.so", "libc.so.6"}, None},
		{[]string{"libother.so"}, None},
		{[]string{"libloop.so"}, None},
		{[]string{"libbroken.so", "libmissing.so", "libsolver.so.1"}, OpenMPI},
	} {
		report, err := Follow(write("program", amd64(test.needed...)), dir)
		if err != nil || report.Family != test.want {
			t.Errorf("%v: %v, %v; want %v", test.needed, report.Family, err, test.want)
		}
	}
	if report, err := Follow(
		write("static", buildELF(elf.ELFCLASS64, binary.LittleEndian, elf.EM_X86_64, false)),
		dir,
	); err != nil ||
		report.Family != StaticUnknown {
		t.Errorf("%v, %v", report.Family, err)
	}
}

func TestUsesHwloc(t *testing.T) {
	dir, write := folder(t)
	write("libmpich.so.12", amd64("libhwloc.so.15", "libc.so.6"))
	write("libmpi.so.40", amd64("libhwloc.so.5", "libc.so.6")) // hwloc 1
	write("libmpi.so.80", amd64("libopen-pal.so.80"))
	write("libopen-pal.so.80", amd64("libhwloc.so.15"))
	write("libsolver.so.1", amd64("libmpich.so.12", "libhwloc.so.5"))
	write("libother.so.1", amd64("libhwloc.so.15"))
	script := write("script", []byte("#!/bin/sh\n"))
	for _, test := range []struct {
		needed []string
		want   bool
	}{
		{[]string{"libmpich.so.12"}, true},
		{[]string{"libsolver.so.1"}, true},
		{[]string{"libmpi.so.80"}, true},
		{[]string{"libmpi.so.40", "libother.so.1"}, false},
		{[]string{"libother.so.1"}, false},
		{[]string{"libmissing.so"}, false},
	} {
		if got := UsesHwloc(write("program", amd64(test.needed...)), dir); got != test.want {
			t.Errorf("%v: %v", test.needed, got)
		}
	}
	if UsesHwloc(script, dir) || UsesHwloc(filepath.Join(dir, "missing"), dir) {
		t.Error("a script or nothing uses it")
	}
}

func TestOffers(t *testing.T) {
	for family, want := range map[Family][2]bool{
		MPICH: {true, false}, PMI2: {true, false}, OpenMPI: {false, true}, PMIx: {false, true},
		StaticUnknown: {true, true}, None: {true, true},
	} {
		if pmi, pmix := family.Offers(); [2]bool{pmi, pmix} != want || family.Describe() == "" {
			t.Errorf("%v is offered %v, %v", family, pmi, pmix)
		}
	}
}
