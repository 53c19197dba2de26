// Package dump writes the memory of contexts to files, and reads it back for people.
//
// An image is sparse memory: only pages that have something in them are kept. A file is, with all
// numbers little-endian:
//
//	magic "SCOREdmp" · version 4 · head's length 4 · head, as JSON · number of pages 4
//	page: number 4, 4096 bytes                     ascending
//	CRC-32C of all before 4
//
// The image's header is the first page's; the key of the job in it, a secret, is replaced by the
// job's number. Whoever reads a file takes nothing in it for granted.
//
//	pages, err := dump.Collect(file, most)  // file of an image
//	if pages.Still(file) { ... }            // all pages are of one instant
//	err = dump.Write(w, head, pages)
//
//	d, err := dump.Read(r)
//	defer d.Close()
//	d.Report()
package dump
