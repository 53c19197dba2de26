package message

import (
	"score/nodeagent/pmi/pmix/bfrops"
	"strconv"
	"strings"
)

// Job is what every rank learns about its job when it starts.
type Job struct {
	Namespace string
	// NodeNames are the nodes of the job, RankNode the node of each rank.
	NodeNames []string
	RankNode  []int32
	// RankApp is the command of each rank; nil: there is only one command.
	RankApp []int32
	// UniverseSize is how many processes there may be.
	UniverseSize int
	// Parent is the process that spawned the job; nil: a user submitted it.
	Parent *bfrops.Proc
	// SessionDir is where programs keep the files of this run; empty: programs choose.
	SessionDir string
	// Version is the library version that the server claims.
	Version string
}

// WriteJob writes the reply to a client's first request.
func WriteJob(w *bfrops.Writer, j *Job) {
	w.Text(j.Namespace)
	apps, inApp := j.apps()
	local := j.writeKeys(w, apps)
	j.writeRanks(w, local, apps, inApp)
}

// writeKeys writes the keys of the job and its nodes, and returns the position of each rank on its
// node.
func (j *Job) writeKeys(w *bfrops.Writer, apps []app) []int {
	size := uint64(len(j.RankNode))
	number := func(key string, n uint64) { w.KVal(key, bfrops.NewNumber(bfrops.Uint32, n)) }
	number("pmix.job.size", size)
	number("pmix.max.size", size)
	number("pmix.num.nodes", uint64(len(j.NodeNames)))
	number("pmix.job.napps", uint64(len(apps)))
	w.KVal("pmix.jobid", bfrops.NewString(j.Namespace))
	w.KVal("pmix.nlist", bfrops.NewString(strings.Join(j.NodeNames, ",")))
	w.KVal("pmix.bfrops.mod", bfrops.NewString(j.Version))
	w.KVal("pmix.spawned", bfrops.NewBool(j.Parent != nil))
	if j.Parent != nil {
		w.KVal("pmix.parent", bfrops.NewProc(*j.Parent))
	}
	if j.SessionDir != "" {
		w.KVal("pmix.tmpdir", bfrops.NewString(j.SessionDir))
		w.KVal("pmix.nsdir", bfrops.NewString(j.SessionDir))
		w.KVal("pmix.tdir.rmclean", bfrops.NewBool(true))
	}
	w.KVal("pmix.ssn.arr", bfrops.NewInfos(
		bfrops.Info{Key: "pmix.session.id", Value: bfrops.NewNumber(bfrops.Uint32, uint64(noSession))},
		bfrops.Info{Key: "pmix.univ.size", Value: bfrops.NewNumber(bfrops.Uint32, uint64(j.universe()))}))
	writeApps(w, apps)
	return j.writeNodes(w)
}

// app is one of the job's commands.
type app struct{ first, size int }

// apps returns the commands, and the position of each rank among those of its own.
func (j *Job) apps() (apps []app, inApp []int) {
	apps, inApp = make([]app, 1), make([]int, len(j.RankNode))
	for rank := range j.RankNode {
		number := j.app(rank)
		for number >= len(apps) {
			apps = append(apps, app{})
		}
		a := &apps[number]
		if a.size == 0 {
			a.first = rank
		}
		inApp[rank] = a.size
		a.size++
	}
	return apps, inApp
}

func (j *Job) app(rank int) int {
	if j.RankApp == nil {
		return 0
	}
	return int(j.RankApp[rank])
}

// writeApps writes the keys of each command. For a single one the job's keys suffice.
func writeApps(w *bfrops.Writer, apps []app) {
	if len(apps) == 1 {
		return
	}
	for i, a := range apps {
		w.KVal("pmix.app.arr", bfrops.NewInfos(
			bfrops.Info{Key: "pmix.appnum", Value: bfrops.NewNumber(bfrops.Uint32, uint64(i))},
			bfrops.Info{Key: "pmix.app.size", Value: bfrops.NewNumber(bfrops.Uint32, uint64(a.size))},
			bfrops.Info{Key: "pmix.aldr", Value: bfrops.NewNumber(bfrops.Rank, uint64(a.first))}))
	}
}

// noSession is the number of a session that is not known.
const noSession = 0xffffffff

func (j *Job) universe() int {
	if j.UniverseSize <= 0 {
		return len(j.RankNode)
	}
	return j.UniverseSize
}

