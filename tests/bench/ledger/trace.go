package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	// tracing is where tracefs is mounted.
	tracing = "/sys/kernel/tracing"
	// bufferKB is each CPU's buffer: some hundred thousand events, which is seconds of a busy CPU.
	bufferKB = 32768
)

// ErrNoTrace means that this machine has no tracefs, or that this user may not use it.
var ErrNoTrace = errors.New("the kernel's tracing cannot be used")

// Trace records all CPUs for a time. It uses an instance of its own, which is removed again.
func Trace(ctx context.Context, length time.Duration) (_ *Ledger, err error) {
	dir := filepath.Join(tracing, "instances", "score-ledger-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTrace, err)
	}
	defer func() { err = errors.Join(err, os.Remove(dir)) }()
	for _, set := range []struct{ file, value string }{
		{"tracing_on", "0"},
		{"trace_clock", "mono"},
		{"buffer_size_kb", strconv.Itoa(bufferKB)},
		{"events/sched/sched_switch/enable", "1"},
		{"tracing_on", "1"},
	} {
		if err := write(dir, set.file, set.value); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoTrace, err)
		}
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(length):
	}
	if err := write(dir, "tracing_on", "0"); err != nil {
		return nil, err
	}
	return readAll(dir)
}

func write(dir, file, value string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(value), 0)
}

// readAll adds up what each CPU has recorded.
func readAll(dir string) (*Ledger, error) {
	files, err := filepath.Glob(filepath.Join(dir, "per_cpu", "cpu*", "trace"))
	if err != nil {
		return nil, err
	}
	l := New()
	for _, file := range files {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a CPU that is not there
		}
		if err != nil {
			return nil, err
		}
		err = errors.Join(l.Read(f), f.Close())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return l, nil
}
