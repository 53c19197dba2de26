// Workqueue counts primes. Rank 0 has a counter in memory that all ranks can reach. Each rank takes
// its next task by a fetch-and-add to the counter (package pm/uct). On the same node that is one
// instruction; from other nodes it is a message that rank 0's process serves while it works on
// tasks of its own.
//
//	scrun -N 2 -n 4 workqueue -tasks 2000
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"score/pm/mem/atomics"
	"score/pm/uct"
)

const (
	counterKey = 1           // of rank 0's memory
	idResult   = uct.FirstID // the active message with a rank's result in Arg
	taskSize   = 1000        // numbers that one task looks at
)

func main() {
	log.SetFlags(0)
	tasks := flag.Int("tasks", 1000, "tasks in the queue")
	flag.Parse()
	iface, err := uct.Open(1)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(iface, uint64(*tasks)); err != nil {
		log.Fatalf("rank %d: %v", iface.Rank(), err)
	}
	if err := iface.Close(); err != nil {
		log.Fatal(err)
	}
}

func run(iface *uct.Iface, tasks uint64) error {
	reported, sum := 0, uint32(0)
	iface.Handle(idResult, func(p *uct.Packet) {
		reported++
		sum += p.Arg
	})
	if iface.Rank() == 0 { // before the first progress: what others ask waits until then
		if _, err := iface.MD().AllocKey(counterKey, 8, uct.RemoteAtomic); err != nil {
			return err
		}
	}
	owner, err := iface.EP(0)
	if err != nil {
		return err
	}
	found, done, err := work(iface.Worker(), owner, tasks)
	if err != nil {
		return err
	}
	if iface.Rank() > 0 {
		return send(iface.Worker(), owner, found)
	}
	for reported < iface.Ranks()-1 {
		if err := iface.Worker().Turn(context.Background()); err != nil {
			return err
		}
	}
	if all := primes(0, tasks*taskSize); found+sum != all {
		return fmt.Errorf("%d primes were counted, there are %d", found+sum, all)
	}
	fmt.Printf("%d primes below %d are right; rank 0 did %d of %d tasks\n", found+sum, tasks*taskSize, done, tasks)
	return nil
}

// work takes tasks until there are none left.
func work(w *uct.Worker, owner *uct.EP, tasks uint64) (found uint32, done int, err error) {
	add := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}
	one, was := binary.LittleEndian.AppendUint64(nil, 1), make([]byte, 8)
	for {
		err := w.Do(context.Background(), func(done uct.Completion) error {
			return owner.FetchAtomic(add, one, nil, was, uct.Remote{Key: counterKey}, done)
		})
		task := binary.LittleEndian.Uint64(was)
		if err != nil || task >= tasks {
			return found, done, err
		}
		found += primes(task*taskSize, (task+1)*taskSize)
		done++
	}
}

// send sends the result when there is room.
func send(w *uct.Worker, to *uct.EP, found uint32) error {
	return w.Do(context.Background(), func(done uct.Completion) error {
		err := to.Send(uct.Header{ID: idResult, Arg: found}, nil)
		if err == nil {
			done.Complete(nil)
		}
		return err
	})
}

// primes counts the primes between two numbers, the second excluded.
func primes(from, below uint64) (n uint32) {
	for i := max(from, 2); i < below; i++ {
		n++
		for d := uint64(2); d*d <= i; d++ {
			if i%d == 0 {
				n--
				break
			}
		}
	}
	return n
}
