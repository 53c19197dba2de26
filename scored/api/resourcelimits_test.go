package api

import (
	"score/scored/api/scorev1"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

var anyLimit = rapid.Custom(func(t *rapid.T) *scorev1.ResourceLimit {
	return &scorev1.ResourceLimit{
		Resource: rapid.Uint32Range(0, ResourceLimits+1).Draw(t, "resource"),
		Soft:     rapid.Uint64().Draw(t, "soft"), Hard: rapid.Uint64().Draw(t, "hard"),
	}
})

// Whatever is claimed, a submission gets no more than its process has, and a
// soft limit within the hard one.
func TestBoundLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var has []*scorev1.ResourceLimit
		for resource := range uint32(ResourceLimits) {
			hard := rapid.Uint64().Draw(t, "hard")
			has = append(has, &scorev1.ResourceLimit{Resource: resource, Soft: rapid.Uint64Range(0, hard).Draw(t, "soft"), Hard: hard})
		}
		claimed := rapid.SliceOf(anyLimit).Draw(t, "claimed")
		said := make(map[uint32]*scorev1.ResourceLimit)
		for _, l := range claimed {
			said[l.GetResource()] = l
		}
		bound := BoundLimits(claimed, has)
		if len(bound) != len(has) {
			t.Fatalf("%d limits of %d", len(bound), len(has))
		}
		for i, l := range bound {
			wants := said[l.GetResource()]
			switch {
			case l.GetResource() != has[i].GetResource() || l.GetHard() > has[i].GetHard() || l.GetSoft() > l.GetHard():
				t.Errorf("%v of %v", l, has[i])
			case wants == nil && !proto.Equal(l, has[i]):
				t.Errorf("%v, but nothing else than %v was claimed", l, has[i])
			case wants != nil && wants.GetSoft() <= wants.GetHard() && wants.GetHard() <= has[i].GetHard() && !proto.Equal(l, wants):
				t.Errorf("%v, though %v was claimed and %v could be had", l, wants, has[i])
			}
		}
	})
}

func FuzzParseLimits(f *testing.F) {
	f.Add("7=1024:20000,4=0:18446744073709551615")
	f.Add("")
	f.Add("16=1:1")
	f.Fuzz(func(t *testing.T, text string) {
		limits, err := ParseLimits(text)
		if err != nil {
			return
		}
		again, err := ParseLimits(FormatLimits(limits))
		if err != nil || len(again) != len(limits) {
			t.Fatalf("%q: %v, %v", text, again, err)
		}
		for i := range limits {
			if limits[i].GetResource() >= ResourceLimits || !proto.Equal(limits[i], again[i]) {
				t.Errorf("%v, then %v", limits[i], again[i])
			}
		}
	})
}
