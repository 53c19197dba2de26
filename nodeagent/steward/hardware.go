package steward

import (
	"os"
	"path/filepath"
	"score/nodeagent/mpidirs"
	"score/nodeagent/steward/stewardpb"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Variables of hwloc: the description to read, and what makes hwloc bind processes all the same, and
// keep to the CPUs of the control group.
const (
	hwlocPrefix     = "HWLOC_"
	hwlocXML        = "HWLOC_XMLFILE"
	hwlocThisSystem = "HWLOC_THISSYSTEM"
	hwlocAllowed    = "HWLOC_THISSYSTEM_ALLOWED_RESOURCES"
)

// readable returns the path of the description of the hardware; "" if the user for whom the calling
// thread acts cannot read one.
func readable(path string) string {
	if path == "" || unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, unix.AT_EACCESS) != nil {
		return ""
	}
	return path
}

// withHardware appends what makes the ranks' MPI library read the description of the hardware,
// unless the user has chosen what hwloc does.
func (j *job) withHardware(env []string) []string {
	if !j.hwloc || j.hardware == "" || slices.ContainsFunc(env, isHwloc) {
		return env
	}
	return append(env, hwlocXML+"="+j.hardware, hwlocThisSystem+"=1", hwlocAllowed+"=1")
}

// hardware returns the text of the description, for a program that asks for it by PMIx: Open MPI in
// programs that show no MPI, such as scripts. It returns "" if there is none.
func (s *steward) hardware() string {
	path := s.job.order.GetHardware()
	if path == "" {
		s.wantHardware()
		return ""
	}
	text, _ := os.ReadFile(path) // without it the library looks for itself
	return string(text)
}

// wantHardware tells the agent that the job would have read a description of the hardware.
func (s *steward) wantHardware() {
	s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_HardwareWanted{HardwareWanted: true}})
}

func isHwloc(v string) bool { return strings.HasPrefix(v, hwlocPrefix) }

// withoutHardware returns the environment without what another node has set about its hardware, for
// a job that was submitted from within a job.
func withoutHardware(env []string) []string {
	ofNode := func(v string) bool {
		path, ok := strings.CutPrefix(v, hwlocXML+"=")
		return ok && filepath.Base(path) == mpidirs.Hardware
	}
	if !slices.ContainsFunc(env, ofNode) {
		return env
	}
	return slices.DeleteFunc(env, isHwloc)
}
