// Command cheader writes the C header of the context image, score_channel.h, from
// the types of package abi. Run it with go generate in package channels; a test
// fails when the header is not what it writes.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: cheader FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(header()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
