// Package soak lets a cluster work for long: gangs take turns on four nodes and exchange
// messages over a network that loses some. Every message is checked, and the daemons must
// need no more memory and no more descriptors at the end than at the beginning.
//
//	go test ./tests/soak                      # twenty seconds
//	go test ./tests/soak -soak.for 10m        # as make soak does
package soak
