package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// groupMode lets everybody read, as in the kernel's own top groups, and only the agent's user
// write.
const groupMode = 0o755

// Root is the group of one node, score.<cluster>.<node>. It holds no processes itself; they are in
// the jobs' groups below it.
type Root struct {
	dir    string // in the v2 tree
	memDir string // in the v1 memory hierarchy, "" when not used
	memory Memory
	// pidsV2 means that the v2 tree counts processes. Otherwise the group pidsDir of a v1 hierarchy
	// does; "" means that they are not counted.
	pidsV2  bool
	pidsDir string
	// processes bounds those of all groups together; 0: no bound.
	processes uint64
}

// OpenRoot finds the hierarchies and makes the node's group in them, or opens the group that a
// former daemon has left. The error wraps ErrUnusable or ErrName.
func OpenRoot(cluster, node string) (*Root, error) { return findRoot(cluster, node, makeDir) }

// FindRoot is like OpenRoot, for a steward. It does not make the node's group, which the agent has
// made: after the agent has gone and its groups were removed, they stay removed.
func FindRoot(cluster, node string) (*Root, error) { return findRoot(cluster, node, mustBeDir) }

func findRoot(cluster, node string, have func(dir string) error) (*Root, error) {
	m, err := findMounts()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return openRoot(m, cluster, node, have)
}

func openRoot(m mounts, cluster, node string, have func(dir string) error) (*Root, error) {
	name, err := rootName(cluster, node)
	if err != nil {
		return nil, err
	}
	report := probe(m)
	if !report.Usable {
		return nil, fmt.Errorf("%w: %s", ErrUnusable, report.Reason)
	}
	r := &Root{dir: filepath.Join(m.v2, name), memory: report.Memory}
	if err := have(r.dir); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	r.findPids(m, name, have)
	if r.memory == MemoryV2 && !r.enable(m.v2, "memory") {
		r.memory = MemoryNone
		if m.v1Memory != "" && unwritable(m.v1Memory) == "" {
			r.memory = MemoryV1
		}
	}
	if r.memory == MemoryV1 {
		r.memDir = filepath.Join(m.v1Memory, name)
		if have(r.memDir) != nil {
			r.memory, r.memDir = MemoryNone, ""
		}
	}
	return r, nil
}

// enable enables a controller in two levels: for the node's group and for the jobs' groups below
// it.
func (r *Root) enable(mount, controller string) bool {
	for _, dir := range []string{mount, r.dir} {
		if writeFile(dir, "cgroup.subtree_control", "+"+controller) != nil {
			return false
		}
	}
	return true
}

// Memory returns what enforces the memory limits of jobs on this node.
func (r *Root) Memory() Memory { return r.memory }

// Create makes the group of a slot. It fails if the slot's group exists.
func (r *Root) Create(slot int) (*Group, error) {
	g, err := r.make(slot)
	if !errors.Is(err, fs.ErrNotExist) {
		return g, err
	}
	// The last steward of a dead agent may have removed the node's group.
	if err := r.remake(); err != nil {
		return nil, err
	}
	return r.make(slot)
}

func (r *Root) make(slot int) (*Group, error) {
	g, err := r.group(slot)
	if err != nil {
		return nil, err
	}
	if err := g.make(); err != nil {
		return nil, err
	}
	if err := g.open(); err != nil {
		return nil, errors.Join(err, g.unmake())
	}
	return g, nil
}

// remake makes the node's group again, with the controllers that it had.
func (r *Root) remake() error {
	for _, dir := range append([]string{r.dir}, r.v1Dirs()...) {
		if err := makeDir(dir); err != nil {
			return fmt.Errorf("making the node's group: %w", err)
		}
	}
	if r.memory == MemoryV2 {
		r.enable(filepath.Dir(r.dir), "memory")
	}
	if r.pidsV2 {
		r.enable(filepath.Dir(r.dir), "pids")
	}
	if r.processes > 0 {
		return r.LimitProcesses(r.processes)
	}
	return nil
}

// Open opens an existing group. So a restarted agent finds the jobs of its stewards.
func (r *Root) Open(slot int) (*Group, error) {
	g, err := r.group(slot)
	if err != nil {
		return nil, err
	}
	if err := g.open(); err != nil {
		return nil, err
	}
	return g, nil
}

// group returns the group of a slot, without its files.
func (r *Root) group(slot int) (*Group, error) {
	name, err := slotName(slot)
	if err != nil {
		return nil, err
	}
	g := &Group{dir: filepath.Join(r.dir, name), memory: r.memory, pidsV2: r.pidsV2}
	if r.memDir != "" {
		g.memDir = filepath.Join(r.memDir, name)
	}
	if r.pidsDir != "" {
		g.pidsDir = filepath.Join(r.pidsDir, name)
	}
	return g, nil
}

// make makes a group's directories; after an error none is left.
func (g *Group) make() error {
	if err := os.Mkdir(g.dir, groupMode); err != nil {
		return fmt.Errorf("making a group: %w", err)
	}
	for _, dir := range g.ThreadDirs() {
		if err := makeDir(dir); err != nil {
			return errors.Join(fmt.Errorf("making a group: %w", err), g.unmake())
		}
	}
	return nil
}

// unmake removes the directories of an unused group.
func (g *Group) unmake() error {
	failed := []error{os.Remove(g.dir)}
	for _, dir := range g.ThreadDirs() {
		failed = append(failed, removeEmpty(dir, time.Now()))
	}
	return errors.Join(failed...)
}

// v1Dirs returns the node's groups in version 1 hierarchies.
func (r *Root) v1Dirs() []string { return present(r.memDir, r.pidsDir) }

// present returns the non-empty directories, each once: controllers can share a hierarchy.
func present(dirs ...string) []string {
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
	return slices.Compact(dirs)
}

// Slots lists the slots that have a group, unordered.
func (r *Root) Slots() ([]int, error) {
	seen := make(map[int]bool)
	var slots []int
	for _, dir := range append([]string{r.dir}, r.v1Dirs()...) {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("listing groups: %w", err)
		}
		for _, e := range entries {
			if n, ok := slotOf(e.Name()); ok && e.IsDir() && !seen[n] {
				seen[n] = true
				slots = append(slots, n)
			}
		}
	}
	return slots, nil
}

func makeDir(dir string) error {
	if err := os.Mkdir(dir, groupMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func mustBeDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s: %w", dir, unix.ENOTDIR)
	}
	return err
}
