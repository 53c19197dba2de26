package hostclock

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// ErrUnsupported means that this machine's kernel does not allow what the package does.
var ErrUnsupported = errors.New("clocks of hosts cannot be stepped here")

const (
	// symbolName is what programs look for.
	symbolName = "clock_gettime"
	// valueAt is where an entry of the symbol table has the address (Elf64_Sym, elf(5)), and
	// symbolSize the length of one.
	valueAt, symbolSize = 8, 24
	// callAt and offsetAt are where code has the distance to the kernel's function, and the offset.
	callAt, offsetAt = 7, 32
)

// code has the registers and the stack as the System V ABI wants them.
var code = [offsetAt + 8]byte{
	0x57,                   // push %rdi: which clock
	0x56,                   // push %rsi: where to
	0x48, 0x83, 0xec, 0x08, // sub $8, %rsp: a multiple of 16
	0xe8, 0, 0, 0, 0, // call the kernel's function
	0x48, 0x83, 0xc4, 0x08, // add $8, %rsp
	0x5e,       // pop %rsi
	0x5f,       // pop %rdi
	0x85, 0xff, // test %edi, %edi: CLOCK_REALTIME is 0
	0x75, 0x0a, // jne to ret
	0x48, 0x8b, 0x0d, 0x04, 0x00, 0x00, 0x00, // mov offset(%rip), %rcx
	0x48, 0x01, 0x0e, // add %rcx, (%rsi): its seconds
	0xc3, // ret
}

// vdso is the kernel's code in a process.
type vdso struct {
	base  int64
	image []byte
}

// findVDSO reads it from a process that stands still.
func findVDSO(pid uint32, memory io.ReaderAt) (v vdso, err error) {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return v, err
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if !strings.HasSuffix(lines.Text(), "[vdso]") {
			continue
		}
		var end int64
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x", &v.base, &end); err != nil {
			return v, err
		}
		v.image = make([]byte, end-v.base)
		_, err := memory.ReadAt(v.image, v.base)
		return v, err
	}
	return v, fmt.Errorf("%w: the kernel maps no code into processes", ErrUnsupported)
}

// errDiverted means that a process has the code already: a Go program makes that call for each of
// its threads.
var errDiverted = errors.New("the process has the clock")

// diverted reports whether the code is there.
func (v vdso) diverted(place int) bool {
	return bytes.Equal(v.image[place:place+callAt], code[:callAt]) &&
		bytes.Equal(v.image[place+callAt+4:place+offsetAt], code[callAt+4:offsetAt])
}

// divert puts code behind the kernel's own and has the symbol point at it. It gives where in the
// image the offset is.
func (v vdso) divert(seconds int64) (at int, err error) {
	file, err := elf.NewFile(bytes.NewReader(v.image))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	place := (len(v.image) - len(code)) &^ 7
	if v.diverted(place) {
		return 0, errDiverted
	}
	if !blank(v.image[place:]) {
		return 0, fmt.Errorf("%w: the kernel's code leaves no room", ErrUnsupported)
	}
	table := file.Section(".dynsym")
	found := false
	for i, s := range symbols {
		if strings.TrimPrefix(s.Name, "__vdso_") != symbolName {
			continue
		}
		found = true
		copy(v.image[place:], code[:])
		next := place + callAt + 4
		binary.LittleEndian.PutUint32(v.image[place+callAt:], uint32(int64(s.Value)-int64(next)))
		// The first entry is nobody's, and not among symbols.
		binary.LittleEndian.PutUint64(v.image[int(table.Offset)+(i+1)*symbolSize+valueAt:], uint64(place))
	}
	if !found {
		return 0, fmt.Errorf("%w: the kernel's code has no %s", ErrUnsupported, symbolName)
	}
	binary.LittleEndian.PutUint64(v.image[place+offsetAt:], uint64(seconds))
	return place + offsetAt, nil
}

func blank(part []byte) bool {
	for _, b := range part {
		if b != 0 {
			return false
		}
	}
	return true
}
