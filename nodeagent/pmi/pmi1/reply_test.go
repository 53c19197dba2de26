package pmi1

import (
	"score/nodeagent/pmi"
	"strings"
	"testing"
)

func TestReplies(t *testing.T) {
	found := func(value string) string {
		out, ok := AppendValue(nil, value)
		if !ok {
			return "refused"
		}
		return string(out)
	}
	long := strings.Repeat("x", 1024)
	for _, tt := range []struct{ got, want string }{
		{Maxes, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"},
		{string(AppendHandshake(nil, 3, 2)), "cmd=initack\ncmd=set size=3\ncmd=set rank=2\ncmd=set debug=0\n"},
		{string(AppendAppNum(nil, 4)), "cmd=appnum appnum=4\n"},
		{string(AppendUniverseSize(nil, -1)), "cmd=universe_size size=-1\n"},
		{string(AppendKVSName(nil, "k")), "cmd=my_kvsname kvsname=k\n"},
		{found("v=1;"), "cmd=get_result rc=0 msg=success value=v=1;\n"},
		{found(""), "cmd=get_result rc=0 msg=success value=\n"},
		{found("a b"), "refused"},
		{found("a\nb"), "refused"},
		{found(long), "refused"},
		{string(AppendMissing(nil, "key", []byte("k"))), "cmd=get_result rc=-1 msg=key_k_not_found value=unknown\n"},
		{string(AppendLookup(nil, "p=1")), "cmd=lookup_result port=p=1 info=ok rc=0 msg=success\n"},
		{string(AppendLookup(nil, "")), "cmd=lookup_result port= info=ok rc=0 msg=success\n"},
		{string(AppendLookup(nil, "a b")), LookupMissed},
		{string(AppendUnpublished(nil, "")), "cmd=publish_result info=fail rc=1 msg=key_already_present\n"},
		{string(AppendUnpublished(nil, "no room")), "cmd=publish_result info=fail rc=1 msg=no_room\n"},
		{UnpublishMissed, "cmd=unpublish_result info=fail rc=1 msg=service_not_found\n"},
		{string(AppendLookup(nil, long)), LookupMissed},
		{string(AppendSpawn(nil, &pmi.SpawnResult{})), "cmd=spawn_result rc=0\n"},
		{string(AppendSpawn(nil, &pmi.SpawnResult{KVSName: "k", ErrCodes: []int{0, -1}})), "cmd=spawn_result rc=0 jobid=k errcodes=0,-1\n"},
		{string(AppendSpawn(nil, &pmi.SpawnResult{KVSName: "k", ErrCodes: make([]int, 600)})), "cmd=spawn_result rc=0 jobid=k\n"},
		{string(AppendSpawn(nil, &pmi.SpawnResult{Failed: "no\nroom here"})), "cmd=spawn_result rc=-1 msg=no_room_here\n"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// No reply may be longer than what clients read, or a line end slip into one.
func TestRepliesFit(t *testing.T) {
	long := strings.Repeat("long ", 1000)
	for name, reply := range map[string][]byte{
		"missing":     AppendMissing(nil, "kvsname", []byte(strings.ReplaceAll(long, " ", "_"))),
		"refused":     AppendSpawn(nil, &pmi.SpawnResult{Failed: long}),
		"error codes": AppendSpawn(nil, &pmi.SpawnResult{KVSName: "k", ErrCodes: make([]int, 5000)}),
		"lookup":      AppendLookup(nil, strings.Repeat("x", 980)),
	} {
		if len(reply) > MaxLine || strings.Count(string(reply), "\n") != 1 {
			t.Errorf("%s: %d bytes, %q", name, len(reply), reply)
		}
	}
	for n := 900; n < 1100; n++ {
		if out, _ := AppendValue(nil, strings.Repeat("v", n)); len(out) > MaxLine {
			t.Errorf("a value of %d bytes makes a line of %d", n, len(out))
		}
	}
}
