// Halo simulates heat that flows around a ring, which is cut into one piece for each rank. In each
// step, ranks exchange the ends of their pieces with both neighbours as tagged messages (package
// pm/tag) and then compute their cells. At the end each rank also computes the whole ring and
// compares its piece.
//
//	scrun -N 2 -n 4 halo -cells 10000 -steps 1000
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"math"
	"score/pm/tag"
)

// The tags: the direction in which a cell is sent.
const (
	toRight uint64 = iota + 1
	toLeft
	result
)

func main() {
	log.SetFlags(0)
	cells := flag.Int("cells", 1000, "cells of each rank")
	steps := flag.Int("steps", 500, "steps")
	flag.Parse()
	e, err := tag.Open(1)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(e, *cells, *steps); err != nil {
		log.Fatalf("rank %d: %v", e.Iface().Rank(), err)
	}
	if err := e.Iface().Close(); err != nil {
		log.Fatal(err)
	}
}

func run(e *tag.Endpoint, cells, steps int) error {
	rank, ranks := e.Iface().Rank(), e.Iface().Ranks()
	mine := make([]float64, cells+2) // with a cell of each neighbour
	for i := range mine {
		mine[i] = heat(rank*cells + i - 1) // those of neighbours come before the first step
	}
	next := make([]float64, cells+2)
	for range steps {
		if err := exchange(e, mine); err != nil {
			return err
		}
		flow(next[1:cells+1], mine)
		mine, next = next, mine
	}
	if err := compare(mine[1:cells+1], rank*cells, ranks*cells, steps); err != nil {
		return err
	}
	return report(e, steps)
}

// exchange fills the cells of both neighbours.
func exchange(e *tag.Endpoint, cells []float64) error {
	rank, ranks, n := e.Iface().Rank(), e.Iface().Ranks(), len(cells)-2
	left, right := tag.Peer{Rank: uint32((rank + ranks - 1) % ranks)}, tag.Peer{Rank: uint32((rank + 1) % ranks)}
	var fromLeft, fromRight, leftward, rightward tag.Op
	var first, last [8]byte
	binary.LittleEndian.PutUint64(first[:], math.Float64bits(cells[1]))
	binary.LittleEndian.PutUint64(last[:], math.Float64bits(cells[n]))
	for _, begin := range []func() error{
		func() error { return e.Receive(&fromLeft, tag.Criteria{Source: left, Tag: toRight}, make([]byte, 8)) },
		func() error { return e.Receive(&fromRight, tag.Criteria{Source: right, Tag: toLeft}, make([]byte, 8)) },
		func() error { return e.Send(&leftward, left, toLeft, first[:]) },
		func() error { return e.Send(&rightward, right, toRight, last[:]) },
	} {
		if err := begin(); err != nil {
			return err
		}
	}
	if err := e.Wait(context.Background(), &fromLeft, &fromRight, &leftward, &rightward); err != nil {
		return err
	}
	cells[0] = math.Float64frombits(binary.LittleEndian.Uint64(fromLeft.Bytes))
	cells[n+1] = math.Float64frombits(binary.LittleEndian.Uint64(fromRight.Bytes))
	return nil
}

// flow computes the next values of cells from their values and those of their neighbours.
func flow(next, was []float64) {
	for i := range next {
		next[i] = was[i+1]/2 + (was[i]+was[i+2])/4
	}
}

// heat returns the initial value of a cell.
func heat(i int) float64 { return float64(i * i % 101) }

// compare computes the whole ring and compares a piece of it.
func compare(piece []float64, at, all, steps int) error {
	ring, next := make([]float64, all+2), make([]float64, all+2)
	for i := range all {
		ring[i+1] = heat(i)
	}
	for range steps {
		ring[0], ring[all+1] = ring[all], ring[1]
		flow(next[1:all+1], ring)
		ring, next = next, ring
	}
	for i, v := range piece {
		if v != ring[at+i+1] {
			return fmt.Errorf("cell %d is %v, want %v", at+i, v, ring[at+i+1])
		}
	}
	return nil
}

// report makes rank 0 wait for the others, and print the success.
func report(e *tag.Endpoint, steps int) error {
	var o tag.Op
	if e.Iface().Rank() > 0 {
		if err := e.Send(&o, tag.Peer{Rank: 0}, result, nil); err != nil {
			return err
		}
		return e.Wait(context.Background(), &o)
	}
	for range e.Iface().Ranks() - 1 {
		if err := e.Receive(&o, tag.Criteria{Source: tag.AnyPeer, Tag: result}, nil); err != nil {
			return err
		}
		if err := e.Wait(context.Background(), &o); err != nil {
			return err
		}
	}
	fmt.Printf("%d steps on %d ranks: every cell is right\n", steps, e.Iface().Ranks())
	return nil
}
