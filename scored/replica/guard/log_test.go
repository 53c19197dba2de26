package guard

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// store is a Store with an injected next write.
type store struct {
	*raft.InmemStore
	next   func() error // of every write; nil: nothing
	closed bool
}

func (s *store) StoreLogs(logs []*raft.Log) error {
	if s.next != nil {
		if err := s.next(); err != nil {
			return err
		}
	}
	return s.InmemStore.StoreLogs(logs)
}

func (s *store) SetUint64(key []byte, value uint64) error {
	if s.next != nil {
		if err := s.next(); err != nil {
			return err
		}
	}
	return s.InmemStore.SetUint64(key, value)
}

func (s *store) IsMonotonic() bool { return true }

func (s *store) Close() error {
	s.closed = true
	return nil
}

func newLog(logger *zap.Logger) (*Log, *store) {
	inner := &store{InmemStore: raft.NewInmemStore()}
	return NewLog(NewDisk("/data", WriteBound, logger), inner), inner
}

func entries(first, last uint64) (logs []*raft.Log) {
	for i := first; i <= last; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: 3, Data: fmt.Append(nil, "entry ", i)})
	}
	return logs
}

func failedAlready(d *Disk) bool {
	select {
	case <-d.Failed():
		return true
	default:
		return false
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	l, inner := newLog(zap.NewNop())
	written := entries(1, 3)
	if err := l.StoreLogs(written); err != nil {
		t.Fatal(err)
	}
	for _, want := range written {
		if want.Extensions != nil {
			t.Error("Raft's own entry was changed")
		}
		got := &raft.Log{Extensions: []byte("old"), Data: []byte("old")}
		if err := l.GetLog(want.Index, got); err != nil {
			t.Fatal(err)
		}
		if got.Term != want.Term || string(got.Data) != string(want.Data) || got.Extensions != nil {
			t.Errorf("read %+v, want %+v", got, want)
		}
	}
	//nolint:errorlint // Raft compares it this way
	if err := l.GetLog(4, new(raft.Log)); err != raft.ErrLogNotFound {
		t.Errorf("an entry that is not there: %v", err)
	}
	if err := l.SetUint64([]byte("term"), 7); err != nil {
		t.Fatal(err)
	}
	if term, err := l.GetUint64([]byte("term")); err != nil || term != 7 {
		t.Errorf("term %d, %v", term, err)
	}
	if err := l.Close(); err != nil || !inner.closed || l.disk.Err() != nil {
		t.Errorf("Close: %v, closed %v, disk %v", err, inner.closed, l.disk.Err())
	}
}

// A hanging write fails at its bound. Later writes fail at once, and the store is not used again,
// whatever becomes of the write.
func TestHungWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, lines := observer.New(zap.WarnLevel)
		l, inner := newLog(zap.New(core))
		release := make(chan struct{})
		inner.next = func() error { <-release; return nil }
		start := time.Now()
		err := l.StoreLogs(entries(1, 1))
		if !errors.Is(err, ErrDisk) || time.Since(start) != WriteBound {
			t.Fatalf("after %v: %v", time.Since(start), err)
		}
		want := `the disk of the data directory fails: writing the log in "/data" has not ended within 5s; look at the disk and at the kernel's log`
		if err.Error() != want || !failedAlready(l.disk) {
			t.Errorf("error %q\nwant  %q", err, want)
		}
		if again := l.StoreLogs(entries(2, 2)); !errors.Is(again, err) || time.Since(start) != WriteBound {
			t.Errorf("after %v, the next write: %v", time.Since(start), again)
		}
		voted := make(chan error, 1)
		go func() { voted <- l.SetUint64([]byte("term"), 8) }()
		synctest.Wait()
		if len(voted) != 0 {
			t.Error("a vote that is not kept was given")
		}
		if err := l.Close(); err != nil || inner.closed {
			t.Errorf("a store in which a write hangs was closed: %v", err)
		}
		if err := <-voted; err != nil {
			t.Errorf("Raft would end the process: %v", err)
		}
		close(release)
		synctest.Wait()
		close(l.work) // as at the end of the process
		if count := lines.Len(); count != 1 {
			t.Errorf("%d lines were logged", count)
		}
	})
}

// A write that waits for another one that hangs has the same bound.
func TestWaitingForAHungWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, inner := newLog(zap.NewNop())
		release := make(chan struct{})
		inner.next = func() error { <-release; return nil }
		start, done := time.Now(), make(chan error, 2)
		go func() { done <- l.StoreLogs(entries(1, 1)) }()
		synctest.Wait()
		go func() { done <- l.StoreLogs(entries(2, 2)) }()
		for range 2 {
			if err := <-done; !errors.Is(err, ErrDisk) || time.Since(start) != WriteBound {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		}
		close(release)
		synctest.Wait()
		close(l.work)
	})
}

