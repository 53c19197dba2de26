package ofi

import (
	"errors"
	"score/pm"
	"score/pm/tag"
	"score/pm/uct"
	"syscall"
)

// Errors of calls; those of packages tag, uct and pm come through.
var (
	// ErrAgain means that resources are short now: make progress and try again.
	ErrAgain = uct.ErrAgain
	// ErrAddress means that the address vector has no such address, or a name is none of this
	// job's.
	ErrAddress = errors.New("ofi: no such address")
	// ErrArgument means that the call asks for what there is not.
	ErrArgument = errors.New("ofi: the arguments do not make sense")
	// ErrNoMessage completes a peek that found nothing.
	ErrNoMessage = errors.New("ofi: no message matches")
	// ErrNoPort means that the process has as many endpoints as there can be.
	ErrNoPort = errors.New("ofi: the process has too many endpoints")
)

// Numbers that libfabric adds to Linux's.
const (
	errTruncated = syscall.Errno(265) // FI_ETRUNC
	errNoKey     = syscall.Errno(266) // FI_ENOKEY; its own providers return it for a key in use, too
)

// errnos are Linux's and libfabric's numbers of errors.
var errnos = []struct {
	err    error
	number syscall.Errno
}{
	{uct.ErrAgain, syscall.EAGAIN},
	{tag.ErrMemory, syscall.EAGAIN},
	{tag.ErrTruncated, errTruncated},
	{tag.ErrCanceled, syscall.ECANCELED},
	{uct.ErrCanceled, syscall.ECANCELED},
	{ErrNoMessage, syscall.ENOMSG},
	{ErrAddress, syscall.EINVAL},
	{ErrArgument, syscall.EINVAL},
	{uct.ErrKeyInUse, errNoKey},
	{uct.ErrKey, errNoKey},
	{uct.ErrRange, syscall.EFAULT},
	{uct.ErrAccess, syscall.EACCES},
	{uct.ErrOperation, syscall.EOPNOTSUPP},
	{uct.ErrUnknowable, syscall.EOPNOTSUPP},
	{uct.ErrTooLong, syscall.EMSGSIZE},
	{tag.ErrUnread, syscall.EIO},
	{uct.ErrPeer, syscall.EPROTO},
	{uct.ErrClosed, syscall.EBADF},
	{tag.ErrClosed, syscall.EBADF},
	{pm.ErrPeerGone, syscall.ECONNRESET},
	{pm.ErrPeerClosed, syscall.ENOTCONN},
	{pm.ErrNode, syscall.EHOSTDOWN},
	{pm.ErrMemory, syscall.ENOMEM},
	{pm.ErrNoChannel, syscall.ENOBUFS},
	{pm.ErrEnvironment, syscall.ENODATA},
	{pm.ErrRank, syscall.EINVAL},
	{pm.ErrOpen, syscall.EBUSY},
	{ErrNoPort, syscall.EMFILE},
}

// noMessage is the number of ErrNoMessage. Programs that poll for messages get it all the time.
var noMessage = Errno(ErrNoMessage)

// Errno returns libfabric's number of an error, 0 of nil.
func Errno(err error) uint64 {
	if err == nil {
		return 0
	}
	for _, e := range errnos {
		if errors.Is(err, e.err) {
			return uint64(e.number)
		}
	}
	return uint64(syscall.EIO)
}
