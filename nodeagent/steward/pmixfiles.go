package steward

import (
	"context"
	"os"
	"score/nodeagent/launch"
	"score/nodeagent/mpidirs"
	"score/nodeagent/userfs"
	"strconv"
)

// pmixDirs are the directories in which the ranks of a job on one node keep their
// files, so that files of several nodes on one host, or of two clusters, stay
// apart, and nothing is left. None is made before the launch, so a job that is
// never launched has none.
type pmixDirs struct {
	shared string // for shared memory; "": the host has none
	// session is for the rest. It is made when the first rank speaks PMIx or, if the ranks can
	// speak nothing else, while they load their libraries.
	session string
	made    bool // session is
}

// makeShared makes the directory for shared memory, right before the first rank is
// forked, since a script may start an Open MPI that never asks here.
func (j *job) makeShared() {
	if j.pmix == nil {
		return
	}
	dir := mpidirs.Shared(j.order.GetFiles())
	if makeAs(j.user, dir) == nil {
		j.pmix.dirs.shared = dir
	}
}

// makeAs makes a directory as the job's user.
func makeAs(user *launch.User, dir string) error {
	return launch.AsUser(user, func() error { return os.Mkdir(dir, 0o700) })
}

// makeSession makes the session directory, whose name the ranks get, once. It notes a failure for
// the user.
func (s *steward) makeSession() {
	d := &s.job.pmix.dirs
	if d.made {
		return
	}
	d.made = true
	if err := makeAs(s.job.user, d.session); err != nil {
		s.note("files of MPI programs may be left behind: " + err.Error())
	}
}

// cleanup names files that a program wants removed after its end.
type cleanup struct {
	path         string
	dir, recurse bool
}

// remove removes the files. It ignores files that are gone or are not the user's.
func (c cleanup) remove() {
	if c.dir && c.recurse {
		_ = userfs.RemoveAll(context.Background(), c.path)
		return
	}
	info, err := os.Lstat(c.path)
	if err != nil || info.IsDir() != c.dir {
		return
	}
	_ = os.Remove(c.path)
}

// removeLeftovers removes what the ranks have left in the job's directories, as their user; no
// process of the job exists any more.
func (j *job) removeLeftovers() {
	if j.pmix == nil {
		return
	}
	_ = launch.AsUser(j.user, func() error { // what stays is the user's
		for _, c := range j.pmix.cleanups {
			c.remove()
		}
		if dir := j.pmix.dirs.shared; dir != "" {
			_ = userfs.RemoveAll(context.Background(), dir)
		}
		if j.pmix.dirs.made {
			_ = userfs.RemoveAll(context.Background(), j.pmix.dirs.session)
		}
		return nil
	})
}

// segmentDirs are the parameters of Open MPI that say where ranks of a node share memory: each part
// of it that names its segments by host and job alone. Nodes that are one host would take each
// other's.
var segmentDirs = []string{
	"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_osc_rdma_backing_directory", "OMPI_MCA_osc_sm_backing_directory",
}

// environ appends the variables by which a rank finds its server, and those that
// make Open MPI look for one: otherwise it takes itself for the only process of
// its job.
func (e *pmixEndpoint) environ(env []string, j *job, rank int) []string {
	env = e.server.Environ(env, rank, e.address.Port, j.node)
	env = append(env, "OMPI_MCA_schizo=^orte")
	set := func(name, value string) {
		if j.variable(name) == "" { // the user's setting takes precedence
			env = append(env, name+"="+value)
		}
	}
	if e.dirs.shared != "" {
		for _, name := range segmentDirs {
			set(name, e.dirs.shared)
		}
	}
	if host, ok := j.host(); ok && host.IsLoopback() {
		set("OMPI_MCA_reachable", "weighted") // the other, netlink, finds no route between nodes of one host
	}
	if j.order.GetSharesCpus() || len(j.ranks) > max(len(j.place.GetCpus()), 1) {
		set("OMPI_MCA_mpi_yield_when_idle", strconv.Itoa(1))
	}
	return env
}
