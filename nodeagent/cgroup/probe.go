package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Memory is the controller that enforces a memory limit.
type Memory uint8

const (
	// MemoryNone means that no limit can be set.
	MemoryNone Memory = iota
	// MemoryV2 is the memory controller of the v2 tree.
	MemoryV2
	// MemoryV1 is the v1 memory hierarchy of a hybrid host.
	MemoryV1
)

func (m Memory) String() string {
	switch m {
	case MemoryV2:
		return "v2"
	case MemoryV1:
		return "v1"
	default:
		return "none"
	}
}

// Report is the result of Probe.
type Report struct {
	Usable bool
	// Reason is a sentence: why groups are not usable or, if they are, why there is no memory
	// controller. It is empty if there is one.
	Reason string
	// Mount is the v2 tree, "" if there is none.
	Mount string
	// Memory is the available controller. OpenRoot may still fail to enable the v2 controller; see
	// Root.Memory.
	Memory Memory
}

// Probe reports whether groups can be made here. It changes nothing.
func Probe() Report {
	m, err := findMounts()
	if err != nil {
		return Report{Reason: "the table of mounts cannot be read: " + err.Error()}
	}
	return probe(m)
}

func probe(m mounts) Report {
	if m.v2 == "" {
		return Report{Reason: "no cgroup v2 tree is mounted; mount one on /sys/fs/cgroup or /sys/fs/cgroup/unified"}
	}
	r := Report{Mount: m.v2}
	if reason := unwritable(m.v2); reason != "" {
		r.Reason = reason
		return r
	}
	if _, err := os.Stat(filepath.Join(m.v2, "cgroup.subtree_control")); err != nil {
		r.Reason = fmt.Sprintf("%s is not the top of a cgroup v2 tree: %v", m.v2, err)
		return r
	}
	r.Usable = true
	r.Memory = memoryOf(m)
	if r.Memory == MemoryNone {
		r.Reason = "no memory controller is within reach; memory limits will not be kept"
	}
	return r
}

func unwritable(dir string) string {
	err := unix.Access(dir, unix.W_OK|unix.X_OK)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, unix.EROFS):
		return dir + " is mounted read-only"
	case os.Geteuid() != 0:
		return dir + " cannot be written; run the agent as root, or let root delegate it"
	default:
		return fmt.Sprintf("%s cannot be written: %v", dir, err)
	}
}

func memoryOf(m mounts) Memory {
	controllers, err := os.ReadFile(filepath.Join(m.v2, "cgroup.controllers"))
	if err == nil && slices.Contains(strings.Fields(string(controllers)), "memory") {
		return MemoryV2
	}
	if m.v1Memory != "" && unwritable(m.v1Memory) == "" {
		return MemoryV1
	}
	return MemoryNone
}
