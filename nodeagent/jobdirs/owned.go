package jobdirs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"score/nodeagent/filetransfer"
	"score/nodeagent/mpidirs"
	"score/nodeagent/stewardpool"
	"score/scored/api/agentpb"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Owned holds the files of one job.
type Owned struct {
	dirs  *Dirs
	order *agentpb.Prepare

	mu    sync.Mutex
	dir   string // its directory, until that is removed
	files string // the name of its ranks' directories elsewhere, as dir
	// privateShm is set if nothing of the job can be in the host's /dev/shm.
	privateShm bool
}

// Own returns the Owned of a new job, without files.
func (d *Dirs) Own(order *agentpb.Prepare) *Owned { return &Owned{dirs: d, order: order} }

// Found returns the Owned of a job of a former agent.
func (d *Dirs) Found(o *stewardpool.Orphan) *Owned {
	order := o.Status.GetOrder().GetJob()
	return &Owned{dirs: d, order: order, dir: d.dirIn(order), files: d.filesIn(o), privateShm: o.Status.GetPrivateShm()}
}

// MakeDir makes the job's directory, owned by its user, and puts its name into the environment of
// the ranks. Each call uses a new name, since a requeued job may come back while its former
// directory is being removed.
func (o *Owned) MakeDir() (dir string, err error) {
	spec, user, place := o.order.GetSpec(), o.order.GetUser(), o.dirs.options.JobsDir
	name := strconv.FormatUint(o.order.GetJobId(), 10) + "-*"
	dir, err = os.MkdirTemp(place, name) // mode 0700
	if errors.Is(err, fs.ErrNotExist) {  // the place was removed
		if err = makePlace(place); err == nil {
			dir, err = os.MkdirTemp(place, name)
		}
	}
	if err != nil {
		return "", fmt.Errorf("making the job's directory: %w", o.dirs.NoRoom(err))
	}
	o.mu.Lock()
	o.dir = dir
	o.mu.Unlock()
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, int(user.GetUid()), int(user.GetGid())); err != nil {
			return "", fmt.Errorf("giving the job's directory to its user: %w", err)
		}
	}
	spec.Env = slices.DeleteFunc(spec.Env, func(v string) bool { return strings.HasPrefix(v, dirVariable+"=") })
	spec.Env = append(spec.Env, dirVariable+"="+dir)
	return dir, nil
}

// NameFiles names the directories of the job's ranks. The steward makes them and, if it still
// lives, removes them.
func (o *Owned) NameFiles() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.files = mpidirs.Name(o.dirs.options.Prefix, o.order.GetJobId())
	return o.files
}

// HasPrivateShm notes that the job has a /dev/shm of its own, which its steward empties.
func (o *Owned) HasPrivateShm() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.privateShm = true
}

// Remove removes all files of the job, its ranks and its steward. No process of the job is left.
func (o *Owned) Remove() {
	o.mu.Lock()
	dir, files, privateShm := o.dir, o.files, o.privateShm
	o.dir, o.files = "", ""
	o.mu.Unlock()
	o.dirs.removeFiles(files, o.order.GetUser().GetUid())
	if !privateShm {
		o.dirs.removeSegments(filetransfer.User(o.order.GetUser()))
	}
	if dir != "" { // last: an agent that finds it knows that there may be files
		o.dirs.removeDir(dir)
	}
}
