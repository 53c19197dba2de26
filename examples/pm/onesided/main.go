// Onesided simulates heat that flows around a ring, as halo does, with one-sided operations
// (package pm/uct). Ranks put the ends of their pieces into their neighbours' memory; the immediate
// data that follows a cell reports that it has arrived. No rank calls a receive.
//
//	scrun -N 2 -n 4 onesided -cells 10000 -steps 1000
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"math"
	"score/pm/uct"
)

const (
	haloKey = 1 // of each rank's memory for cells of its neighbours
	fromLow = 0 // which neighbour a cell is of
	fromTop = 1
)

// rank is a rank and its piece of the ring.
type rank struct {
	iface      *uct.Iface
	neighbours [2]*uct.EP
	// halo has a cell of each neighbour for an even and an odd step: one may be a step ahead.
	halo    *uct.Region
	arrived [2]int // cells of each neighbour that came
	cells   []float64
}

func main() {
	log.SetFlags(0)
	cells := flag.Int("cells", 1000, "cells of each rank")
	steps := flag.Int("steps", 500, "steps")
	flag.Parse()
	iface, err := uct.Open(1)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(iface, *cells, *steps); err != nil {
		log.Fatalf("rank %d: %v", iface.Rank(), err)
	}
	if err := iface.Close(); err != nil {
		log.Fatal(err)
	}
}

func run(iface *uct.Iface, cells, steps int) (err error) {
	r := &rank{iface: iface, cells: make([]float64, cells+2)}
	if r.halo, err = iface.MD().RegisterKey(haloKey, make([]byte, 4*8), uct.RemoteWrite); err != nil {
		return err
	}
	iface.HandleData(func(_ *uct.EP, _ uct.Ports, from uint64, _ int) { r.arrived[from&1]++ })
	me, ranks := iface.Rank(), iface.Ranks()
	for side, peer := range [2]int{fromLow: (me + ranks - 1) % ranks, fromTop: (me + 1) % ranks} {
		if r.neighbours[side], err = iface.EP(peer); err != nil {
			return err
		}
	}
	for i := range cells {
		r.cells[i+1] = heat(me*cells + i)
	}
	next := make([]float64, cells+2)
	for step := range steps {
		if err := r.exchange(step); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		flow(next[1:cells+1], r.cells)
		r.cells, next = next, r.cells
	}
	if err := compare(r.cells[1:cells+1], me*cells, ranks*cells, steps); err != nil {
		return err
	}
	fmt.Printf("rank %d of %d: every cell is right after %d steps\n", me, ranks, steps)
	return nil
}

// exchange puts cells to both neighbours, and waits until theirs have arrived.
func (r *rank) exchange(step int) error {
	w, n := r.iface.Worker(), len(r.cells)-2
	for side, cell := range [2]float64{fromLow: r.cells[1], fromTop: r.cells[n]} {
		other := 1 - side // as the neighbour sees it
		data := binary.LittleEndian.AppendUint64(nil, math.Float64bits(cell))
		err := w.Do(context.Background(), func(done uct.Completion) error {
			return r.neighbours[side].PutData(data, uct.Remote{Key: haloKey, Offset: place(other, step)}, uint64(other), done)
		})
		if err != nil {
			return err
		}
	}
	for min(r.arrived[fromLow], r.arrived[fromTop]) <= step {
		if err := w.Turn(context.Background()); err != nil {
			return err
		}
	}
	r.cells[0], r.cells[n+1] = r.cell(fromLow, step), r.cell(fromTop, step)
	return nil
}

// place returns the position of a neighbour's cell.
func place(side, step int) uint64 { return uint64(side*2+step%2) * 8 }

func (r *rank) cell(side, step int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(r.halo.Bytes()[place(side, step):]))
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
