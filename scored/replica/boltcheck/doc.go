// Package boltcheck reads a bbolt database page by page and says whether it is whole:
// whether bbolt can open it and walk through all of it. bbolt itself maps the file into
// memory and believes it; a page that was cut off or written over ends the process in
// the midst of it, with no word about the file.
//
// The file's layout is that of go.etcd.io/bbolt, version 2, as in its internal/common.
// Contents of keys and values are the caller's.
//
//	if err := boltcheck.File("/var/lib/score/log.db"); err != nil {
//		return err // wraps ErrDamaged where the file is, and says which page
//	}
package boltcheck
