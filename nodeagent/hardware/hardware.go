package hardware

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// retryPause is the time between two tries to make the description: somebody may have installed
	// lstopo.
	retryPause = time.Minute
	// onlineFile lists the CPUs that are online. If it changes, so does the description.
	onlineFile = "/sys/devices/system/cpu/online"
)

// Options are the options of New.
type Options struct {
	Path    string          // of the file; everybody may reach it, and only the agent make names beside it
	Go      func(func())    // runs what makes the file
	Running context.Context // its end ends that
	Logger  *zap.Logger
}

// Description is the file.
type Description struct {
	options Options

	mu     sync.Mutex
	online string // the CPUs that the file tells of; "": there is no file
	making bool
	next   time.Time // when the next try is due
}

// New returns a Description without a file.
func New(options Options) *Description { return &Description{options: options} }

// Path returns the path of the file; "" if there is none, or if other CPUs are online than it says.
func (d *Description) Path() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.online == "" || d.online != onlineCPUs() {
		return ""
	}
	return d.options.Path
}

// Want begins to make the file, unless that goes on, or failed a short time ago. It does not wait.
func (d *Description) Want() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); !d.making && !now.Before(d.next) {
		d.making, d.next = true, now.Add(retryPause)
		d.options.Go(d.make)
	}
}

func (d *Description) make() {
	online := onlineCPUs()
	err := write(d.options.Running, d.options.Path)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		d.options.Logger.Info("MPI libraries look at the hardware in each rank, which lengthens starts; install hwloc-nox (lstopo) to spare them that")
	case err != nil && d.options.Running.Err() == nil:
		d.options.Logger.Warn("the hardware cannot be described for MPI libraries, so each rank looks at it", zap.Error(err))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.making = false; err == nil {
		d.online, d.next = online, time.Time{}
	}
}

// onlineCPUs returns the CPUs that are online, "" if that cannot be read.
func onlineCPUs() string {
	text, _ := os.ReadFile(onlineFile)
	return string(text)
}
