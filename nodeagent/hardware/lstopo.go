package hardware

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"score/scored/api/atomicfile"
	"time"
)

const (
	// lstopoTimeout bounds the look at the hardware: a second on large hosts.
	lstopoTimeout = time.Minute
	// endPause is how long lstopo's output may stay open after it was killed.
	endPause = time.Second
	// maxXML bounds the description: hosts of 1,000 CPUs have about 2 MB.
	maxXML = 8 << 20
	// fileMode lets the ranks of all users read the description.
	fileMode = 0o644
)

// programs are lstopo's names; the first needs no window system.
var programs = []string{"lstopo-no-graphics", "lstopo"}

var (
	errNoTopology = errors.New("lstopo wrote no topology")
	errTooLong    = fmt.Errorf("lstopo wrote more than %d bytes", maxXML)
)

// write makes the file at path. It replaces the former one at once, which ranks may be reading.
func write(ctx context.Context, path string) error {
	xml, err := describe(ctx)
	if err != nil {
		return err
	}
	return atomicfile.ReplaceBy(path+".new", path, xml, fileMode)
}

// describe returns what lstopo writes. The error wraps exec.ErrNotFound if there is no lstopo.
func describe(ctx context.Context) ([]byte, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lstopoTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--of", "xml")
	// Variables of hwloc would make it describe something else, and its parts for graphics cards
	// keep files in the home directory.
	cmd.Env = []string{"LC_ALL=C", "HOME=/nonexistent", "PATH=" + os.Getenv("PATH")}
	cmd.Dir = "/"
	cmd.WaitDelay = endPause
	var out, said bounded
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w (%s)", program, err, firstLine(said.text))
	}
	if out.full {
		return nil, errTooLong
	}
	if xml := bytes.TrimSpace(out.text); !bytes.HasPrefix(xml, []byte("<?xml")) || !bytes.HasSuffix(xml, []byte("</topology>")) {
		return nil, errNoTopology
	}
	return out.text, nil
}

func find() (path string, err error) {
	for _, name := range programs {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}

// bounded keeps the first maxXML bytes.
type bounded struct {
	text []byte
	full bool // there was more
}

func (b *bounded) Write(p []byte) (int, error) {
	kept := p[:min(len(p), maxXML-len(b.text))]
	b.text = append(b.text, kept...)
	b.full = b.full || len(kept) < len(p)
	return len(p), nil
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte{'\n'})
	return string(line)
}