// writeNodes writes the keys of each node and returns the position of each
// rank on its node.
func (j *Job) writeNodes(w *bfrops.Writer) []int {
	peers := make([][]byte, len(j.NodeNames))
	first := make([]int, len(j.NodeNames))
	count := make([]int, len(j.NodeNames))
	local := make([]int, len(j.RankNode))
	for rank, node := range j.RankNode {
		if count[node] == 0 {
			first[node] = rank
		} else {
			peers[node] = append(peers[node], ',')
		}
		peers[node] = strconv.AppendInt(peers[node], int64(rank), 10)
		local[rank] = count[node]
		count[node]++
	}
	for node, name := range j.NodeNames {
		w.KVal("pmix.node.arr", bfrops.NewInfos(
			bfrops.Info{Key: "pmix.hname", Value: bfrops.NewString(name)},
			bfrops.Info{Key: "pmix.nodeid", Value: bfrops.NewNumber(bfrops.Uint32, uint64(node))},
			bfrops.Info{Key: "pmix.node.size", Value: bfrops.NewNumber(bfrops.Uint32, uint64(count[node]))},
			bfrops.Info{Key: "pmix.lpeers", Value: bfrops.NewString(string(peers[node]))},
			bfrops.Info{Key: "pmix.lldr", Value: bfrops.NewNumber(bfrops.Rank, uint64(first[node]))},
			bfrops.Info{Key: "pmix.local.size", Value: bfrops.NewNumber(bfrops.Uint32, uint64(count[node]))}))
	}
	return local
}

func (j *Job) writeRanks(w *bfrops.Writer, local []int, apps []app, inApp []int) {
	for rank, node := range j.RankNode {
		number := j.app(rank)
		inner := w.Sub()
		inner.One(bfrops.NewNumber(bfrops.Rank, uint64(rank)))
		inner.KVal("pmix.lrank", bfrops.NewNumber(bfrops.Uint16, uint64(local[rank])))
		inner.KVal("pmix.nrank", bfrops.NewNumber(bfrops.Uint16, uint64(local[rank])))
		inner.KVal("pmix.nodeid", bfrops.NewNumber(bfrops.Uint32, uint64(node)))
		inner.KVal("pmix.hname", bfrops.NewString(j.NodeNames[node]))
		inner.KVal("pmix.appnum", bfrops.NewNumber(bfrops.Uint32, uint64(number)))
		inner.KVal("pmix.grank", bfrops.NewNumber(bfrops.Rank, uint64(rank)))
		inner.KVal("pmix.apprank", bfrops.NewNumber(bfrops.Rank, uint64(inApp[rank])))
		if len(apps) > 1 { // libpmix 4 looks for these among the rank's own keys, not among its command's
			inner.KVal("pmix.app.size", bfrops.NewNumber(bfrops.Uint32, uint64(apps[number].size)))
			inner.KVal("pmix.aldr", bfrops.NewNumber(bfrops.Rank, uint64(apps[number].first)))
		}
		w.KVal("pmix.pblob", bfrops.NewBytes(inner.Bytes()))
	}
}

// WriteForeignJob writes the reply to a get about another job than the client's. There, clients
// expect the ranks' keys in arrays, not in the packed form of their own job.
func WriteForeignJob(w *bfrops.Writer, j *Job) {
	w.Status(Success)
	inner := w.Sub()
	inner.One(bfrops.NewProc(bfrops.Proc{Namespace: j.Namespace, Rank: bfrops.Wildcard}))
	apps, _ := j.apps()
	local := j.writeKeys(inner, apps)
	for rank, node := range j.RankNode {
		inner.KVal("pmix.pdata", bfrops.NewInfos(
			bfrops.Info{Key: "pmix.rank", Value: bfrops.NewNumber(bfrops.Rank, uint64(rank))},
			bfrops.Info{Key: "pmix.hname", Value: bfrops.NewString(j.NodeNames[node])},
			bfrops.Info{Key: "pmix.nodeid", Value: bfrops.NewNumber(bfrops.Uint32, uint64(node))},
			bfrops.Info{Key: "pmix.lrank", Value: bfrops.NewNumber(bfrops.Uint16, uint64(local[rank]))},
			bfrops.Info{Key: "pmix.nrank", Value: bfrops.NewNumber(bfrops.Uint16, uint64(local[rank]))}))
	}
	w.Object(inner.Bytes())
}

// ReadJob reads the name of the job and its keys.
func ReadJob(r *bfrops.Reader) (namespace string, keys map[string][]bfrops.Value) {
	namespace = r.Text()
	keys = make(map[string][]bfrops.Value)
	for r.Left() > 0 && r.Err() == nil {
		key, value := r.KVal()
		keys[key] = append(keys[key], value)
	}
	return namespace, keys
}
