// Pingpong measures how long a message takes from rank 0 to rank 1, for sizes from 8
// bytes to the longest message, and checks that every byte arrives.
//
//	scrun -n 2 pingpong          inside a node
//	scrun -N 2 -n 2 pingpong     between two nodes
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"score/pm"
	"time"
)

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 2000, "messages each way, per size")
	flag.Parse()
	c, err := pm.Open(1)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(c, *rounds); err != nil {
		log.Fatalf("rank %d: %v", c.Rank(), err)
	}
	if err := c.Close(); err != nil {
		log.Fatal(err)
	}
}

func run(c *pm.Channel, rounds int) error {
	if c.Size() < 2 {
		return fmt.Errorf("pingpong needs two ranks: scrun -n 2 pingpong")
	}
	if c.Rank() > 1 {
		return nil // only two play
	}
	if c.Rank() == 0 {
		where := "on another node"
		if c.SameNode(1) {
			where = "on the same node"
		}
		fmt.Printf("rank 1 is %s\n%10s %12s %12s\n", where, "bytes", "us one way", "MB/s")
	}
	for size := 8; size <= c.MaxMessage(); size *= 2 {
		if err := play(c, size, rounds); err != nil {
			return err
		}
	}
	return nil
}

// play sends messages of one size back and forth.
func play(c *pm.Channel, size, rounds int) error {
	peer := 1 - c.Rank()
	out := make([]byte, size)
	start := time.Now()
	for i := range rounds {
		if c.Rank() == 0 {
			fill(out, i)
			if err := send(c, peer, out); err != nil {
				return err
			}
		}
		if err := receive(c, i, size); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fill(out, i)
			if err := send(c, peer, out); err != nil {
				return err
			}
		}
	}
	if c.Rank() == 0 {
		oneWay := time.Since(start) / time.Duration(2*rounds)
		fmt.Printf("%10d %12.3f %12.1f\n", size, float64(oneWay.Nanoseconds())/1e3, float64(size)/oneWay.Seconds()/1e6)
	}
	return nil
}

func send(c *pm.Channel, to int, data []byte) error {
	for {
		err := c.SendBytes(to, data)
		if !errors.Is(err, pm.ErrFull) {
			return err
		}
		if err := c.WaitSpace(context.Background(), to, len(data)); err != nil {
			return err
		}
	}
}

// receive takes the next message and checks it.
func receive(c *pm.Channel, round, size int) error {
	if err := c.Wait(context.Background()); err != nil {
		return err
	}
	m, err := c.Receive()
	if err != nil {
		return err
	}
	data, err := m.Bytes()
	if err != nil {
		return err
	}
	if len(data) != size || !check(data, round) {
		return fmt.Errorf("round %d of %d bytes: wrong content", round, size)
	}
	return c.ReleaseReceiveBuffer(m)
}

// fill marks the ends and the middle. Writing every byte would be measured, too.
func fill(data []byte, round int) {
	data[0], data[len(data)/2], data[len(data)-1] = byte(round), byte(round>>8), byte(round*7)
}

func check(data []byte, round int) bool {
	return data[0] == byte(round) && data[len(data)/2] == byte(round>>8) && data[len(data)-1] == byte(round*7)
}
