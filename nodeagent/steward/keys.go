package steward

import (
	"errors"
	"fmt"
	"score/channels/keys"
	"score/nodeagent/launch"

	"golang.org/x/sys/unix"
)

// joinKeys gives local rank k the node's store of keys. The store is made for the first rank that
// asks, so programs that do not ask cost nothing.
func (s *steward) joinKeys(k int, welcome []byte) {
	err := s.job.openKeys()
	if err == nil {
		err = passStore(s.job.ranks[k].pmi.fd, welcome, s.job.keys)
	}
	if err != nil {
		message := fmt.Sprintf("node %s: rank %d cannot have the store of keys: %v", s.job.node, s.job.ranks[k].rank, err)
		s.abort(k, launch.CodeCluster, message)
	}
}

// openKeys makes the store, with all keys that the ranks here may already see.
func (j *job) openKeys() (err error) {
	if j.keys != nil {
		return nil
	}
	if j.keys, err = keys.Create(j.size()); err != nil {
		return err
	}
	return j.pmi.Engine().PublishTo(j.keys)
}

// closeKeys closes the store; ranks that read it keep what they have.
func (j *job) closeKeys() {
	if j.keys != nil {
		_ = j.keys.Close() // an error loses nothing: the job is over
		j.keys = nil
	}
}

// passStore sends the welcome and the store's descriptor to a rank. Nothing else is unsent on the
// connection, since the client waits.
func passStore(fd int, welcome []byte, store *keys.Store) error {
	if fd < 0 {
		return nil // it has hung up meanwhile
	}
	n, err := unix.SendmsgN(fd, welcome, unix.UnixRights(int(store.File().Fd())), nil, unix.MSG_NOSIGNAL)
	switch {
	case errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET):
		return nil // the next read finds its end
	case err == nil && n < len(welcome):
		return unix.EMSGSIZE
	}
	return err
}
