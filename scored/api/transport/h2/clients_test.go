package h2

import (
	"strconv"
	"testing"
)

// Each address has one client; a full table is emptied.
func TestClients(t *testing.T) {
	made := 0
	c := NewClients(func(string) int { made++; return made })
	if c.At("a") != 1 || c.At("b") != 2 || c.At("a") != 1 {
		t.Error("an address has not one client")
	}
	for i := range maxClients {
		c.At(strconv.Itoa(i))
	}
	if len(c.known) > maxClients || c.At("a") == 1 {
		t.Errorf("%d clients are kept", len(c.known))
	}
}
