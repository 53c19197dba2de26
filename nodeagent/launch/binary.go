package launch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"score/nodeagent/userfs"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// headBytes is the part of a program that is read: a page, which holds the ELF header and, in
	// the output of any linker, the program headers and the name of the dynamic loader.
	headBytes = 4096
	// maxInterpreters bounds a chain of scripts that interpret each other, like the kernel's own
	// limit.
	maxInterpreters = 4
	// maxShebang is the longest first line, the kernel's BINPRM_BUF_SIZE.
	maxShebang = 256
)

// checkProgram refuses a program that execve would refuse by its first bytes. A program that may be
// executed but not read passes: the kernel decides.
func checkProgram(path string, depth int) error {
	if isDir(path) {
		return fmt.Errorf("%w: %s is a directory; name the program in it", ErrNotExecutable, path)
	}
	head, err := readHead(path)
	if errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNotExecutable, path, err)
	}
	switch {
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return checkELF(path, head)
	case bytes.HasPrefix(head, []byte("#!")):
		return checkScript(path, head, depth)
	case len(head) == 0:
		return fmt.Errorf("%w: %s is empty; build or copy it again", ErrNotExecutable, path)
	default:
		return fmt.Errorf("%w: %s is neither a binary nor a script; a script begins with a line like #!/bin/sh",
			ErrNotExecutable, path)
	}
}

// readHead reads the first bytes of a file. It checks for a regular file first, so as not to hang
// on a FIFO or act on a device.
func readHead(path string) ([]byte, error) {
	fd, err := userfs.Open(path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.New("not a regular file")
	}
	head := make([]byte, headBytes)
	n, err := unix.Pread(fd, head, 0)
	if err != nil {
		return nil, err
	}
	return head[:n], nil
}

func checkScript(path string, head []byte, depth int) error {
	line, _, whole := bytes.Cut(head[2:min(len(head), maxShebang)], []byte("\n"))
	// The kernel splits at blanks and tabs only: a carriage return is a part of the name.
	words := bytes.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == '\t' })
	if len(words) == 0 || !whole && len(head) >= maxShebang && len(words) == 1 {
		return fmt.Errorf("%w: the first line of %s names none that fits; it looks like #!/bin/sh", ErrBadInterpreter, path)
	}
	interpreter := string(words[0])
	if err := access(interpreter); err != nil {
		hint := "install it or correct the line"
		if bytes.HasSuffix(words[0], []byte("\r")) {
			hint = "the line ends as on Windows; run dos2unix on the script"
		}
		return fmt.Errorf("%w: %s begins with #!%s, which cannot be used: %w; %s",
			ErrBadInterpreter, path, strings.TrimSuffix(interpreter, "\r"), err, hint)
	}
	if depth == maxInterpreters {
		return fmt.Errorf("%w: %s is interpreted by more than %d scripts", ErrBadInterpreter, path, maxInterpreters)
	}
	if err := checkProgram(interpreter, depth+1); err != nil {
		return fmt.Errorf("%w: %s begins with #!%s: %w", ErrBadInterpreter, path, interpreter, err)
	}
	return nil
}

// ELF's header, System V ABI, chapter 4 "ELF Header": offsets and values used.
const (
	elfClass, elfData      = 4, 5
	elfType, elfMachine    = 16, 18
	elfPhoff64             = 32
	elfPhentsize64         = 54
	elfPhnum64             = 56
	elfHeader64            = 64
	elfClass64             = 2
	elfLittleEndian        = 1
	elfExec, elfDyn        = 2, 3
	elfInterp              = 3 // program header type PT_INTERP
	elfPhdr64              = 56
	phdrOffset, phdrFilesz = 8, 32
)

// machines maps e_machine numbers to the architectures that Go can build this program for.
var machines = map[uint16]string{
	3: "386", 8: "mips", 20: "ppc", 21: "ppc64", 22: "s390x",
	40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64", 258: "loong64",
}

func checkELF(path string, head []byte) error {
	if len(head) < elfHeader64 {
		return fmt.Errorf("%w: %s is cut short; build or copy it again", ErrNotExecutable, path)
	}
	var order binary.ByteOrder = binary.BigEndian
	if head[elfData] == elfLittleEndian {
		order = binary.LittleEndian
	}
	arch := machines[order.Uint16(head[elfMachine:])]
	if arch == "386" && runtime.GOARCH == "amd64" || arch == "arm" && runtime.GOARCH == "arm64" {
		return nil // most kernels run these; the others report it themselves
	}
	if !sameMachine(arch, runtime.GOARCH) {
		if arch == "" {
			arch = fmt.Sprintf("machine number %d", order.Uint16(head[elfMachine:]))
		}
		return fmt.Errorf("%w: %s is for %s, this node is %s; build it for this node", ErrWrongArch, path, arch, runtime.GOARCH)
	}
	if kind := order.Uint16(head[elfType:]); kind != elfExec && kind != elfDyn {
		return fmt.Errorf("%w: %s is an object or core file; link it first", ErrNotExecutable, path)
	}
	if head[elfClass] != elfClass64 {
		return nil
	}
	loader := loaderOf(head, order)
	if loader == "" {
		return nil
	}
	if err := access(loader); err != nil {
		return fmt.Errorf("%w: %s needs the dynamic loader %s: %w; install the C library it was built with, or link it statically",
			ErrBadInterpreter, path, loader, err)
	}
	return nil
}

// sameMachine reports whether two of Go's architectures have the same machine number.
func sameMachine(arch, goarch string) bool {
	switch goarch {
	case "ppc64le":
		return arch == "ppc64"
	case "mipsle", "mips64", "mips64le":
		return arch == "mips"
	default:
		return arch == goarch
	}
}

// loaderOf returns the path in the PT_INTERP segment, or "" if there is none or it lies outside of
// head. The file is the user's, so every offset is checked.
func loaderOf(head []byte, order binary.ByteOrder) string {
	offset := order.Uint64(head[elfPhoff64:])
	size := uint64(order.Uint16(head[elfPhentsize64:]))
	count := uint64(order.Uint16(head[elfPhnum64:]))
	length := uint64(len(head))
	if size < elfPhdr64 {
		return ""
	}
	for i := range count {
		at := offset + i*size
		if offset > length || at > length-elfPhdr64 {
			return ""
		}
		header := head[at : at+elfPhdr64]
		if order.Uint32(header) != elfInterp {
			continue
		}
		from, bytesLong := order.Uint64(header[phdrOffset:]), order.Uint64(header[phdrFilesz:])
		if from > length || bytesLong > length-from {
			return ""
		}
		name, _, _ := bytes.Cut(head[from:from+bytesLong], []byte{0})
		return string(name)
	}
	return ""
}
