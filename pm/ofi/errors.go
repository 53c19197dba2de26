package ofi

import (
	"errors"
	"score/pm"
	"score/pm/tag"
	"score/pm/uct"
)

// Errors of calls; those of packages tag, uct and pm come through.
var (
	// ErrAgain means that resources are short now: make progress and try again.
	ErrAgain = uct.ErrAgain
	// ErrAddress means that the address vector has no such address, or a name is none of this job's.
	ErrAddress = errors.New("ofi: no such address")
	// ErrArgument means that the call asks for what there is not.
	ErrArgument = errors.New("ofi: the arguments do not make sense")
	// ErrNoMessage completes a peek that found nothing.
	ErrNoMessage = errors.New("ofi: no message matches")
	// ErrNoPort means that the process has as many endpoints as there can be.
	ErrNoPort = errors.New("ofi: the process has too many endpoints")
)

// errnos are Linux's and libfabric's numbers of errors.
var errnos = []struct {
	err    error
	number uint64
}{
	{uct.ErrAgain, 11},      // EAGAIN
	{tag.ErrMemory, 11},     // EAGAIN
	{tag.ErrTruncated, 265}, // FI_ETRUNC
	{tag.ErrCanceled, 125},  // ECANCELED
	{uct.ErrCanceled, 125},  //
	{ErrNoMessage, 42},      // ENOMSG
	{ErrAddress, 22},        // EINVAL
	{ErrArgument, 22},       //
	{uct.ErrKeyInUse, 266},  // FI_ENOKEY, as libfabric's own providers return
	{uct.ErrKey, 266},       //
	{uct.ErrRange, 14},      // EFAULT
	{uct.ErrAccess, 13},     // EACCES
	{uct.ErrOperation, 95},  // EOPNOTSUPP
	{uct.ErrUnknowable, 95}, //
	{uct.ErrTooLong, 90},    // EMSGSIZE
	{tag.ErrUnread, 5},      // EIO
	{uct.ErrPeer, 71},       // EPROTO
	{uct.ErrClosed, 9},      // EBADF
	{tag.ErrClosed, 9},      //
	{pm.ErrPeerGone, 104},   // ECONNRESET
	{pm.ErrPeerClosed, 107}, // ENOTCONN
	{pm.ErrNode, 112},       // EHOSTDOWN
	{pm.ErrMemory, 12},      // ENOMEM
	{pm.ErrNoChannel, 105},  // ENOBUFS
	{pm.ErrEnvironment, 61}, // ENODATA
	{pm.ErrRank, 22},        // EINVAL
	{pm.ErrOpen, 16},        // EBUSY
	{ErrNoPort, 24},         // EMFILE
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
			return e.number
		}
	}
	return 5 // EIO
}
