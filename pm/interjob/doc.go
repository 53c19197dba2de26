// Package interjob carries messages between ranks of different jobs of one user: of a job and of
// those that it spawned or connected to. Channels end at the job: their contexts, keys and switches
// are a job's own. Between jobs messages go by TCP, which the kernel keeps while a gang is off.
//
// A rank is reached by its Address, which holds a secret: whoever knows it may send. Jobs hand
// addresses to each other by PMIx, which lets only jobs of one user meet. Both ends prove that they
// know the secret, so that neither a process that took over the port nor one that only guessed it
// gets a message.
//
//	n, err := interjob.Listen(self, host, wake) // wake: called by other goroutines when Poll has something
//	p, err := n.Peer(address)
//	buf, err := p.Reserve(size)
//	err = p.Commit()
//	f, ok := n.Poll()
//	f.Release()
//
// Messages of one sender come in order and exactly once, or its end is reported. What is under way
// is bounded: a sender that is too fast gets ErrFull.
//
// One goroutine uses a Node and its Peers. A node accepts connections by itself only after Expect
// was called, or a Peer was made: before that a sleeping rank must not look as if something outside
// its job could wake it.
package interjob
