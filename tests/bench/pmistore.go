package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"score/channels/keys"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// storeRank is the role of a process that reads the store.
	storeRank = "store-rank"
	// storeRanks have a card each in the store, of storeCard bytes.
	storeRanks = 64
	storeCard  = 256
	storeKey   = "-allgather-shm-1"
	// storeGets are the looks of each reader: so many that what it costs to come to a CPU with cold
	// caches does not count.
	storeGets = 1 << 20
	// storePutEvery is the time between two values that are written beside the readers.
	storePutEvery = time.Millisecond
	// storeFD and locksFD are the descriptors of a reader.
	storeFD = 3
	locksFD = 4
)

// How readers and writer keep out of each other's way.
const (
	withoutLocks = "free"
	withTwoLocks = "2N-locks"
)

var storeReaders = []int{1, 2, 4, 16, 64}

// storeFigures measure looks at the node's store of keys by 1 to 64 processes, beside a writer,
// without locks and with 2N of them.
func storeFigures(ctx context.Context, b *bench) error {
	first := 0.0
	for _, readers := range storeReaders {
		var gets, puts, lockedGets, lockedPuts []float64
		for range b.runs {
			get, put, err := readStore(ctx, readers, withoutLocks)
			if err != nil {
				return err
			}
			lockedGet, lockedPut, err := readStore(ctx, readers, withTwoLocks)
			if err != nil {
				return err
			}
			gets, puts = append(gets, get), append(puts, put)
			lockedGets, lockedPuts = append(lockedGets, lockedGet), append(lockedPuts, lockedPut)
		}
		name := fmt.Sprintf("store_%d_readers", readers)
		b.pair(name+"_get_beside_2N_locks", gets, lockedGets, "ns", atMost("value", 300))
		b.pair(name+"_put_beside_2N_locks", puts, lockedPuts, "us", noTarget())
		if readers == 1 {
			first = median(gets)
		}
		b.single(name+"_get_of_one", median(gets)/first, "", atMost("value", 1.25))
	}
	return nil
}

// readStore has processes look values up, each on one CPU. It returns the median reader's CPU time
// for a look-up, in ns, and the median put's time, in us.
func readStore(ctx context.Context, readers int, how string) (get, put float64, err error) {
	store, err := keys.Create(storeRanks)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = store.Close() }()
	for rank := range storeRanks {
		if err := store.Put(rank, storeKey, strings.Repeat("c", storeCard)); err != nil {
			return 0, 0, err
		}
	}
	file, memory, err := lockMemory(readers)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = errors.Join(unix.Munmap(memory), file.Close()) }()
	locks := newTwoLocks(memory, readers)
	group, err := startReaders(ctx, readers, how, store, file)
	if err != nil {
		return 0, 0, err
	}
	puts, err := putBeside(store, how, locks, group.over)
	group.wait()
	if err = errors.Join(err, group.failed); err != nil {
		return 0, 0, err
	}
	return median(group.took), median(puts), nil
}

