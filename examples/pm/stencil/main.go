// Stencil simulates heat that spreads over a square plate: in each step, each cell becomes the mean
// of its four neighbours (Jacobi's method). The plate is cut into blocks, one per rank; after each
// step, neighbours exchange the edges of their blocks. At the end rank 0 collects the plate,
// computes it alone and compares every cell.
//
//	scrun -N 2 -n 4 stencil -size 512 -steps 1000
package main

import (
	"flag"
	"fmt"
	"log"
	"score/pm"
	"time"
)

func main() {
	log.SetFlags(0)
	size := flag.Int("size", 256, "cells along each side of the plate")
	steps := flag.Int("steps", 500, "steps")
	flag.Parse()
	c, err := pm.Open(1)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(c, *size, *steps); err != nil {
		log.Fatalf("rank %d: %v", c.Rank(), err)
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
}

func run(c *pm.Channel, size, steps int) error {
	l, err := layOut(c.Size(), size)
	if err != nil {
		return err
	}
	mail := newMail(c)
	b := l.block(c.Rank())
	b.heat(size)
	start := time.Now()
	for range steps {
		if err := exchange(mail, b); err != nil {
			return err
		}
		b.step()
	}
	took := time.Since(start)
	if c.Rank() != 0 {
		return report(mail, b)
	}
	if err := compare(mail, l, b, size, steps); err != nil {
		return err
	}
	fmt.Printf("%d x %d cells, %d steps on %d x %d ranks: every cell is right; %.1f us per step, %.0f million cells/s\n",
		size, size, steps, l.across, l.down, float64(took.Microseconds())/float64(steps), float64(size*size*steps)/took.Seconds()/1e6)
	return nil
}

// report sends the block to rank 0, row by row, and waits for its word: a rank that
// leaves before its messages were taken would take them along.
func report(mail *mail, b *block) error {
	for y := 1; y <= b.height; y++ {
		if err := mail.send(0, b.row(y)); err != nil {
			return err
		}
	}
	_, err := mail.receive(0)
	return err
}

// compare collects the plate and computes it alone.
func compare(mail *mail, l layout, own *block, size, steps int) error {
	alone := &block{width: size, height: size}
	alone.allocate()
	alone.heat(size)
	for range steps {
		alone.step()
	}
	for rank := range l.across * l.down {
		b := l.block(rank)
		for y := 1; y <= b.height; y++ {
			row := own.row(y)
			if rank > 0 {
				var err error
				if row, err = mail.receive(rank); err != nil {
					return err
				}
			}
			want := alone.row(b.top + y)[b.left : b.left+b.width]
			for x := range want {
				if row[x] != want[x] {
					return fmt.Errorf("row %d, column %d: %v, want %v", b.top+y-1, b.left+x, row[x], want[x])
				}
			}
		}
	}
	for rank := 1; rank < l.across*l.down; rank++ {
		if err := mail.send(rank, nil); err != nil {
			return err
		}
	}
	return nil
}
