package client

import (
	"context"
	"errors"
	"io"
	"score/scored/api/quote"
	"strings"
	"syscall"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
)

// ErrLost is returned if the connection to the daemon broke.
var ErrLost = errors.New("the connection to the cluster's daemon was lost; 'scored job list' tells whether the job goes on")

// Sentence returns the sentence for a user about an error of a call: the
// daemon's own if it sent one, else what happened to the connection.
func Sentence(err error) string {
	if err == nil {
		return ""
	}
	if isLost(err) {
		return ErrLost.Error()
	}
	if isUnsendable(err) {
		return "a name or reason that was given is not UTF-8: give one that is"
	}
	failure, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return oneLine(err.Error())
	}
	switch failure.Code() {
	case connect.CodeUnavailable:
		return unavailable(failure)
	case connect.CodeUnimplemented:
		return "the cluster's daemon does not know this request: it is of another version than this program"
	case connect.CodeDeadlineExceeded:
		return "the cluster's daemon did not answer in time"
	default:
		return oneLine(failure.Message())
	}
}

// isUnsendable reports whether a request could not be encoded, because a name or reason in it is
// not UTF-8 (see package texts): it is no failure of a daemon, and is permanent.
func isUnsendable(err error) bool {
	return errors.Is(err, proto.Error) && connect.CodeOf(err) == connect.CodeInternal && !connect.IsWireError(err)
}

// cutOff is the text of a failure when the connection broke between its status and its sentence.
const cutOff = "503 Service Unavailable"

// unavailable distinguishes a daemon that reports it is unavailable from one that is not there.
func unavailable(failure *connect.Error) string {
	if failure.Message() == cutOff {
		return ErrLost.Error()
	}
	if errno, ok := errors.AsType[syscall.Errno](failure); ok {
		return "the cluster's daemon does not answer (" + errno.Error() + "): start it with 'scored server', 'scored agent' or 'scored dev'"
	}
	return oneLine(failure.Message())
}

func isLost(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// oneLine keeps a sentence on one line and printable, whatever a message contains.
func oneLine(text string) string {
	return quote.Sentence(strings.Join(strings.Fields(text), " "))
}
