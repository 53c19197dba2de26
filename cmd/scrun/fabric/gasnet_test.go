package fabric

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

// TestContains has marks at all places around the end of what is read at once.
func TestContains(t *testing.T) {
	const size = 1 << 20
	mark := []byte("$mark$")
	for at := size - len(mark) - 1; at < size+2; at++ {
		text := bytes.Repeat([]byte{'$'}, 2*size)
		copy(text[at:], mark)
		if found, err := contains(iotest.HalfReader(bytes.NewReader(text)), mark); !found || err != nil {
			t.Errorf("at %d: %t, %v", at, found, err)
		}
	}
	for _, text := range []string{"", "$", "$mark", strings.Repeat("$mark ", size)} {
		if found, err := contains(strings.NewReader(text), mark); found || err != nil {
			t.Errorf("%.10q: %t, %v", text, found, err)
		}
	}
	broken := errors.New("broken")
	if _, err := contains(iotest.ErrReader(broken), mark); !errors.Is(err, broken) {
		t.Error(err)
	}
}
