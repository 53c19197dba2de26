package steward

import (
	"fmt"
	"score/channels/keys"
	"score/nodeagent/cgroup"
	"score/nodeagent/launch"
	"score/nodeagent/mpidirs"
	"score/nodeagent/pmi/wire"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/stdiorelay"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/environ"
	"score/scored/api/scorev1"
	"strconv"
	"sync/atomic"
	"time"
)

// job is the core loop's state of a job's part on this node.
type job struct {
	order *stewardpb.PrepareJob
	id    uint64
	spec  *scorev1.JobSpec
	place *scorev1.NodePlace
	node  string
	nodes int

	dir      string    // the working directory, where relative names of files begin
	commands []command // in the order of the ranks that run them
	program  string    // of the first rank here, as launch.Resolve found it
	user     *launch.User
	limits   []launch.Limit
	warnings []string
	silent   bool   // looks like MPI: silence is worth a note
	hwloc    bool   // its MPI library looks at the hardware by hwloc
	hardware string // path of the description that the ranks may read in place of that; "": there is none
	notes    int    // sentences sent

	ranks []localRank
	local map[uint32]int // rank to local rank
	offer offer          // what the ranks may speak
	pmi   *wire.Server   // nil: the ranks get no PMI connection
	pmix  *pmixEndpoint  // nil: nor PMIx
	keys  *keys.Store    // nil: no rank has asked for it
	env   []string       // what all ranks have in common

	container cgroup.Container
	cpuBefore time.Duration // of the container, when it was empty

	outputs []stdiorelay.Stream // streams to come, in the order of the ranks; the relay's from Prepared on
	files   *stdiorelay.Files   // the relay's from Prepared on
	stored  <-chan struct{}     // closed once a detached job's files are complete; nil: there are none

	note      func(text string)      // sends the user a sentence, from any goroutine
	killedFor atomic.Pointer[string] // why the job was killed while it was prepared; nil: it was not
}

// localRank is one rank on this node.
type localRank struct {
	rank    uint32
	stdin   int             // its input file until it is forked, -1: none
	pmi     conn            // from the moment before it is forked
	process *launch.Process // nil: not forked, or not reported yet
	exited  *agentpb.RankExited
	respawnState
}

const kvsPrefix = "score_"

// kvsName returns the job's name for its ranks, the same on every node.
func kvsName(job uint64) string { return kvsPrefix + strconv.FormatUint(job, 10) }

// newJob makes a job from an order. It accepts an order that contradicts itself, so that the error
// can be reported; check finds it.
func newJob(order *stewardpb.PrepareJob) *job {
	p := order.GetJob()
	j := &job{order: order, id: p.GetJobId(), spec: p.GetSpec(), node: order.GetNode(), nodes: len(p.GetPlaces())}
	if index := int(p.GetNodeIndex()); index < len(p.GetPlaces()) {
		j.place = p.GetPlaces()[index]
	}
	j.ranks = make([]localRank, len(j.place.GetRanks()))
	j.dir = j.spec.GetWorkDir()
	j.commands = newCommands(j.spec, j.dir, j.size())
	j.local = make(map[uint32]int, len(j.ranks))
	for k, rank := range j.place.GetRanks() {
		j.ranks[k] = localRank{rank: rank, stdin: -1, pmi: conn{fd: -1}}
		j.local[rank] = k
	}
	return j
}

// check validates the order. An error is a bug of the agent or the server, not a mistake of the
// user.
func (j *job) check() error {
	if j.place == nil || j.order.GetJob().GetUser() == nil {
		return fmt.Errorf("%w: no user, or no node", errOrder)
	}
	if err := j.checkCommands(); err != nil {
		return err
	}
	if n := len(j.ranks); n == 0 || n > api.MaxRanksPerNode {
		return fmt.Errorf("%w: %d ranks on one node, at most %d", errOrder, n, api.MaxRanksPerNode)
	}
	if !mpidirs.Valid(j.order.GetFiles()) {
		return fmt.Errorf("%w: %q cannot be the name of its ranks' directories", errOrder, j.order.GetFiles())
	}
	if len(j.local) != len(j.ranks) {
		return fmt.Errorf("%w: a rank is named twice", errOrder)
	}
	for _, i := range j.place.GetCpus() {
		if int(i) >= len(j.order.GetCpuIds()) {
			return fmt.Errorf("%w: CPU %d of %d", errOrder, i, len(j.order.GetCpuIds()))
		}
	}
	return nil
}

// size returns the number of ranks of the whole job.
func (j *job) size() int {
	n := 0
	for _, place := range j.order.GetJob().GetPlaces() {
		n += len(place.GetRanks())
	}
	return n
}

// index returns the local number of a rank here, -1 for no rank in particular (NoRank of wire and
// pmix).
func (j *job) index(rank int) int {
	if rank < 0 {
		return -1
	}
	return j.local[uint32(rank)]
}

// rankNode maps every rank of the job to its node's index. It fails if the places do not name each
// rank once.
func (j *job) rankNode() ([]int32, error) {
	const nowhere = -1
	nodes := make([]int32, j.size())
	for i := range nodes {
		nodes[i] = nowhere
	}
	for index, place := range j.order.GetJob().GetPlaces() {
		for _, rank := range place.GetRanks() {
			if int(rank) >= len(nodes) || nodes[rank] != nowhere {
				return nil, fmt.Errorf("%w: rank %d is placed twice or beyond the last", errOrder, rank)
			}
			nodes[rank] = int32(index)
		}
	}
	return nodes, nil
}

// cpus returns the kernel's numbers of the CPUs of local rank k: cpus_per_task of the place's CPUs
// from k*cpus_per_task on, modulo their number. None: no pinning.
func (j *job) cpus(k int) []int {
	given := j.place.GetCpus()
	if len(given) == 0 {
		return nil
	}
	each := j.cpusEach()
	ids := make([]int, each)
	for i := range ids {
		index := given[(k*each+i)%len(given)]
		ids[i] = int(j.order.GetCpuIds()[index])
	}
	return ids
}

// allCPUs returns the kernel's numbers of the CPUs of all local ranks. None: no pinning.
func (j *job) allCPUs() (ids []int) {
	for _, index := range j.place.GetCpus() {
		ids = append(ids, int(j.order.GetCpuIds()[index]))
	}
	return ids
}

// variable returns the value of a variable of the user's environment.
func (j *job) variable(name string) string { return environ.Value(j.spec.GetEnv(), name) }

// streams returns how many output streams each rank has.
func (j *job) streams() int {
	if j.spec.GetDetached() && j.together() {
		return 1
	}
	return 2
}

// release frees the resources of a job that never ran.
func (j *job) release(cs *clients) {
	j.closeInputs(0)
	j.pmix.close(cs)
	j.removeLeftovers()
	if j.files != nil {
		j.files.Close(func(error) {}) // nothing was written
	}
}

// closeInputs closes the input files of ranks from k on.
func (j *job) closeInputs(k int) {
	for ; k < len(j.ranks); k++ {
		loop.CloseFD(j.ranks[k].stdin)
		j.ranks[k].stdin = -1
	}
}