// A slow write that ends is logged, and has no other effect.
func TestSlowWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, lines := observer.New(zap.WarnLevel)
		l, inner := newLog(zap.New(core))
		inner.next = func() error { time.Sleep(WriteBound - time.Second); return nil }
		if err := l.StoreLogs(entries(1, 1)); err != nil {
			t.Fatal(err)
		}
		if lines.FilterMessage("the disk is slow").Len() != 1 {
			t.Errorf("lines %v", lines.All())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestFailedWriteIsTheLast(t *testing.T) {
	for _, test := range []struct {
		cause error
		want  string
	}{
		{syscall.EROFS, `writing the log: the file system of "/data" is read-only; see the kernel's log, check the file system, and mount it for writing: read-only file system`},
		{syscall.ENOSPC, `writing the log: there is no space left in "/data"; free some and restart the server: no space left`},
		{syscall.EDQUOT, `there is no space left in "/data"`},
		{syscall.EIO, `writing the log in "/data": input/output error`},
	} {
		l, inner := newLog(zap.NewNop())
		inner.next = func() error { return test.cause }
		err := l.StoreLogs(entries(1, 1))
		if !errors.Is(err, ErrDisk) || !errors.Is(err, test.cause) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v", err)
		}
		inner.next = nil
		if again := l.StoreLogs(entries(1, 1)); !errors.Is(again, err) {
			t.Errorf("a disk that had failed was written to: %v", again)
		}
		if err := l.Close(); err != nil || !inner.closed {
			t.Errorf("Close: %v", err)
		}
	}
}

// A snapshot or a read that hangs fails the disk too; one that ends in time does not.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDisk("/data", WriteBound, zap.NewNop())
		stop := d.watch("reading", WriteBound)
		time.Sleep(WriteBound - time.Millisecond)
		stop()
		time.Sleep(2 * WriteBound)
		if d.Err() != nil {
			t.Fatalf("what ended in time failed: %v", d.Err())
		}
		defer d.watch("reading", WriteBound)()
		time.Sleep(WriteBound)
		synctest.Wait()
		if !errors.Is(d.Err(), ErrDisk) {
			t.Fatal("what hangs did not fail")
		}
	})
}

// Raft must get neither a damaged entry nor an error for it, which would end the process. The call
// blocks until the owner of the disk ends the process.
func TestGetLogOfADamagedEntryNeverReturns(t *testing.T) {
	l, inner := newLog(zap.NewNop())
	if err := inner.InmemStore.StoreLogs(entries(1, 1)); err != nil { // without checksums
		t.Fatal(err)
	}
	returned := make(chan error, 1)
	go func() { returned <- l.GetLog(1, new(raft.Log)) }()
	<-l.disk.Failed()
	if !errors.Is(l.disk.Err(), errNoSeal) || len(returned) != 0 {
		t.Errorf("%v, returned %d", l.disk.Err(), len(returned))
	}
}

func TestOneFlippedBitIsFound(t *testing.T) {
	log := entries(5, 5)[0]
	whole := *seal([]*raft.Log{log})[0]
	for bit := range 8 * (16 + 1 + len(log.Data) + sealSize) {
		flipped := whole
		flipped.Data, flipped.Extensions = append([]byte(nil), whole.Data...), append([]byte(nil), whole.Extensions...)
		switch at, mask := bit/8, byte(1)<<(bit%8); {
		case at < 8:
			flipped.Index ^= 1 << bit
		case at < 16:
			flipped.Term ^= 1 << (bit - 64)
		case at == 16:
			flipped.Type ^= raft.LogType(mask)
		case at < 17+len(log.Data):
			flipped.Data[at-17] ^= mask
		default:
			flipped.Extensions[at-17-len(log.Data)] ^= mask
		}
		if Unseal(5, &flipped) == nil {
			t.Errorf("bit %d is not missed", bit)
		}
	}
	if err := Unseal(5, &whole); err != nil || whole.Extensions != nil {
		t.Error(err)
	}
}

// When Raft cuts the log after a snapshot, the entries that KeepFrom names stay. Entries that
// another leader replaces are always deleted.
func TestLogTruncation(t *testing.T) {
	for _, test := range []struct {
		name               string
		first, last, floor uint64
		left               uint64 // the first entry that is left
	}{
		{"up to the floor", 1, 8, 5, 6},
		{"below the floor", 1, 3, 5, 4},
		{"no floor yet", 1, 8, 0, 1},
		{"the log's end", 7, 10, 2, 1},
		{"all", 1, 10, 2, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, _ := newLog(zap.NewNop())
			l.KeepFrom(func() uint64 { return test.floor })
			if err := l.StoreLogs(entries(1, 10)); err != nil {
				t.Fatal(err)
			}
			if err := l.DeleteRange(test.first, test.last); err != nil {
				t.Fatal(err)
			}
			for i := uint64(1); i <= 10; i++ {
				err := l.Check(i, new(raft.Log))
				gone := test.left == 0 || i < test.left || test.name == "the log's end" && i >= test.first
				if gone != errors.Is(err, raft.ErrLogNotFound) {
					t.Errorf("entry %d: %v", i, err)
				}
			}
		})
	}
}
