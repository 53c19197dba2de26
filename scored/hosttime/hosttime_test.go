package hosttime_test

import (
	"score/scored/hosttime"
	"testing"
	"time"
)

func TestNow(t *testing.T) {
	before, began := hosttime.Now(), time.Now()
	time.Sleep(time.Millisecond)
	took, since := time.Duration(hosttime.Now()-before), time.Since(began)
	if took < time.Millisecond || took > since+time.Second {
		t.Errorf("%v by the host's clock, %v by the program's", took, since)
	}
}

func TestHost(t *testing.T) {
	if id := hosttime.Host(); len(id) != len("8f2f6ed4-5a3c-4a1e-9d0a-0c3b6d2e7f11") || id != hosttime.Host() {
		t.Errorf("the host is %q", id)
	}
}
