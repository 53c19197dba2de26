package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"score/pm"
)

// mail sends and receives rows of numbers. A neighbour may be a step ahead, so what
// comes is kept by sender until it is asked for.
type mail struct {
	c    *pm.Channel
	from map[int][][]float64
	out  []byte
}

func newMail(c *pm.Channel) *mail { return &mail{c: c, from: make(map[int][][]float64)} }

// send sends numbers; while there is no space it takes what has come.
func (m *mail) send(to int, numbers []float64) error {
	m.out = m.out[:0]
	for _, v := range numbers {
		m.out = binary.LittleEndian.AppendUint64(m.out, math.Float64bits(v))
	}
	for {
		err := m.c.SendBytes(to, m.out)
		if !errors.Is(err, pm.ErrFull) {
			return err
		}
		if err := m.c.WaitSpace(context.Background(), to, len(m.out)); err != nil {
			return err
		}
		if err := m.take(); err != nil {
			return err
		}
	}
}

// receive returns the next numbers of a rank.
func (m *mail) receive(from int) ([]float64, error) {
	for len(m.from[from]) == 0 {
		if err := m.c.Wait(context.Background()); err != nil {
			return nil, err
		}
		if err := m.take(); err != nil {
			return nil, err
		}
	}
	first := m.from[from][0]
	m.from[from] = m.from[from][1:]
	return first, nil
}

// take keeps all messages that have arrived.
func (m *mail) take() error {
	for {
		got, err := m.c.Receive()
		if errors.Is(err, pm.ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := got.Bytes()
		if err != nil {
			return err
		}
		if len(data)%8 != 0 {
			return fmt.Errorf("%d bytes from rank %d are no numbers", len(data), got.Source())
		}
		numbers := make([]float64, len(data)/8)
		for i := range numbers {
			numbers[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		}
		m.from[got.Source()] = append(m.from[got.Source()], numbers)
		if err := m.c.ReleaseReceiveBuffer(got); err != nil {
			return err
		}
	}
}

// exchange swaps edges with the neighbours.
func exchange(m *mail, b *block) error {
	for side, rank := range b.neighbours {
		if rank < 0 {
			continue
		}
		if err := m.send(rank, b.edge(side)); err != nil {
			return err
		}
	}
	for side, rank := range b.neighbours {
		if rank < 0 {
			continue
		}
		numbers, err := m.receive(rank)
		if err != nil {
			return err
		}
		b.setEdge(side, numbers)
	}
	return nil
}

// edge returns the cells that the neighbour on that side needs.
func (b *block) edge(side int) []float64 {
	switch side {
	case above:
		return b.row(1)
	case below:
		return b.row(b.height)
	case leftward:
		return b.column(1)
	default:
		return b.column(b.width)
	}
}

// setEdge stores the cells of the neighbour on that side.
func (b *block) setEdge(side int, numbers []float64) {
	switch side {
	case above:
		copy(b.row(0), numbers)
	case below:
		copy(b.row(b.height+1), numbers)
	case leftward:
		b.setColumn(0, numbers)
	default:
		b.setColumn(b.width+1, numbers)
	}
}
