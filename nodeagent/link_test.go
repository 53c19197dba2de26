package nodeagent

import (
	"score/scored/api/scorev1"
	"testing"
)

// TestOnOtherHosts: nodes of one host need no bearer, also if each has a loopback address of its
// own.
func TestOnOtherHosts(t *testing.T) {
	for _, test := range []struct {
		own   string
		other []string
		want  bool
	}{
		{"127.0.0.1:1", nil, false},
		{"127.0.0.1:1", []string{"127.0.0.1:2", "127.0.0.2:1", "[::1]:1"}, false},
		{"10.9.0.1:1", []string{"10.9.0.1:1", "10.9.0.1:2"}, false},
		{"10.9.0.1:1", []string{"10.9.0.1:1", "10.9.0.2:1"}, true},
		{"10.9.0.1:1", []string{"127.0.0.1:1"}, true},
		{"10.9.0.1:1", []string{"nowhere"}, true},
	} {
		var places []*scorev1.NodePlace
		for _, address := range test.other {
			places = append(places, &scorev1.NodePlace{Address: address})
		}
		if got := onOtherHosts(test.own, places); got != test.want {
			t.Errorf("%s and %v: %v", test.own, test.other, got)
		}
	}
}

// TestLinkWord: with UDP there are no bearers, and nothing is amiss with them.
func TestLinkWord(t *testing.T) {
	a := &Agent{}
	if a.linkWord() != "udp" || a.bearers() != nil || a.linkProblems() != nil || a.checkLink() != nil {
		t.Errorf("%s, %v, %v", a.linkWord(), a.bearers(), a.linkProblems())
	}
	if err := a.checkReach([]*scorev1.NodePlace{{Address: "10.9.0.2:1"}}); err != nil {
		t.Error(err)
	}
}
