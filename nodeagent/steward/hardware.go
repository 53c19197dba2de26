package steward

import (
	"path/filepath"
	"score/nodeagent/launch"
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

// withHardware appends what makes the ranks' MPI library read the description of the hardware,
// unless the user has chosen what hwloc does.
func (j *job) withHardware(env []string) []string {
	path := j.order.GetHardware()
	if !j.hwloc || path == "" || slices.ContainsFunc(env, isHwloc) || !j.mayRead(path) {
		return env
	}
	return append(env, hwlocXML+"="+path, hwlocThisSystem+"=1", hwlocAllowed+"=1")
}

func (j *job) mayRead(path string) bool {
	return launch.AsUser(j.user, func() error { return unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, unix.AT_EACCESS) }) == nil
}

// wantHardware tells the agent that the job would have read a description of the hardware.
func (s *steward) wantHardware() {
	if s.job.hwloc && s.job.order.GetHardware() == "" {
		s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_HardwareWanted{HardwareWanted: true}})
	}
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
