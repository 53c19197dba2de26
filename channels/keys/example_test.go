package keys_test

import (
	"fmt"
	"score/channels/keys"
)

// The steward publishes a value; a program of the node reads it in place.
func Example() {
	store, err := keys.Create(2)
	if err != nil {
		panic(err)
	}
	defer store.Close()
	if err := store.Put(1, "card", "10.0.0.7:7118"); err != nil {
		panic(err)
	}
	store.Announce()

	view, err := keys.Open(store.File()) // programs get the descriptor from the steward
	if err != nil {
		panic(err)
	}
	defer view.Close()
	value, ok := view.Get(1, "card")
	fmt.Printf("%s %v\n", value, ok)
	// Output: 10.0.0.7:7118 true
}
