package steward

import "errors"

var (
	// errOrder means that an order contradicts itself: agent and steward, or server and agent, are
	// of different versions, or one of them has a bug.
	errOrder = errors.New("malformed order to start a job")
	// errFiles means that the ranks' streams cannot be opened.
	errFiles = errors.New("cannot open the ranks' files")
	// errOtherJob means that a reader asks for the streams of a job that this steward no longer
	// has, or does not have yet.
	errOtherJob = errors.New("steward has another job's streams")
	// errStopped means that the job is being ended, so no more ranks are started.
	errStopped = errors.New("the job is being ended")
	// errBusy means that the steward has a job already.
	errBusy = errors.New("steward has another job")
)
