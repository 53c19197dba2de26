package chaos

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
)

// kind is a kind of job.
type kind struct {
	name   string
	weight int
	shape  func(s *submission, r *rand.Rand)
}

var kinds = []kind{
	{"exit code", 3, exits},
	{"lines", 4, lines},
	{"copy", 3, copies},
	{"compress", 1, compresses},
	{"digest", 2, digests},
	{"write, then read", 2, writesFirst},
	{"input unread", 1, unread},
	{"exchange", 2, exchanges},
	{"detached", 2, detached},
	{"files", 1, files},
	{"begun again", 1, begunAgain},
}

// errOutput is wrapped by what is wrong with an output.
var errOutput = errors.New("the output is wrong")

const (
	// maxInput is more than all buffers on the way hold together.
	maxInput = 3 << 20
	maxLines = 400
)

func exits(s *submission, r *rand.Rand) {
	s.ranks, s.code = 1+r.IntN(3), r.IntN(100)
	s.script = "exit " + strconv.Itoa(s.code)
	s.check = exactly(nil)
}

// counting prints numbered lines of a rank over a second or some. Neither the shell's standard
// error nor its exit code tells that a fault has killed its sleep.
func counting(count int) string {
	return fmt.Sprintf(
		`exec 2>/dev/null; i=0; while [ $i -lt %d ]; do echo "$SCORE_RANK $i"; i=$((i+1)); [ $((i%%50)) != 0 ] || sleep 0.2; done; exit 0`,
		count,
	)
}

func lines(s *submission, r *rand.Rand) {
	count := 1 + r.IntN(maxLines)
	s.ranks = 1 + r.IntN(3)
	s.script, s.check = counting(count), counted(s.ranks, count)
}

// counted reports that each line of each rank is there once, and in order.
func counted(ranks, count int) func([]byte) error {
	return func(out []byte) error {
		next := make([]int, ranks)
		for line := range strings.Lines(string(out)) {
			var rank, number int
			if _, err := fmt.Sscanf(line, "%d %d\n", &rank, &number); err != nil || rank < 0 || rank >= ranks {
				return fmt.Errorf("%w: line %q", errOutput, line)
			}
			if number != next[rank] {
				return fmt.Errorf("%w: rank %d: line %d where %d is due", errOutput, rank, number, next[rank])
			}
			next[rank]++
		}
		for rank, n := range next {
			if n != count {
				return fmt.Errorf("%w: rank %d: %d of %d lines", errOutput, rank, n, count)
			}
		}
		return nil
	}
}

func exactly(want []byte) func([]byte) error {
	return func(got []byte) error {
		if bytes.Equal(got, want) {
			return nil
		}
		same := 0
		for same < min(len(got), len(want)) && got[same] == want[same] {
			same++
		}
		return fmt.Errorf("%w: %d bytes, want %d; the first %d agree", errOutput, len(got), len(want), same)
	}
}

// draw gives random bytes that do not compress well, fewer than maxInput.
func draw(r *rand.Rand) []byte {
	data := make([]byte, r.IntN(maxInput))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func copies(s *submission, r *rand.Rand) {
	s.input = draw(r)
	s.script, s.check = "exec cat", exactly(s.input)
}

func compresses(s *submission, r *rand.Rand) {
	s.input = draw(r)
	s.script = "exec gzip -1c"
	s.check = func(out []byte) error {
		reader, err := gzip.NewReader(bytes.NewReader(out))
		if err != nil {
			return fmt.Errorf("%w: %w", errOutput, err)
		}
		plain, err := io.ReadAll(reader)
		if err != nil {
			return fmt.Errorf("%w: %w", errOutput, err)
		}
		return exactly(s.input)(plain)
	}
}

func digests(s *submission, r *rand.Rand) {
	s.input = draw(r)
	sum := sha256.Sum256(s.input)
	s.script = "exec sha256sum"
	s.check = exactly([]byte(hex.EncodeToString(sum[:]) + "  -\n"))
}

func writesFirst(s *submission, r *rand.Rand) {
	s.input = draw(r)
	before := r.IntN(maxInput)
	s.script = fmt.Sprintf(`head -c %d /dev/zero || exit; exec cat`, before) // a fault may kill head
	s.check = exactly(append(make([]byte, before), s.input...))
}

func unread(s *submission, r *rand.Rand) {
	s.input = draw(r)
	s.script, s.code, s.check = "sleep 1; exit 3", 3, exactly(nil)
}

func exchanges(s *submission, r *rand.Rand) {
	s.ranks = 2 + r.IntN(2)
	s.options = []string{"--channels", "1"}
	s.script = "exec " + filepath.Join(bin, "pm/exchange") + " -for 1s"
	s.check = func(out []byte) error {
		if !bytes.Contains(out, []byte("every message is right")) {
			return fmt.Errorf("%w: %q", errOutput, out)
		}
		return nil
	}
}

func detached(s *submission, r *rand.Rand) {
	count := 1 + r.IntN(maxLines)
	s.ranks, s.detached = 1+r.IntN(2), true
	s.file = filepath.Join(s.dir, s.token+".out")
	s.options = []string{"-d", "-o", s.file}
	s.script, s.check = counting(count), counted(s.ranks, count)
}

func files(s *submission, r *rand.Rand) {
	count := 1 + r.IntN(maxLines)
	s.file = filepath.Join(s.dir, s.token+".out")
	s.options = []string{"-o", s.file}
	s.script, s.check = counting(count), counted(s.ranks, count)
}

// begunAgain is a job that goes on elsewhere when its node is lost: what came before that was
// shown.
func begunAgain(s *submission, r *rand.Rand) {
	count := 1 + r.IntN(maxLines)
	s.options, s.again = []string{"--requeue"}, true
	s.script = counting(count)
	s.check = func(out []byte) error {
		last := bytes.LastIndex(out, []byte("0 0\n"))
		if last < 0 {
			return fmt.Errorf("%w: it never began", errOutput)
		}
		return counted(1, count)(out[last:])
	}
}
