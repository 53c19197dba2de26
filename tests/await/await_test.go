package await

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestUntilReturnsWhenTheConditionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := time.Now().Add(Patience / 2)
		That(t, "half of the time", func() bool { return !time.Now().Before(ready) })
		if late := time.Since(ready); late > longestPause {
			t.Errorf("%v late", late)
		}
	})
}

func TestUntilNamesWhatDidNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		err := Until(t.Context(), "the tide", func() bool { return false })
		if err == nil || !strings.Contains(err.Error(), "the tide") || time.Since(begin) != Patience {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestUntilEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Until(ctx, "nothing", func() bool { return false }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
