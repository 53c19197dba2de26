package filetransfer

import (
	"fmt"
	"os"
	"score/nodeagent/launch"
	"score/nodeagent/peers"
	"score/nodeagent/staging"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"strings"

	"go.uber.org/zap"
)

// Options are the options of New: the parts of the agent that transfers need.
type Options struct {
	Node   string // this one's name
	Cache  *staging.Cache
	Peers  *peers.Clients
	Go     func(func()) // runs a goroutine that acts for a job
	Logger *zap.Logger
}

// Transfers moves the files of jobs to this node and from it.
type Transfers struct {
	options  Options
	early    early
	fetchers fetchers
}

// New returns Transfers without files.
func New(options Options) *Transfers { return &Transfers{options: options} }

func userOf(identity *scorev1.Identity) *launch.User {
	return &launch.User{UID: identity.GetUid(), GID: identity.GetGid(), Groups: identity.GetGroups()}
}

// User returns the user of the cache directory for an identity. An agent without root's rights runs
// all ranks as its own user.
func User(identity *scorev1.Identity) *launch.User {
	u := userOf(identity)
	if uid := os.Geteuid(); uid != 0 {
		u.UID, u.GID = uint32(uid), uint32(os.Getegid())
	}
	return u
}

// stagedFile checks a file of a message. The sender has checked it too, but need not be trusted.
func stagedFile(f *scorev1.StagedFile) (staging.File, error) {
	if len(f.GetSha256()) != staging.SumBytes || f.GetSize() > 1<<62 || !plainName(f.GetName()) {
		return staging.File{}, fmt.Errorf("%q is no file that can be sent along", f.GetName())
	}
	return staging.File{Sum: [staging.SumBytes]byte(f.GetSha256()), Size: int64(f.GetSize())}, nil
}

func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

func stagedFiles(from []*scorev1.StagedFile) ([]staging.File, error) {
	files := make([]staging.File, len(from))
	for i, f := range from {
		var err error
		if files[i], err = stagedFile(f); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// Hold keeps a job's files until Release, and lets the agents of its nodes fetch them.
func (t *Transfers) Hold(order *agentpb.Prepare) {
	t.hold(order.GetJobId(), order.GetUser(), order.GetSpec().GetStaged())
	t.fetchers.add(order.GetJobId(), nodesOf(order.GetPlaces())...)
}

// ReleaseBut releases the files of all jobs for which keeps is false, and cancels all early
// fetches: the leader orders them again.
func (t *Transfers) ReleaseBut(keeps func(job uint64) bool) {
	t.early.endAll()
	t.options.Cache.ReleaseBut(keeps)
	t.fetchers.dropBut(keeps)
}

func (t *Transfers) hold(job uint64, user *scorev1.Identity, from []*scorev1.StagedFile) {
	if files, err := stagedFiles(from); err == nil && len(files) > 0 {
		t.options.Cache.Hold(job, User(user), files)
	}
}

// Release cancels a job's early fetch, and releases its files.
func (t *Transfers) Release(job uint64) {
	t.early.end(job)
	t.options.Cache.Release(job)
	t.fetchers.drop(job)
}
