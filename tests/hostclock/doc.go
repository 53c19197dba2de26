// Package hostclock gives unmodified programs a time of day that a test sets, as if the clock of
// their host were stepped. It is for programs in Go and what they start: their monotonic clocks,
// their speed and all else stay as they are.
//
// A program reads the time of day from code that the kernel maps into each process (vdso(7)). When
// a program of the host has begun, and before it has looked where that code is, a few instructions
// are written behind it that call it and add an offset to the time of day; the symbol clock_gettime
// then points there. Stepping the clock writes another offset.
//
// The start of a program shows in the first system call of every Go program (arch_prctl, which sets
// its thread's register): a seccomp filter has the kernel wait at that call until the supervisor, a
// goroutine of the test, has done its work (seccomp_unotify(2)). The filter is inherited, so that
// what a daemon starts has the clock of its host, too. A C program has found the code by then and
// sees the machine's own clock, as does a program that reads the times of files.
//
// It needs Linux on amd64, and root.
//
//	func TestMain(m *testing.M) {
//		hostclock.Main()
//		os.Exit(m.Run())
//	}
//	...
//	clock := hostclock.New()
//	defer clock.Close()
//	err := clock.Start(command)
//	err = clock.Step(-time.Hour)
package hostclock
