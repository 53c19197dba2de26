package interjob

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// lengthBytes is the size of the length that precedes each message.
const lengthBytes = 4

// read queues what a peer sends, and its end, for Poll.
func (n *Node) read(p *Peer, c net.Conn) {
	r := bufio.NewReaderSize(c, MaxFrame)
	for {
		data, err := n.readFrame(r)
		if err != nil {
			n.push(Frame{Peer: p, Err: gone(p, err), Last: true})
			return
		}
		if !n.push(Frame{Peer: p, Data: data}) {
			return
		}
	}
}

func (n *Node) readFrame(r io.Reader) ([]byte, error) {
	var head [lengthBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length > MaxFrame {
		return nil, fmt.Errorf("it announced a message of %d bytes", length)
	}
	data := n.buffer(int(length))
	_, err := io.ReadFull(r, data)
	return data, err
}

func gone(p *Peer, err error) error {
	if err == io.EOF { //nolint:errorlint // ReadFull returns this very value at the end
		return fmt.Errorf("%w: rank %d of job %d", ErrGone, p.id.rank, p.id.job)
	}
	return fmt.Errorf("%w: rank %d of job %d: %w", ErrGone, p.id.rank, p.id.job, err)
}
