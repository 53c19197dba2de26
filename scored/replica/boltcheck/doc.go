// Package boltcheck checks whether bbolt can open a database file and walk through all of it. Logs
// of earlier formats are such files.
//
// bbolt's own check (Tx.Check, bbolt check) maps the file into memory and follows the offsets in
// it. It recovers from panics, but a bad offset or a truncated file causes a memory fault, which
// ends the process without an error. Package boltcheck reads page by page instead.
//
// The layout is that of go.etcd.io/bbolt, version 2 (its internal/common). Package boltcheck does
// not check keys and values.
//
//	if err := boltcheck.File("/var/lib/score/log.db"); err != nil {
//		return err // wraps ErrDamaged if the file is damaged, and names the page
//	}
package boltcheck
