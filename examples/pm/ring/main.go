// Ring sends a token around all ranks. Each adds its number, and rank 0 checks the sum.
//
//	scrun -N 2 -n 8 ring
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"log"
	"score/pm"
	"time"
)

func main() {
	log.SetFlags(0)
	laps := flag.Int("laps", 1000, "how often the token goes round")
	flag.Parse()
	c, err := pm.Open(1)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(c, *laps); err != nil {
		log.Fatalf("rank %d: %v", c.Rank(), err)
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
}

func run(c *pm.Channel, laps int) error {
	next := (c.Rank() + 1) % c.Size()
	start := time.Now()
	sum := uint64(0)
	for lap := range laps {
		if c.Rank() > 0 || lap > 0 {
			got, err := receive(c)
			if err != nil {
				return err
			}
			sum = got
		}
		if err := send(c, next, sum+uint64(c.Rank())); err != nil {
			return err
		}
	}
	if c.Rank() > 0 {
		return nil
	}
	sum, err := receive(c)
	if err != nil {
		return err
	}
	n := uint64(c.Size())
	if want := uint64(laps) * n * (n - 1) / 2; sum != want {
		return fmt.Errorf("the token says %d, want %d", sum, want)
	}
	hop := time.Since(start) / time.Duration(laps*c.Size())
	fmt.Printf("%d laps around %d ranks: sum %d is right, %.2f us per hop\n", laps, n, sum, float64(hop.Nanoseconds())/1e3)
	return nil
}

func send(c *pm.Channel, to int, token uint64) error {
	var data [8]byte
	binary.LittleEndian.PutUint64(data[:], token)
	err := c.SendBytes(to, data[:])
	for errors.Is(err, pm.ErrFull) {
		if err = c.WaitSpace(context.Background(), to, len(data)); err == nil {
			err = c.SendBytes(to, data[:])
		}
	}
	return err
}

func receive(c *pm.Channel) (uint64, error) {
	if err := c.Wait(context.Background()); err != nil {
		return 0, err
	}
	m, err := c.Receive()
	if err != nil {
		return 0, err
	}
	data, err := m.Bytes()
	if err != nil {
		return 0, err
	}
	if len(data) != 8 {
		return 0, errors.New("this is not the token")
	}
	token := binary.LittleEndian.Uint64(data)
	return token, c.ReleaseReceiveBuffer(m)
}
