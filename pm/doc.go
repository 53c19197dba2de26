// Package pm is the message library that parallel programs link: reliable,
// ordered messages of up to 64 KiB between all ranks of a job, at user level. It
// has the calls of PM: a message is built in a send buffer and sent, and is
// received in place and given back.
//
// Inside a node a message is one write into the receiver's memory and one look by
// the receiver, without system call or daemon. A receiver polls; one that waits
// spins, then yields, then sleeps until a message wakes it. A program may have
// several channels, which do not hold each other up; messages go from a channel
// to the same channel of another rank. One goroutine uses a channel at a time.
//
// pm does not match tags, buffer what the receiver has no room for, or
// interrupt anybody: libraries above it do what they need of that.
//
//	ch, err := pm.Open(1)
//	if err != nil { ... }
//	defer ch.Close()
//	buf, err := ch.GetSendBuffer((ch.Rank()+1)%ch.Size(), 8)
//	if err != nil { ... } // pm.ErrFull: receive something, then try again
//	binary.LittleEndian.PutUint64(buf, 42)
//	err = ch.Send()
//	...
//	if err := ch.Wait(ctx); err != nil { ... }
//	m, err := ch.Receive()
//	data, err := m.Bytes()
//	use(m.Source(), data)
//	err = ch.ReleaseReceiveBuffer(m)
package pm
