package dump

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"score/channels/abi"
	"slices"

	"golang.org/x/sys/unix"
)

// ErrTooLarge: an image has more pages in use than were allowed.
var ErrTooLarge = errors.New("dump: the contexts are too large")

// page is one page of an image that is not empty.
type page struct {
	number uint32
	data   []byte
}

// Pages are the pages of an image that are not empty.
type Pages struct {
	pages []page
	bytes int64
}

// Bytes is how much memory they take.
func (p *Pages) Bytes() int64 { return p.bytes }

// Collect copies the pages of an image that are not empty; ErrTooLarge if they have more than limit
// bytes. It reads the file, so that no page is made by looking at it, and none can fault.
func Collect(image *os.File, limit int64) (*Pages, error) {
	p := &Pages{}
	err := eachPage(image, func(number uint32, data []byte) bool {
		p.pages = append(p.pages, page{number, slices.Clone(data)})
		p.bytes += abi.PageBytes
		return p.bytes <= limit
	})
	if err == nil && p.bytes > limit {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	return p, err
}

// Still reports whether the image is as it was collected. Then nothing changed between the end of
// collecting and the beginning of this call, so all pages are of one instant.
func (p *Pages) Still(image *os.File) bool {
	next, same := 0, true
	err := eachPage(image, func(number uint32, data []byte) bool {
		same = next < len(p.pages) && p.pages[next].number == number && bytes.Equal(p.pages[next].data, data)
		next++
		return same
	})
	return err == nil && same && next == len(p.pages)
}

// chunkPages is how many pages are read at a time.
const chunkPages = 16

// eachPage calls yield with the pages that are not empty, in order, until it returns false.
func eachPage(image *os.File, yield func(number uint32, data []byte) bool) error {
	buffer := make([]byte, chunkPages*abi.PageBytes)
	fd := int(image.Fd())
	for at := int64(0); ; {
		from, err := unix.Seek(fd, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // only a hole follows
		}
		if err != nil {
			return fmt.Errorf("dump: looking for the pages in use: %w", err)
		}
		end, err := unix.Seek(fd, from, unix.SEEK_HOLE)
		if err != nil {
			return fmt.Errorf("dump: looking for the pages in use: %w", err)
		}
		for at = from - from%abi.PageBytes; at < end; {
			n, err := readPages(image, buffer, at, end)
			if err != nil {
				return err
			}
			if !yieldPages(buffer[:n], uint32(at/abi.PageBytes), yield) {
				return nil
			}
			at += int64(n)
		}
	}
}

// readPages fills the buffer with whole pages from an offset on, up to the page that has end. It
// returns their size.
func readPages(image *os.File, buffer []byte, at, end int64) (int, error) {
	pages := (end - at + abi.PageBytes - 1) / abi.PageBytes
	n, err := image.ReadAt(buffer[:min(int64(len(buffer)), pages*abi.PageBytes)], at)
	if err != nil && !errors.Is(err, io.EOF) || n < abi.PageBytes {
		return 0, fmt.Errorf("dump: reading the image: %w", err)
	}
	return n / abi.PageBytes * abi.PageBytes, nil
}

// yieldPages yields the pages that are not empty, and reports whether yield wants more.
func yieldPages(data []byte, number uint32, yield func(uint32, []byte) bool) bool {
	for ; len(data) > 0; data = data[abi.PageBytes:] {
		if page := data[:abi.PageBytes]; !empty(page) && !yield(number, page) {
			return false
		}
		number++
	}
	return true
}

var zeros [abi.PageBytes]byte

func empty(data []byte) bool { return bytes.Equal(data, zeros[:]) }
