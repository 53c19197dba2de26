// Package pm is the message library that parallel programs link: reliable, ordered messages of up
// to 64 KiB between all ranks of a job, at user level. The libraries above it add what it lacks.
// Each is built on the one below, and a program uses one of them for each channel:
//
//	programs and libraries       use it for
//	-----------------------      ----------------------------------------------------------
//	pm/ofi    libfabric's model  what knows libfabric, C programs through pm/lib
//	pm/tag    tagged messages    messages of any length, by source and tag: most programs
//	pm/uct    transports         active messages, one-sided operations, atomics
//	pm        channels           messages of up to 64 KiB, in place, with nothing between
//
// pm has the calls of PM: a message is built in a send buffer and sent, and is
// received in place and given back.
//
// Inside a node a message is one write into the receiver's memory and one poll by the receiver,
// without system call or daemon. A receiver polls; one that waits spins, then sleeps until a
// message wakes it. A program may have several channels, 1 to MaxChannel, which do not hold each
// other up; messages go from a channel to the same channel of another rank. One goroutine uses a
// channel at a time.
//
// Between nodes messages go over UDP, and nothing is different for the program: what is lost
// is sent again, and the messages of a sender arrive once and in order. The process does this
// work while it sends, receives, polls and waits; while it computes, its node's agent does.
// Channel.SameNode says which way the messages to a rank take.
//
// Between nodes a channel uses ACK/NACK: a receiver without room refuses, and its senders send
// again. With PM_FLOW=credits, or WithFlow, it uses dynamic credits: a sender sends only what its
// receiver has a place for. That is for short messages of many senders to one; MaxMessage is then
// 1,008 bytes. All ranks use the same for the same channel.
//
// pm does not match tags, buffer what the receiver has no room for, or
// interrupt anybody: libraries above it do what they need of that.
//
//	ch, err := pm.Open(1)
//	if err != nil { ... }
//	defer ch.Close()
//	err = ch.SendBytes((ch.Rank()+1)%ch.Size(), data)
//	if err == pm.ErrFull { ... } // receive something, or WaitSpace; then try again
//	...
//	if err := ch.Wait(ctx); err != nil { ... }
//	m, err := ch.Receive()
//	if err != nil { ... }
//	got, err := m.Bytes()
//	use(m.Source(), got)
//	err = ch.ReleaseReceiveBuffer(m)
//
// # Errors
//
// ErrFull and ErrEmpty mean not now; WaitSpace and Wait wait until that changes. WaitSpace also
// returns when there is something to receive: the peer may be waiting for space, too.
//
// ErrPeerGone and ErrPeerClosed concern one peer, and the traffic with the others goes on. A rank
// whose process ends without Close has died for the others, whatever its exit status. What it had
// sent arrives before the notice of its death, unless a receiver on another node does not take it
// within a second; what was sent before Close arrives in any case.
//
// ErrNode means that the node's agent is gone: peers that messages were exchanged with before can
// still be reached. ErrNoChannel says that the job was not given the channel: a node has few for
// the jobs that run together, and scrun asks for one for each rank unless --channels says
// otherwise. ErrFlow says that a rank uses another flow control than this one, which both get;
// ErrPlaces that the job is too large for credits. ErrTooLarge, ErrRank, ErrChannel, ErrOpen,
// ErrClosed and ErrNoBuffer are mistakes of the program.
package pm
