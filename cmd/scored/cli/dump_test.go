package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/channels"
	"score/channels/abi"
	"score/channels/dump"
	"score/flowctl"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"score/tests/pinned"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

// exampleDump is the file of a context with messages in its inbox, and some kept for another node.
func exampleDump(t *testing.T) []byte {
	t.Helper()
	geometry := abi.Geometry{Ranks: 4, LocalRanks: 2, Lanes: 4, LaneBytes: 1 << 14, SharedBytes: 1 << 14, SendBytes: 1 << 14, MaxMessage: 2000}
	img, err := channels.Create(channels.Identity{Job: 99, Rank: 1, Channel: 2}, geometry, []uint32{0, 1})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	defer img.Close()
	img.SetOwner(abi.RoleProcess, channels.Process{Pid: 4711, Start: 1, Space: 2})
	img.AddCounter(abi.Received, 1234)
	_, err = img.Inbox(nil) // it offers lanes
	check(err)
	sender, err := img.Sender(0)
	check(err)
	for i := range 3 {
		check(sender.Send(fmt.Appendf(nil, "message %d of rank 0", i)))
	}
	s, _, err := img.Flow(3)
	check(err)
	buffer, config := img.SendBuffer(), flowctl.DefaultConfig()
	for i := range uint32(3) {
		k, _, err := buffer.Reserve(100 * (int(i) + 1))
		check(err)
		check(buffer.Append(3, k, flowctl.Seq(i), 1))
		s.Queue(1)
	}
	s.Send(&config, 1, 2)
	s.Suspend(2)
	img.SetAway(true)
	pages, err := dump.Collect(img.File(), 1<<20)
	check(err)
	var file bytes.Buffer
	check(dump.Write(&file, dump.Head{Job: 7, Rank: 1, Channel: 2, Node: "n\x1b1", TakenNanos: at(7)}, pages))
	return file.Bytes()
}

// TestChannelRead pins what people see of a dump.
func TestChannelRead(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	file := exampleDump(t)
	if err := errors.Join(os.WriteFile(good, file, 0o600), os.WriteFile(bad, file[:len(file)-9], 0o600)); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, line := range []string{
		"channel read GOOD", "channel read --all GOOD", "channel read --json GOOD",
		"channel read GOOD BAD", "channel read", "channel read DIR/none",
	} {
		arguments := strings.Fields(strings.NewReplacer("GOOD", good, "BAD", bad, "DIR", dir).Replace(line))
		_, out, errs := scored("/nowhere", arguments...)
		fmt.Fprintf(&got, "$ scored %s\n%s", line, out)
		if errs != "" {
			fmt.Fprintf(&got, "[stderr] %s", errs)
		}
		got.WriteByte('\n')
	}
	pinned.File(t, "testdata/channelread.txt", strings.ReplaceAll(got.String(), dir, "DIR"))
}

// TestJobDump: files have their names when they are complete, belong to the user alone, and what is
// missing is told.
func TestJobDump(t *testing.T) {
	head := func(rank uint32) *scorev1.DumpPart {
		return &scorev1.DumpPart{Part: &scorev1.DumpPart_Head{Head: &scorev1.DumpHead{Rank: rank, Channel: 1, Node: "n1", GangOn: true}}}
	}
	data := func(text string) *scorev1.DumpPart {
		return &scorev1.DumpPart{Part: &scorev1.DumpPart_Data{Data: []byte(text)}}
	}
	trouble := &scorev1.DumpPart{Part: &scorev1.DumpPart_Trouble{Trouble: "of node n2 something is missing: it went\x1b"}}
	lost := connect.NewError(connect.CodeUnavailable, errors.New("the server went"))
	tests := []struct {
		name  string
		parts []*scorev1.DumpPart
		err   error
		code  int
		want  string // in what is printed
		files string
	}{
		{
			"all",
			[]*scorev1.DumpPart{head(0), data("one"), data("two"), head(5), data("")},
			nil,
			0,
			"rank0.channel1.image  6  its gang was on, and nothing moved",
			"rank0.channel1.image=onetwo rank5.channel1.image=",
		},
		{"none", nil, nil, 1, "job 3 has no channels", ""},
		{"a node is missing", []*scorev1.DumpPart{head(0), data("x"), head(1), data("half"), trouble}, nil, 1, `it went\x1b`, "rank0.channel1.image=x"},
		{"the server is lost", []*scorev1.DumpPart{head(0), data("half")}, lost, 1, "the server went", ""},
		{"no head", []*scorev1.DumpPart{data("x")}, nil, 1, "without a head", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "made")
			socket := clienttest.Serve(t, clienttest.Daemon{Dump: func(r *scorev1.DumpJobRequest) ([]*scorev1.DumpPart, error) {
				if r.GetJobId() != 3 || !r.GetOneRank() || r.GetRank() != 2 {
					t.Errorf("asked for %v", r)
				}
				return test.parts, test.err
			}})
			code, out, errs := scored(socket, "job", "dump", "3", "--rank", "2", "--dir", dir)
			if code != test.code || !strings.Contains(out+errs, test.want) || strings.Contains(errs, "\x1b") {
				t.Errorf("code %d: %s%s", code, out, errs)
			}
			var files []string
			entries, _ := os.ReadDir(dir)
			for _, entry := range entries {
				info, err := entry.Info()
				if err != nil || info.Mode().Perm() != dumpFileMode {
					t.Errorf("%s: %v, %v", entry.Name(), info.Mode(), err)
				}
				text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
				if err != nil {
					t.Error(err)
				}
				files = append(files, entry.Name()+"="+string(text))
			}
			if got := strings.Join(files, " "); got != test.files {
				t.Errorf("files %s, want %s", got, test.files)
			}
		})
	}
}
