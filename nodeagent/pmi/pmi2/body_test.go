package pmi2

import (
	"errors"
	"score/nodeagent/pmi"
	"slices"
	"strings"
	"testing"
)

func TestBody(t *testing.T) {
	var body Body
	if err := body.Parse([]byte("cmd=kvs-put;key=na;;k;value=;;x;;;;y=1;;;empty=;n=12;bad=1x;")); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"cmd": "kvs-put", "key": "na;k", "value": ";x;;y=1;", "empty": "", "n": "12"} {
		if got, ok := body.Get(key); !ok || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", key, got, ok, want)
		}
	}
	if string(body.Command()) != "kvs-put" {
		t.Errorf("command %q", body.Command())
	}
	if n, err := body.Int("n", 0); n != 12 || err != nil {
		t.Errorf("n: %d, %v", n, err)
	}
	if n, err := body.Int("absent", 7); n != 7 || err != nil {
		t.Errorf("absent: %d, %v", n, err)
	}
	if _, err := body.Int("bad", 0); !errors.Is(err, pmi.ErrMalformed) {
		t.Errorf("bad: %v", err)
	}
	if _, err := body.Need("absent"); !errors.Is(err, pmi.ErrMalformed) {
		t.Errorf("need: %v", err)
	}
}

func TestBodyErrors(t *testing.T) {
	for _, text := range []string{
		"", "cmd", "cmd=", "cmd=a", "=a;", "key=cmd;", "cmd=a;key", "cmd=a;key;b=c;", "cmd=a;k=v;;", "cmd=a;k=v;;x",
		"cmd=a;\x00;valu",
	} {
		var body Body
		if err := body.Parse([]byte(text)); !errors.Is(err, pmi.ErrMalformed) {
			t.Errorf("%q: got %v, want %v", text, err, pmi.ErrMalformed)
		}
	}
}

func TestStale(t *testing.T) {
	for text, want := range map[string]int{
		"cmd=fullinit;pmirank=0;threaded=FALSE;":                             0,
		"cmd=fullinit;pmirank=0;threaded=TRUE;":                              0,
		"cmd=fullinit;pmirank=0;threaded=FALSE;\x00\x00\x00\x00\x00\x00":     staleBytes,
		"cmd=fullinit;pmirank=0;threaded=TRUE;\x00;valu":                     staleBytes,
		"cmd=fullinit;threaded=FALSE;pmirank=0;":                             0,
		"cmd=fullinit;pmirank=0;threaded=FALSE;\x00\x00\x00\x00\x00\x00\x00": 0,
		"": 0, "abc": 0,
	} {
		if got := Stale([]byte(text)); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

func TestSpawnInOrder(t *testing.T) {
	var body Body
	text := "cmd=spawn;ncmds=2;preputcount=1;ppkey0=K;ppval0=V;subcmd=a;maxprocs=1;argc=1;argv0=x;infokeycount=1;infokey0=i;infoval0=v;" +
		"subcmd=b;maxprocs=3;argc=0;infokeycount=1;infokey0=j;infoval0=w;"
	if err := body.Parse([]byte(text)); err != nil {
		t.Fatal(err)
	}
	request, err := body.Spawn()
	if err != nil {
		t.Fatal(err)
	}
	if len(request.Apps) != 2 || request.Preput["K"] != "V" {
		t.Fatalf("got %+v", request)
	}
	if a := request.Apps[0]; a.MaxProcs != 1 || !slices.Equal(a.Args, []string{"x"}) || !slices.Equal(a.Info, []pmi.KV{{Key: "i", Value: "v"}}) {
		t.Errorf("first command: %+v", a)
	}
	if b := request.Apps[1]; b.MaxProcs != 3 || b.Args != nil || !slices.Equal(b.Info, []pmi.KV{{Key: "j", Value: "w"}}) {
		t.Errorf("second command: %+v", b)
	}
}

// Bytes that are no letters come as they are.
func TestSpawnOfBytes(t *testing.T) {
	var body Body
	if err := body.Parse([]byte("cmd=spawn;ncmds=1;preputcount=1;ppkey0=K\xff;ppval0=V\xfe;subcmd=a\xfd;maxprocs=1;argc=1;argv0=\xfc;;\x80;")); err != nil {
		t.Fatal(err)
	}
	request, err := body.Spawn()
	if err != nil || request.Preput["K\xff"] != "V\xfe" || request.Apps[0].Command != "a\xfd" || !slices.Equal(request.Apps[0].Args, []string{"\xfc;\x80"}) {
		t.Errorf("%+v, %v", request, err)
	}
}

func FuzzBody(f *testing.F) {
	f.Add([]byte("cmd=kvs-put;key=na;;k;value=;;x;;;;y=1;;;"))
	f.Add([]byte("cmd=spawn;ncmds=1;preputcount=1;ppkey0=K;ppval0=V;subcmd=a;maxprocs=1;argc=1;argv0=x;"))
	f.Add([]byte("cmd=spawn;ncmds=1;preputcount=1;ppkey0=K\xff;ppval0=V\xfe;subcmd=a\xfd;maxprocs=1;argc=1;argv0=\xfc;"))
	f.Fuzz(func(t *testing.T, text []byte) {
		size := len(text)
		var body Body
		if body.Parse(text) != nil {
			return
		}
		read := 0
		for _, p := range body.pairs {
			read += len(p.key) + len(p.value) + 2
		}
		if read > size {
			t.Errorf("%d bytes read from %d", read, size)
		}
		request, err := body.Spawn()
		if err == nil && slices.ContainsFunc(request.Apps, func(a pmi.SpawnApp) bool { return a.MaxProcs < 1 }) {
			t.Errorf("%q gives %+v", text, request)
		}
		_ = Stale(text)
	})
}

func TestSpawnErrors(t *testing.T) {
	for text, want := range map[string]error{
		"cmd=spawn;":                                                              pmi.ErrMalformed,
		"cmd=spawn;ncmds=0;":                                                      pmi.ErrMalformed,
		"cmd=spawn;ncmds=x;subcmd=a;maxprocs=1;":                                  pmi.ErrMalformed,
		"cmd=spawn;ncmds=2;subcmd=a;maxprocs=1;":                                  pmi.ErrMalformed,
		"cmd=spawn;ncmds=1;subcmd=a;maxprocs=0;":                                  pmi.ErrMalformed,
		"cmd=spawn;ncmds=1;subcmd=a;maxprocs=many;":                               pmi.ErrMalformed,
		"cmd=spawn;ncmds=1;subcmd=a;":                                             pmi.ErrMalformed,
		"cmd=spawn;ncmds=1;subcmd=;maxprocs=1;":                                   pmi.ErrMalformed,
		"cmd=spawn;ncmds=2;subcmd=a;subcmd=b;maxprocs=1;":                         pmi.ErrMalformed,
		"cmd=spawn;ncmds=1;subcmd=a;maxprocs=1;argc=2;argv0=x;":                   pmi.ErrMalformed,
		"cmd=spawn;ncmds=1;subcmd=a;maxprocs=1;argc=few;argv0=x;":                 pmi.ErrMalformed,
		"cmd=spawn;" + strings.Repeat("subcmd=a;maxprocs=1;", pmi.MaxSpawnApps+1): pmi.ErrTooLong,
		"cmd=spawn;subcmd=a;maxprocs=1;argc=0;infokeycount=0;":                    nil,
	} {
		var body Body
		if err := body.Parse([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := body.Spawn(); !errors.Is(err, want) {
			t.Errorf("%.60q: got %v, want %v", text, err, want)
		}
	}
}
