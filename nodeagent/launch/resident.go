package launch

import (
	"os"
	"strconv"
	"strings"
)

// inexact is the fraction, 1/inexact, of the launcher's memory by which the kernel's counts of it
// may differ: each CPU has its own count and adds it in batches, and the launcher grows until it
// has started the ranks.
const inexact = 8

// PeakResident returns a process's peak resident memory in bytes, or 0 if it has ended or is
// ending.
func PeakResident(pid int) uint64 {
	text, err := readProc("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	return peakResident(string(text))
}

// peakResident returns VmHWM, which the kernel gives in KiB, of a process's status, in bytes.
func peakResident(status string) uint64 {
	_, rest, _ := strings.Cut(status, "\nVmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	number, _ := strings.CutSuffix(strings.TrimSpace(line), " kB")
	kib, err := strconv.ParseUint(number, 10, 44)
	if err != nil {
		return 0 // a process that is ending has no memory
	}
	return kib << 10
}

// ownResident returns an upper bound of the launcher's resident memory, in bytes. A rank has the
// launcher's memory until its exec, and the kernel counts that as the rank's.
func ownResident() uint64 {
	peak := PeakResident(os.Getpid())
	return peak + peak/inexact
}
