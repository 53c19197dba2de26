// Package scm takes the descriptors out of control messages of Unix sockets (unix(7),
// SCM_RIGHTS).
package scm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Rights returns the descriptors that came with a message, which are the caller's to
// close. The message must have been received with MSG_CMSG_CLOEXEC, as package net does.
func Rights(control []byte) (fds []int, err error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, fmt.Errorf("reading a control message: %w", err)
	}
	for i := range messages {
		some, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue // another kind of message
		}
		fds = append(fds, some...)
	}
	return fds, nil
}
