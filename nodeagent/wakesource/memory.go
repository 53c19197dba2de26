package wakesource

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// native is the byte order of all processes of the machine.
var native = binary.NativeEndian

// mapping is a part of a process's memory: of a context's image, or of no file.
type mapping struct {
	from, to uint64
	image    bool
}

// maxMaps bounds the lines of /proc/PID/maps that are read; the kernel's own bound is the same by
// default.
const maxMaps = 65530

// read reads the process's memory, unless a file is mapped there: its file system may never answer.
// The process may map one after the look at its mappings; so a steward reads, which has one job.
// What package pm and Go wait with is in memory of no file.
func (p *process) read(at uint64, bytes int) (data []byte, ok bool) {
	if m, ok := p.mapping(at); !ok || m.image || m.to-at < uint64(bytes) {
		return nil, false
	}
	if p.memory == nil {
		file, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.pid))
		if err != nil {
			return nil, false
		}
		p.memory = file
	}
	data = make([]byte, bytes)
	_, err := p.memory.ReadAt(data, int64(at))
	return data, err == nil
}

func (p *process) timespec(at uint64) (seconds, nanos int64, ok bool) {
	data, ok := p.read(at, bytesOfTimespec)
	if !ok {
		return 0, 0, false
	}
	return int64(native.Uint64(data)), int64(native.Uint64(data[8:])), true
}

// inImage reports whether an address is in the memory of one of the job's contexts.
func (p *process) inImage(at uint64) bool {
	m, ok := p.mapping(at)
	return ok && m.image
}

// mapping returns the mapping of an address.
func (p *process) mapping(at uint64) (m mapping, ok bool) {
	if p.maps == nil {
		p.maps = p.mappings()
	}
	for _, m := range p.maps {
		if m.from <= at && at < m.to {
			return m, true
		}
	}
	return m, false
}

// mappings returns the process's mappings; never nil.
func (p *process) mappings() []mapping {
	found := []mapping{}
	file, err := os.Open(fmt.Sprintf("/proc/%d/maps", p.pid))
	if err != nil {
		return found
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for n := 0; n < maxMaps && lines.Scan(); n++ {
		m, inode, ok := parseMapping(lines.Text())
		m.image = m.image && p.own.Images[inode]
		if ok && (m.image || inode == 0) {
			found = append(found, m)
		}
	}
	return found
}

// parseMapping reads a line of /proc/PID/maps: "from-to rights offset device inode name". It is an
// image if it may be one, by its name.
func parseMapping(line string) (m mapping, inode uint64, ok bool) {
	const noName = 5 // fields
	fields := strings.Fields(line)
	if len(fields) < noName {
		return m, 0, false
	}
	from, to, ok := strings.Cut(fields[0], "-")
	if !ok {
		return m, 0, false
	}
	var errs [3]error
	m.from, errs[0] = strconv.ParseUint(from, 16, 64)
	m.to, errs[1] = strconv.ParseUint(to, 16, 64)
	inode, errs[2] = strconv.ParseUint(fields[4], 10, 64)
	m.image = len(fields) > noName && strings.HasPrefix(fields[noName], "/memfd:")
	return m, inode, errs == [3]error{} && m.from < m.to
}

// file describes a descriptor of the process.
func (p *process) file(fd uint64) string {
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.pid, uint32(fd)))
	if err != nil {
		return "descriptor " + strconv.FormatUint(uint64(uint32(fd)), 10)
	}
	return name
}

func (p *process) socket(fd uint32) (inode uint64, ok bool) {
	name, ok := strings.CutPrefix(p.file(uint64(fd)), "socket:[")
	if !ok {
		return 0, false
	}
	inode, err := strconv.ParseUint(strings.TrimSuffix(name, "]"), 10, 64)
	return inode, err == nil
}

func itoa(n int) string { return strconv.Itoa(n) }
