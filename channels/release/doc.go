// Package release stores words that other processors load, without the fence of sync/atomic.
//
// On amd64 every store is seen after all that were made before it, while sync/atomic's is also a
// full fence: it waits until the line has come from the other processor, and costs two thirds of
// the message rate. A later load may overtake a store of this package (see fence.go in package
// channels).
package release
