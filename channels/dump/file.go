package dump

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"score/channels"
	"score/channels/abi"
)

const (
	magic = "SCOREdmp"
	// version is the format's version; others are refused.
	version = 1
	// maxHead bounds the head: some numbers, and the name of a node.
	maxHead = 4096
	// maxPages bounds what is read: 16 GiB, more than the largest image has.
	maxPages = 1 << 22
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of reading.
var (
	// ErrNoDump: the file is no dump of a context.
	ErrNoDump = errors.New("dump: this is no dump of a context")
	// ErrVersion: it was written by another release.
	ErrVersion = errors.New("dump: the dump is of another version; read it with the release that wrote it")
	// ErrDamaged: it is not as it was written.
	ErrDamaged = errors.New("dump: the dump is damaged")
)

// Head says what was dumped.
type Head struct {
	Job        uint64 `json:"job"`
	Rank       uint32 `json:"rank"`
	Channel    uint32 `json:"channel"`
	Node       string `json:"node"`
	TakenNanos int64  `json:"taken_nanos"`
	// GangOn: the job's gang was on, so that other contexts may be of other instants.
	GangOn bool `json:"gang_on"`
	// Moving: the image changed again and again, so that its pages are not of one instant.
	Moving bool `json:"moving"`
}

// Write writes a dump.
func Write(w io.Writer, head Head, p *Pages) error {
	text, err := json.Marshal(head)
	if err != nil || len(text) > maxHead {
		return fmt.Errorf("dump: a head of %d bytes: %w", len(text), err)
	}
	sum := crc32.New(castagnoli)
	out := io.MultiWriter(w, sum)
	start := binary.LittleEndian.AppendUint32([]byte(magic), version)
	start = binary.LittleEndian.AppendUint32(start, uint32(len(text)))
	start = binary.LittleEndian.AppendUint32(append(start, text...), uint32(len(p.pages)))
	if _, err := out.Write(start); err != nil {
		return err
	}
	record := make([]byte, 4+abi.PageBytes)
	for _, page := range p.pages {
		binary.LittleEndian.PutUint32(record, page.number)
		data := record[4:]
		copy(data, page.data)
		if page.number == 0 {
			h := channels.HeaderOf(data)
			h.Job = head.Job
			channels.SetHeader(data, h)
		}
		if _, err := out.Write(record); err != nil {
			return err
		}
	}
	_, err = w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	return err
}

// Dump is a context as it was dumped.
type Dump struct {
	Head  Head
	img   *channels.Image
	pages []uint32 // that are not empty

	budget int // kept messages that may still be listed, of all peers together
}

// Close frees the memory.
func (d *Dump) Close() error { return d.img.Close() }

// reader reads and sums.
type reader struct {
	from io.Reader
	sum  uint32
}

func (r *reader) read(to []byte) error {
	if _, err := io.ReadFull(r.from, to); err != nil {
		return fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	r.sum = crc32.Update(r.sum, castagnoli, to)
	return nil
}

func (r *reader) number() (uint32, error) {
	var word [4]byte
	err := r.read(word[:])
	return binary.LittleEndian.Uint32(word[:]), err
}

// Read reads a dump and checks it. Errors are ErrNoDump, ErrVersion, ErrDamaged, and those of
// channels.
func Read(from io.Reader) (*Dump, error) {
	r := &reader{from: from}
	head, err := r.head()
	if err != nil {
		return nil, err
	}
	count, err := r.number()
	if err != nil {
		return nil, err
	}
	if count == 0 || count > maxPages {
		return nil, fmt.Errorf("%w: %d pages", ErrDamaged, count)
	}
	d := &Dump{Head: head}
	if err := d.fill(r, count); err != nil {
		if d.img != nil {
			_ = d.img.Close()
		}
		return nil, err
	}
	return d, nil
}

func (r *reader) head() (head Head, err error) {
	start := make([]byte, len(magic))
	if err := r.read(start); err != nil || string(start) != magic {
		return head, ErrNoDump
	}
	v, err := r.number()
	if err != nil {
		return head, err
	}
	if v != version {
		return head, fmt.Errorf("%w: version %d, this program knows %d", ErrVersion, v, version)
	}
	length, err := r.number()
	if err != nil {
		return head, err
	}
	if length > maxHead {
		return head, fmt.Errorf("%w: a head of %d bytes", ErrDamaged, length)
	}
	text := make([]byte, length)
	if err := r.read(text); err != nil {
		return head, err
	}
	if json.Unmarshal(text, &head) != nil {
		return head, fmt.Errorf("%w: its head cannot be read", ErrDamaged)
	}
	return head, nil
}

// fill reads the pages and the checksum. The first page holds the size of the image.
func (d *Dump) fill(r *reader, count uint32) error {
	buffer := make([]byte, abi.PageBytes)
	for i := range count {
		number, err := r.number()
		if err == nil {
			err = r.read(buffer)
		}
		if err != nil {
			return err
		}
		if i == 0 {
			if d.img, err = channels.Copy(channels.HeaderOf(buffer)); err != nil {
				return fmt.Errorf("%w: %w", ErrDamaged, err)
			}
		}
		to := d.img.Page(number)
		if to == nil || i == 0 && number != 0 || i > 0 && number <= d.pages[i-1] {
			return fmt.Errorf("%w: page %d", ErrDamaged, number)
		}
		copy(to, buffer)
		d.pages = append(d.pages, number)
	}
	sum := r.sum
	said, err := r.number()
	if err != nil {
		return err
	}
	if said != sum {
		return fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	}
	if err := d.img.Adopt(); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}
