// Rank is the Go side of the consumer in testdata: in each row it does by package ofi what that one
// does by libfabric, so that a C program and a Go program can be the ranks of one job.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"score/pm"
	"score/pm/ofi"
	"slices"
	"strconv"
	"time"
)

// channel is the one that the library for C programs takes.
const channel = 1

// rows are those in which something is sent, in the order of testdata/consumer/rows.c.
var rows = []struct {
	name string
	run  func(*rank)
}{
	{"endpoints", endpoints},
	{"tagged", tagged},
	{"tag-bits", tagBits},
	{"message", message},
	{"directed", directed},
	{"multi-recv", multiReceive},
	{"cq-data", remoteData},
	{"inject", inject},
	{"unexpected", unexpected},
	{"peek", peek},
	{"claim", claim},
	{"truncation", truncation},
	{"match-complete", matchComplete},
	{"rma", oneSided},
	{"mr-basic", oneSided},
	{"write-data", writeData},
	{"rma-order", order},
	{"rma-event", events},
	{"atomic", atomic},
	{"fetch-atomic", fetchAtomic},
	{"compare-atomic", compareAtomic},
}

// usage: rank DIRECTORY ROW...
func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: rank DIRECTORY ROW...")
		os.Exit(2)
	}
	r, err := start(os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, row := range rows {
		if !slices.Contains(os.Args[2:], row.name) {
			continue
		}
		if err := r.try(row.run); err != nil {
			fmt.Printf("%d %s FAILED %v\n", r.me, row.name, err)
			os.Exit(1)
		}
		fmt.Printf("%d %s ok\n", r.me, row.name)
	}
	if err := r.try((*rank).end); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// rank is this process.
type rank struct {
	me, other int
	d         *ofi.Domain
	base      *end   // of swap
	swaps     uint64 // so far
}

// start opens the domain and an endpoint, and finds the other rank's by files in the directory.
func start(dir string) (*rank, error) {
	ch, err := pm.Open(channel)
	if err != nil {
		return nil, err
	}
	r := &rank{me: ch.Rank(), other: 1 - ch.Rank(), d: ofi.Open(ch)}
	if r.base, err = r.alone(ofi.EndpointOptions{}); err != nil {
		return nil, err
	}
	mine := r.base.ep.Name()
	file := func(kind string, rank int) string { return filepath.Join(dir, kind+"."+strconv.Itoa(rank)) }
	if err := os.WriteFile(file("new", r.me), mine[:], 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(file("new", r.me), file("name", r.me)); err != nil {
		return nil, err
	}
	theirs, err := await(file("name", r.other))
	if err != nil {
		return nil, err
	}
	return r, r.base.meet(mine[:], theirs)
}

// await reads a file that comes.
func await(name string) ([]byte, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		text, err := os.ReadFile(name)
		if err == nil || time.Now().After(end) {
			return text, err
		}
	}
}

// end waits for the other rank and closes.
func (r *rank) end() {
	r.barrier()
	must(r.d.Close())
}
