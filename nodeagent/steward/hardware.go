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

// Variables of hwloc: the description to read, and what makes hwloc bind processes all the same,
// and keep to the CPUs of the control group.
const (
	hwlocPrefix     = "HWLOC_"
	hwlocXML        = "HWLOC_XMLFILE"
	hwlocThisSystem = "HWLOC_THISSYSTEM"
	hwlocAllowed    = "HWLOC_THISSYSTEM_ALLOWED_RESOURCES"
)

// Variables by which hwloc decides whether libxml2 reads descriptions (libxml2 for reading and
// writing, libxml2 for reading alone), or its own parser, which reads all that hwloc has written.
// libxml2 computes a NaN when it begins, by a division of zero by zero. That ends a program which
// has floating-point exceptions enabled, as those that gfortran compiled with -ffpe-trap=invalid.
const (
	hwlocLibxml       = "HWLOC_LIBXML"
	hwlocLibxmlImport = "HWLOC_LIBXML_IMPORT"
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
// unless the user has chosen what hwloc does. What the ranks of scripts load may ask for the
// description by PMI or PMIx, so these have the variable that keeps libxml2 from reading it, too.
func (j *job) withHardware(env []string) []string {
	if j.offer == (offer{}) {
		return env
	}
	if !slices.ContainsFunc(env, choosesParser) {
		env = append(env, hwlocLibxmlImport+"=0")
	}
	if !j.hwloc || j.hardware == "" || slices.ContainsFunc(env, choosesHardware) {
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

func choosesParser(v string) bool {
	name, _, _ := strings.Cut(v, "=")
	return name == hwlocLibxml || name == hwlocLibxmlImport
}

func choosesHardware(v string) bool { return isHwloc(v) && !choosesParser(v) }

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