// lockMemory makes the memory of the readers' locks, and the file by which other processes map it.
func lockMemory(readers int) (*os.File, []byte, error) {
	fd, err := unix.MemfdCreate("locks", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, err
	}
	file := os.NewFile(uintptr(fd), "locks")
	if err := file.Truncate(int64(readers * lockStride)); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	memory, err := unix.Mmap(fd, 0, readers*lockStride, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, memory, nil
}

// readerGroup is readers at work.
type readerGroup struct {
	over   chan struct{}
	took   []float64 // after over
	failed error
}

func (c *readerGroup) wait() { <-c.over }

// startReaders starts processes and, when all are ready, lets them go at once.
func startReaders(ctx context.Context, readers int, how string, store *keys.Store, locks *os.File) (*readerGroup, error) {
	c := &readerGroup{over: make(chan struct{})}
	var cmds []*exec.Cmd
	var outs []*bufio.Reader
	var ins []io.WriteCloser
	undo := func(err error) (*readerGroup, error) {
		for _, in := range ins {
			err = errors.Join(err, in.Close())
		}
		for _, cmd := range cmds {
			_ = cmd.Wait() // it was asked to leave
		}
		return nil, err
	}
	for i := range readers {
		cmd := exec.CommandContext(ctx, "/proc/self/exe", storeRank, how, strconv.Itoa(i), strconv.Itoa(readers))
		cmd.ExtraFiles, cmd.Stderr = []*os.File{store.File(), locks}, os.Stderr
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		in, err := cmd.StdinPipe()
		if err != nil {
			return undo(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return undo(errors.Join(err, in.Close()))
		}
		ins = append(ins, in)
		if err := cmd.Start(); err != nil {
			return undo(err)
		}
		cmds, outs = append(cmds, cmd), append(outs, bufio.NewReader(out))
	}
	for _, out := range outs {
		if _, err := out.ReadString('\n'); err != nil {
			return undo(fmt.Errorf("a reader is not ready: %w", err))
		}
	}
	for _, in := range ins {
		if err := in.Close(); err != nil {
			return undo(err)
		}
	}
	go func() {
		defer close(c.over)
		for i, cmd := range cmds {
			line, err := outs[i].ReadString('\n')
			c.failed = errors.Join(c.failed, err, cmd.Wait())
			ns, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
			c.took, c.failed = append(c.took, ns), errors.Join(c.failed, err)
		}
	}()
	return c, nil
}

// putBeside writes values while the readers read, and returns how long each took, in us.
func putBeside(store *keys.Store, how string, locks *twoLocks, over <-chan struct{}) ([]float64, error) {
	tick := time.NewTicker(storePutEvery)
	defer tick.Stop()
	var took []float64
	for i := 0; ; i++ {
		select {
		case <-over:
			return took, nil
		case <-tick.C:
		}
		var err error
		put := func() { err = store.Put(i%storeRanks, storeKey, strings.Repeat("c", storeCard-1-i%2)) }
		start := time.Now()
		if how == withTwoLocks {
			locks.write(put)
		} else {
			put()
		}
		took = append(took, micros(time.Since(start).Nanoseconds()))
		if err != nil {
			return took, err
		}
	}
}

// readerRole is a reader: it reports that it is ready, waits until its input ends, looks values up,
// and prints its CPU time for one.
func readerRole(args []string) error {
	if len(args) != 3 {
		return errors.New("a reader's arguments are how, its number and how many there are")
	}
	index, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	readers, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	view, err := keys.Open(os.NewFile(storeFD, "store"))
	if err != nil {
		return err
	}
	memory, err := unix.Mmap(locksFD, 0, readers*lockStride, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	var cpu unix.CPUSet
	cpu.Set(index % runtime.NumCPU())
	runtime.LockOSThread()
	if err := unix.SchedSetaffinity(0, &cpu); err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	took, err := lookUpAll(view, args[0], index, newTwoLocks(memory, readers))
	if err != nil {
		return err
	}
	fmt.Println(took)
	return view.Close()
}

// lookUpAll looks a value up storeGets times, and returns the CPU time of one, in ns.
func lookUpAll(view *keys.View, how string, index int, locks *twoLocks) (float64, error) {
	missing := 0
	look := func(rank int) {
		if _, ok := view.Get(rank, storeKey); !ok {
			missing++
		}
	}
	before, err := threadTime()
	if err != nil {
		return 0, err
	}
	for i := range storeGets {
		rank := (i*7 + index) % storeRanks
		if how == withTwoLocks {
			locks.read(index, func() { look(rank) })
		} else {
			look(rank)
		}
	}
	after, err := threadTime()
	if err != nil {
		return 0, err
	}
	if missing > 0 {
		return 0, fmt.Errorf("%d values were missing", missing)
	}
	return float64(after-before) / storeGets, nil
}

// threadTime is the CPU time of this thread, in ns.
func threadTime() (int64, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return t.Nano(), err
}
