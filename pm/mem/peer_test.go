package mem

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"score/tests/processes"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMapWindowOfPeer(t *testing.T) {
	c := startChild(t)
	p := c.open(t)
	h := c.askHandle(t, "window 100000 a")
	m, err := p.Map(h)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(m.Bytes(), []byte("a")); n != int(h.Size) {
		t.Errorf("%d of %d bytes", n, h.Size)
	}
	c.ask(t, "fill 0 b")
	if m.Bytes()[0] != 'b' {
		t.Error("the mapping is a copy")
	}
	if !p.Alive() {
		t.Error("the peer is dead")
	}
	if err := m.Release(); err != nil {
		t.Error(err)
	}
	wantError(t, "second release", m.Release(), ErrReleased)
}

// TestAtomicsOfTwoProcesses: no addition is lost, also of bytes that share a word.
func TestAtomicsOfTwoProcesses(t *testing.T) {
	const rounds = 20_000
	w := newTestWindow(t, 4096)
	b := w.Handle().Encode()
	command := fmt.Sprintf("add %d %d %x %d", os.Getpid(), ownStart(t), b, rounds)
	one, two := startChild(t), startChild(t)
	for _, c := range []*child{one, two} {
		if _, err := fmt.Fprintln(c.In, command); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []*child{one, two} {
		if result := strings.TrimSpace(c.Line(t)); result != "ok" {
			t.Fatal(result)
		}
	}
	const sum = 2 * rounds
	want := make([]byte, 24)
	want[8], want[9], want[17] = byte(sum&255), byte(sum>>8), byte(sum&255)
	if !bytes.Equal(w.Bytes()[:24], want) {
		t.Errorf("%v, want %v", w.Bytes()[:24], want)
	}
}

func TestHandlesOfOtherFiles(t *testing.T) {
	c := startChild(t)
	p := c.open(t)
	h := c.askHandle(t, "window 8192 a")
	other := c.askHandle(t, "window 8192 b")
	bad := map[string]Handle{
		"larger":          {h.FD, h.Size * 2, h.Device, h.Inode},
		"smaller":         {h.FD, h.Size / 2, h.Device, h.Inode},
		"another device":  {h.FD, h.Size, h.Device + 1, h.Inode},
		"another window":  {other.FD, h.Size, h.Device, h.Inode},
		"not open":        {900, h.Size, h.Device, h.Inode},
		"no descriptor":   {math.MaxInt32, h.Size, h.Device, h.Inode},
		"not sealed":      c.askHandle(t, "unsealed 8192 0"),
		"may grow":        c.askHandle(t, "unsealed 8192 %d", unix.F_SEAL_SHRINK),
		"may shrink":      c.askHandle(t, "unsealed 8192 %d", unix.F_SEAL_GROW),
		"a file in shm":   c.askHandle(t, "file 8192"),
		"a pipe":          c.askHandle(t, "pipe 4096"),
		"number reused":   h,
		"its new content": {h.FD, h.Size, other.Device, h.Inode},
	}
	renamed := c.askHandle(t, "reuse 0 1")
	for name, h := range bad {
		_, err := p.Map(h)
		wantError(t, name, err, ErrHandle)
	}
	if m, err := p.Map(renamed); err != nil || m.Bytes()[0] != 'b' {
		t.Errorf("the window with the reused number: %v", err)
	}
	if s := p.cache.Stats(); s.Mappings != 1 || s.Misses != 1 {
		t.Errorf("%+v", s)
	}
}

func TestOpenPeer(t *testing.T) {
	cache := NewCache(testLimit)
	c := startChild(t)
	for _, start := range []uint64{0, c.start - 1, c.start + 1, math.MaxUint64} {
		_, err := cache.OpenPeer(c.pid(), start)
		wantError(t, fmt.Sprintf("start %d", start), err, ErrGone)
	}
	for _, pid := range []int{0, -1, math.MinInt} {
		_, err := cache.OpenPeer(pid, c.start)
		wantError(t, fmt.Sprintf("process %d", pid), err, ErrRange)
	}
	_, err := cache.OpenPeer(1<<30, c.start)
	wantError(t, "no such process", err, ErrGone)
	before := processes.Descriptors()
	_, err = cache.OpenPeer(c.pid(), 0)
	wantError(t, "wrong start", err, ErrGone)
	if after := processes.Descriptors(); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestClosedPeer(t *testing.T) {
	c := startChild(t)
	p := c.open(t)
	h, addr := c.askHandle(t, "window 4096 a"), c.askAddress(t, "memory 4096 m")
	m, err := p.Map(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, "second close", p.Close(), ErrClosed)
	wantError(t, "read", p.Read(make([]byte, 1), addr), ErrClosed)
	wantError(t, "write", p.Write(addr, make([]byte, 1)), ErrClosed)
	_, err = p.Map(h)
	wantError(t, "map", err, ErrClosed)
	if p.Alive() || p.CanCopy() {
		t.Error("the closed peer can be used")
	}
	if m.Bytes()[0] != 'a' {
		t.Error("a mapping in use was unmapped")
	}
	if err := m.Release(); err != nil || m.Bytes() != nil {
		t.Errorf("the mapping stays after its last use: %v", err)
	}
}

func TestPeerDies(t *testing.T) {
	c := startChild(t)
	p := c.open(t)
	h, addr := c.askHandle(t, "window 4096 a"), c.askAddress(t, "memory 4096 m")
	other := c.askHandle(t, "window 4096 b")
	m, err := p.Map(h)
	if err != nil {
		t.Fatal(err)
	}
	c.End()
	if p.Alive() {
		t.Error("the dead peer is alive")
	}
	if m.Bytes()[0] != 'a' {
		t.Error("memory in use is lost")
	}
	wantError(t, "read", p.Read(make([]byte, 1), addr), ErrGone)
	wantError(t, "read nothing", p.Read(nil, addr), ErrGone)
	wantError(t, "write", p.Write(addr, make([]byte, 1)), ErrGone)
	_, err = p.Map(h)
	wantError(t, "map again", err, ErrGone)
	_, err = p.Map(other)
	wantError(t, "map", err, ErrGone)
	if p.CanCopy() {
		t.Error("copying from the dead is said to work")
	}
	if err := m.Release(); err != nil || m.Bytes() != nil {
		t.Errorf("the mapping stays after its last use: %v", err)
	}
	if s := p.cache.Stats(); s.Mappings != 0 || s.Bytes != 0 || s.Stale != 1 {
		t.Errorf("%+v", s)
	}
}

// TestNumberOfPeerIsReused: a process that gets the number of a dead peer is not taken for it.
func TestNumberOfPeerIsReused(t *testing.T) {
	const lastPid = "/proc/sys/kernel/ns_last_pid"
	f, err := os.OpenFile(lastPid, os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("only root can choose the number of the next process: %v", err)
	}
	defer f.Close()
	const tries = 100 // other processes may take the number first
	for range tries {
		first := startChild(t)
		p := first.open(t)
		h, addr := first.askHandle(t, "window 4096 a"), first.askAddress(t, "memory 4096 m")
		first.End()
		if _, err := f.WriteAt(fmt.Append(nil, first.pid()-1), 0); err != nil {
			t.Skipf("only root can choose the number of the next process: %v", err)
		}
		second := startChild(t)
		if second.pid() != first.pid() || second.start == first.start {
			second.End()
			continue
		}
		b := []byte{1}
		wantError(t, "read", p.Read(b, addr), ErrGone)
		wantError(t, "write", p.Write(addr, b), ErrGone)
		_, err = p.Map(h)
		wantError(t, "map", err, ErrGone)
		_, err = p.cache.OpenPeer(first.pid(), first.start)
		wantError(t, "open", err, ErrGone)
		if p.Alive() || b[0] != 1 {
			t.Error("the second process is taken for the first")
		}
		second.open(t)
		return
	}
	t.Errorf("no process got the number of another in %d tries", tries)
}

// Alive reports whether the process has not ended. It is false after Close.
func (p *Peer) Alive() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return !p.closed && p.alive()
}
