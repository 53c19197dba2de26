package pm_test

import (
	"context"
	"fmt"
	"log"
	"score/pm"
)

// Every rank greets the next one, and is greeted by the one before.
func Example() {
	ch, err := pm.Open(1)
	if err != nil {
		log.Fatal(err)
	}
	defer ch.Close()
	next := (ch.Rank() + 1) % ch.Size()
	if err := ch.SendBytes(next, []byte("hello")); err != nil {
		log.Print(err)
		return
	}
	if err := ch.Wait(context.Background()); err != nil {
		log.Print(err)
		return
	}
	m, err := ch.Receive()
	if err != nil {
		log.Print(err)
		return
	}
	text, err := m.Bytes()
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Printf("rank %d: %s from rank %d\n", ch.Rank(), text, m.Source())
	if err := ch.ReleaseReceiveBuffer(m); err != nil {
		log.Print(err)
	}
}

// Send repeats until the receiver has room, and receives meanwhile.
func ExampleChannel_WaitSpace() {
	send := func(ctx context.Context, ch *pm.Channel, to int, data []byte, handle func(pm.Message)) error {
		for {
			err := ch.SendBytes(to, data)
			if err != pm.ErrFull { //nolint:errorlint // never wrapped
				return err
			}
			if err := ch.WaitSpace(ctx, to, len(data)); err != nil {
				return err
			}
			for ch.Poll() {
				m, err := ch.Receive()
				if err != nil {
					return err
				}
				handle(m)
				if err := ch.ReleaseReceiveBuffer(m); err != nil {
					return err
				}
			}
		}
	}
	_ = send
}
