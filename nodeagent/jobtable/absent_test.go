package jobtable

import (
	"testing"
	"time"
)

func TestAbsent(t *testing.T) {
	var a absent
	now := time.Now()
	if !a.mayCome(7, now) || !a.mayCome(7, now.Add(comingFor-1)) {
		t.Error("a job that was never here may come")
	}
	if a.mayCome(7, now.Add(comingFor)) || a.mayCome(7, now.Add(comingFor+1)) {
		t.Error("it does not come any more")
	}
	a.came(7)
	if a.left(7); a.mayCome(7, now) {
		t.Error("it has been here")
	}
	if a.came(7); !a.mayCome(7, now) {
		t.Error("it was put back into the queue")
	}
}

func TestAbsentIsBounded(t *testing.T) {
	var a absent
	now := time.Now()
	for id := range uint64(maxComing) {
		if !a.mayCome(id, now) {
			t.Fatal(id)
		}
	}
	if a.mayCome(maxComing, now) {
		t.Error("one too many is waited for")
	}
	if !a.mayCome(maxComing, now.Add(comingFor)) {
		t.Error("those that were waited for in vain take the others' places")
	}
	for id := range uint64(2 * maxGone) {
		a.left(id)
	}
	if len(a.gone) != maxGone || len(a.order) != maxGone || len(a.coming) != 1 {
		t.Errorf("%d over, %d in order, %d coming", len(a.gone), len(a.order), len(a.coming))
	}
}
