package boltcheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

func openBolt(path string) (*bbolt.DB, error) {
	return bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, NoSync: true})
}

// change makes one transaction, and the bucket if needed.
func change(t rapid.TB, path string, f func(*bbolt.Bucket) error) {
	t.Helper()
	db, err := openBolt(path)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("logs"))
		if err != nil {
			return err
		}
		return f(b)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func key(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }

// database returns a database with branches, overflowing pages and small buckets.
func database(t rapid.TB, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "log.db")
	change(t, path, func(b *bbolt.Bucket) error {
		for i := range 2000 {
			if err := b.Put(key(i), bytes.Repeat([]byte{byte(i)}, 20+i%300)); err != nil {
				return err
			}
		}
		if _, err := b.CreateBucket([]byte("small")); err != nil {
			return err
		}
		return b.Put(key(1000), make([]byte, 20_000))
	})
	return path
}

func TestWholeFiles(t *testing.T) {
	dir := t.TempDir()
	if err := File(filepath.Join(dir, "none")); err != nil {
		t.Errorf("no file: %v", err)
	}
	empty := filepath.Join(dir, "empty")
	if err := errors.Join(os.WriteFile(empty, nil, 0o600), File(empty)); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	if err := File(database(t, dir)); err != nil {
		t.Error(err)
	}
	if err := File(dir); !errors.Is(err, ErrDamaged) {
		t.Errorf("a directory: %v", err)
	}
}

// What bbolt writes passes the check.
func TestWhateverIsWrittenIsWhole(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		for range rapid.IntRange(1, 4).Draw(t, "transactions") {
			first, count := rapid.IntRange(0, 500).Draw(t, "first"), rapid.IntRange(0, 400).Draw(t, "count")
			size := rapid.SampledFrom([]int{0, 10, 500, 9000}).Draw(t, "size")
			remove := rapid.Bool().Draw(t, "remove")
			change(t, path, func(b *bbolt.Bucket) error {
				for i := first; i < first+count; i++ {
					if remove {
						if err := b.Delete(key(i)); err != nil {
							return err
						}
						continue
					}
					if err := b.Put(key(i), make([]byte, size)); err != nil {
						return err
					}
				}
				return nil
			})
			if err := File(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDamage(t *testing.T) {
	whole, err := os.ReadFile(database(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	size := int(binary.LittleEndian.Uint32(whole[headSize+8:]))
	m, err := findMeta(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	root := int(m.root) * size
	for _, test := range []struct {
		name   string
		change func(data []byte) []byte
		want   string // "": undamaged
	}{
		{"not changed", func(d []byte) []byte { return d }, ""},
		{"one torn head", func(d []byte) []byte { copy(d[size:], make([]byte, 40)); return d }, ""},
		{"the other torn head", func(d []byte) []byte { copy(d, make([]byte, 40)); return d }, ""},
		{"both torn heads", func(d []byte) []byte { clear(d[:2*size]); return d }, "does not start as a database"},
		{"zeros", func(d []byte) []byte { clear(d); return d }, "does not start as a database"},
		{"another file", func([]byte) []byte { return []byte("\\documentclass{thesis}") }, "does not start as a database"},
		{"cut in the middle", func(d []byte) []byte { return d[:len(d)/2/size*size] }, "and needs"},
		{"cut to a byte", func(d []byte) []byte { return d[:1] }, "does not start as a database"},
		{"root overwritten", func(d []byte) []byte { clear(d[root : root+size]); return d }, "it has another page's number"},
		{"root is free", func(d []byte) []byte { d[root+8] = 0x10; return d }, "neither branch nor leaf"},
		{"root is too long", func(d []byte) []byte { d[root+15] = 1; return d }, "longer than the file"},
		{"element beyond", func(d []byte) []byte { d[root+headSize+7] = 0x7f; return d }, "an element reaches beyond it"},
		{"too many elements", func(d []byte) []byte { d[root+10], d[root+11] = 0xff, 0xff; return d }, "not in order"},
		{"no bucket", func(d []byte) []byte { d[root+headSize+12] = 3; return d }, "too short"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := test.change(bytes.Clone(whole))
			err := check(bytes.NewReader(data), int64(len(data)))
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want != "" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("error %v, want %q", err, test.want)
			}
		})
	}
}

// FuzzCheck modifies a good file. If the check passes, bbolt must be able to open the file; else
// bbolt would end this process.
func FuzzCheck(f *testing.F) {
	whole, err := os.ReadFile(database(f, f.TempDir()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{}, uint32(0))
	for at := range uint32(64) {
		f.Add(at*4096+at, []byte{byte(at), 0xff}, uint32(len(whole)))
	}
	path := filepath.Join(f.TempDir(), "fuzz.db")
	f.Fuzz(func(t *testing.T, at uint32, with []byte, length uint32) {
		data := bytes.Clone(whole)
		copy(data[int(at)%len(data):], with)
		if length != 0 {
			data = data[:int(length)%(len(data)+1)]
		}
		if check(bytes.NewReader(data), int64(len(data))) != nil {
			return
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := openBolt(path)
		if err != nil {
			return
		}
		defer db.Close()
		err = db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("logs"))
			if err != nil {
				return nil // an element of another kind has this name
			}
			if err := b.ForEach(func(_, _ []byte) error { return nil }); err != nil {
				return err
			}
			return b.Put(key(5000), make([]byte, 10_000))
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
