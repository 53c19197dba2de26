package channels

import (
	"encoding/binary"
	"errors"
	"os"
	"score/channels/abi"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func dupOf(t testing.TB, img *Image) *os.File {
	t.Helper()
	fd, err := unix.FcntlInt(img.File().Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "copy")
}

func TestAttach(t *testing.T) {
	img := newImage(t, 3, abi.Geometry{Lanes: 5})
	got, err := Attach(dupOf(t, img))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if got.Identity != img.Identity || got.Geometry() != img.Geometry() || !slices.Equal(got.Local(), []uint32{0, 1, 2}) {
		t.Fatalf("%+v %+v %v", got.Identity, got.Geometry(), got.Local())
	}
	out, err := got.Sender(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Send([]byte("through the other mapping")); err != nil {
		t.Fatal(err)
	}
	in, _ := img.Inbox(nil)
	if m := mustPoll(t, in); m.Rank() != 2 || string(m.Head()) != "through the other mapping" {
		t.Fatalf("rank %d: %q", m.Rank(), m.Head())
	}
}

// TestAttachRefuses changes one word of a good image at a time.
func TestAttachRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		at   int
		word uint32
		want error
	}{
		"magic":         {0, 1, abi.ErrMagic},
		"version":       {8, abi.Version + 1, abi.ErrVersion},
		"header size":   {12, 8, abi.ErrHeader},
		"total":         {16, 4096, abi.ErrHeader},
		"no job":        {24, 0, abi.ErrHeader},
		"rank":          {32, 3, abi.ErrHeader},
		"ranks":         {36, 1 << 30, abi.ErrHeader},
		"local ranks":   {44, 0, abi.ErrHeader},
		"lanes":         {48, 65, abi.ErrHeader},
		"lane bytes":    {52, 3 << 17, abi.ErrHeader},
		"shared bytes":  {56, 0, abi.ErrHeader},
		"send bytes":    {60, 1<<20 + 1, abi.ErrHeader},
		"max message":   {64, 1 << 20, abi.ErrHeader},
		"reserved":      {68, 1, abi.ErrHeader},
		"status offset": {72, 520, abi.ErrHeader},
		"ring offset":   {176, 0, abi.ErrHeader},
		"flow control":  {200, abi.FlowCredits + 1, abi.ErrHeader},
		"long messages": {200, abi.FlowCredits, abi.ErrHeader},
	} {
		t.Run(name, func(t *testing.T) {
			img := newImage(t, 3, abi.Geometry{})
			binary.LittleEndian.PutUint32(img.mem[c.at:], c.word)
			if _, err := Attach(dupOf(t, img)); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
	t.Run("local table", func(t *testing.T) {
		img := newImage(t, 3, abi.Geometry{})
		binary.LittleEndian.PutUint32(img.mem[img.layout.Local+8:], 7)
		if _, err := Attach(dupOf(t, img)); !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}

func TestAttachRefusesFiles(t *testing.T) {
	plain, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Attach(plain); !errors.Is(err, ErrSeals) {
		t.Errorf("a plain file: %v", err)
	}
	for name, c := range map[string]struct {
		size  int64
		seals int
		want  error
	}{
		"unsealed":      {1 << 20, 0, ErrSeals},
		"may shrink":    {1 << 20, unix.F_SEAL_GROW | unix.F_SEAL_SEAL, ErrSeals},
		"may be opened": {1 << 20, unix.F_SEAL_GROW | unix.F_SEAL_SHRINK, ErrSeals},
		"too short":     {100, seals, ErrDamaged},
		"empty":         {0, seals, ErrDamaged},
		"absurd":        {1 << 45, seals, ErrDamaged},
		"zeros":         {1 << 20, seals, abi.ErrMagic},
	} {
		fd, err := unix.MemfdCreate("test", unix.MFD_ALLOW_SEALING)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Ftruncate(fd, c.size); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, c.seals); err != nil {
			t.Fatal(err)
		}
		if _, err := Attach(os.NewFile(uintptr(fd), "test")); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestSealed(t *testing.T) {
	img := newImage(t, 1, abi.Geometry{})
	if err := img.File().Truncate(100); err == nil {
		t.Error("shrunk")
	}
	if err := img.File().Truncate(1 << 30); err == nil {
		t.Error("grown")
	}
	if _, err := unix.FcntlInt(img.File().Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err == nil {
		t.Error("sealed against writing")
	}
}

func TestCreateRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		id    Identity
		g     abi.Geometry
		local []uint32
		want  error
	}{
		"no job":       {Identity{Rank: 0}, abi.Geometry{Ranks: 1, LocalRanks: 1}, []uint32{0}, ErrRank},
		"rank":         {Identity{Job: 1, Rank: 1}, abi.Geometry{Ranks: 1, LocalRanks: 1}, []uint32{0}, ErrRank},
		"elsewhere":    {Identity{Job: 1, Rank: 1}, abi.Geometry{Ranks: 2, LocalRanks: 1}, []uint32{0}, ErrRank},
		"disorder":     {Identity{Job: 1}, abi.Geometry{Ranks: 2, LocalRanks: 2}, []uint32{1, 0}, ErrRank},
		"twice":        {Identity{Job: 1}, abi.Geometry{Ranks: 2, LocalRanks: 2}, []uint32{0, 0}, ErrRank},
		"beyond":       {Identity{Job: 1}, abi.Geometry{Ranks: 2, LocalRanks: 2}, []uint32{0, 2}, ErrRank},
		"count":        {Identity{Job: 1}, abi.Geometry{Ranks: 2, LocalRanks: 2}, []uint32{0}, ErrRank},
		"no ranks":     {Identity{Job: 1}, abi.Geometry{}, nil, abi.ErrGeometry},
		"lane bytes":   {Identity{Job: 1}, abi.Geometry{Ranks: 1, LocalRanks: 1, LaneBytes: 5000}, []uint32{0}, abi.ErrGeometry},
		"short lane":   {Identity{Job: 1}, abi.Geometry{Ranks: 1, LocalRanks: 1, LaneBytes: 65536}, []uint32{0}, abi.ErrGeometry},
		"send buffer":  {Identity{Job: 1}, abi.Geometry{Ranks: 1, LocalRanks: 1, SendBytes: 4096}, []uint32{0}, abi.ErrGeometry},
		"many locals":  {Identity{Job: 1}, abi.Geometry{Ranks: 5000, LocalRanks: 961}, nil, abi.ErrGeometry},
		"many lanes":   {Identity{Job: 1}, abi.Geometry{Ranks: 1, LocalRanks: 1, Lanes: 65}, []uint32{0}, abi.ErrGeometry},
		"long message": {Identity{Job: 1}, abi.Geometry{Ranks: 1, LocalRanks: 1, MaxMessage: 1 << 31}, []uint32{0}, abi.ErrGeometry},
	} {
		if _, err := Create(c.id, c.g, c.local); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestTouchedMemory: the context of a large job costs little before it is used.
func TestTouchedMemory(t *testing.T) {
	g := abi.Geometry{Ranks: 1000, LocalRanks: 2}
	img, err := Create(Identity{Job: 1}, g, []uint32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	if n := blocks(t, img); n > 512<<10 {
		t.Errorf("a fresh context has %d bytes of memory", n)
	}
	for r := range uint32(1000) {
		if err := img.ensure(img.layout.Peer(r), abi.PeerBytes); err != nil {
			t.Fatal(err)
		}
	}
	before := blocks(t, img)
	if n := before; n > 1<<20 {
		t.Errorf("with all peers it has %d bytes", n)
	}
	for at := img.layout.Send; at < img.layout.Total; at += abi.PageBytes {
		if err := img.ensure(at, 1); err != nil {
			t.Fatal(err)
		}
	}
	if n := blocks(t, img); n > 8<<20 {
		t.Errorf("with everything in use it has %d bytes", n)
	}
}
