package uct_test

import (
	"bytes"
	"score/pm/local/localtest"
	"score/pm/uct"
	"testing"
)

// TestGetsBothWays has both ranks ask for more than the other may answer at once: an answer must
// not wait behind questions that wait for answers.
func TestGetsBothWays(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		const asked, size = 5 * uct.MaxGets, 10 << 10
		var d [2]done
		var got [2][asked][]byte
		data := [2]*uct.Region{}
		for i := range j {
			r, err := j[i].md.Register(localtest.RandomBytes(size), uct.RemoteRead)
			if err != nil {
				t.Fatal(err)
			}
			data[i] = r
		}
		for n := range asked {
			for i := range j {
				got[i][n] = make([]byte, size)
				if err := j.ep(t, i, 1-i).Get(got[i][n], uct.Remote{Key: data[1-i].Key()}, &d[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		j.until(t, func() bool { return d[0].n == asked && d[1].n == asked })
		for i := range j {
			for n := range asked {
				if d[i].err != nil || !bytes.Equal(got[i][n], data[1-i].Bytes()) {
					t.Fatalf("rank %d, get %d: %v, or wrong bytes", i, n, d[i].err)
				}
			}
		}
	})
}
