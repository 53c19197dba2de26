package replica

import (
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
)

// story is the content of the fixtures: entries of every kind of format 1. It never changes; later
// formats get a story of their own.
func story() (snapshot, since [][]*statepb.Command) {
	node := func(name string) *statepb.Command {
		return &statepb.Command{Command: &statepb.Command_RegisterNode{RegisterNode: &statepb.RegisterNode{Node: &statepb.Node{
			Name:        name,
			Address:     name + ":7421",
			Cpus:        4,
			MemoryBytes: 1 << 33,
			Version:     "v0",
			BootId:      "boot-" + name,
			Notes:       []string{"no cgroups"},
			Channels:    16,
		}}}}
	}
	submit := func(id uint64, tasks uint32) *statepb.Command {
		return &statepb.Command{Command: &statepb.Command_Submit{Submit: &statepb.Submit{
			JobId: id,
			Spec: &scorev1.JobSpec{
				Argv:    []string{"./ocean", "-v"},
				Env:     []string{"HOME=/home/ann", "LANG=C"},
				WorkDir: "/home/ann",
				Tasks:   tasks,
				Name:    "ocean",
			},
			User:               &scorev1.Identity{Uid: 1000, Gid: 1000, User: "ann"},
			Preput:             []*statepb.Pair{{Key: "k", Value: "v"}},
			MemoryPerNodeBytes: 1 << 30,
		}}}
	}
	place := func(node string, ranks, cpus []uint32) *statepb.Place {
		return &statepb.Place{Node: node, Ranks: ranks, Cpus: cpus}
	}
	allocate := func(id uint64, row int32, places ...*statepb.Place) *statepb.Command {
		return &statepb.Command{Command: &statepb.Command_Allocate{Allocate: &statepb.Allocate{JobId: id, Row: row, Places: places, Gang: id}}}
	}
	token := func(id string) *statepb.Command {
		return &statepb.Command{Command: &statepb.Command_AddToken{AddToken: &statepb.AddToken{Token: &statepb.Token{
			Id: id, Role: "agent", Verifier: []byte("0123456789abcdef0123456789abcdef"), ExpiresNanos: 1 << 60, MadeBy: "root",
		}}}}
	}
	certificate := func(serial, name string) *statepb.Certificate {
		return &statepb.Certificate{Serial: []byte(serial), Role: "agent", Name: name, ExpiresNanos: 1 << 60}
	}
	snapshot = [][]*statepb.Command{
		{node("n1"), node("n2"), node("n3")},
		{
			{
				Command: &statepb.Command_SetSettings{
					SetSettings: &statepb.SetSettings{Settings: &scorev1.Settings{SliceNanos: 10_000_000, MaxRows: 8, DefaultMemoryPerCpuBytes: 1 << 28}},
				},
			},
		},
		{
			{
				Command: &statepb.Command_SetUser{
					SetUser: &statepb.SetUser{
						Uid:    1001,
						Name:   "bob",
						Role:   scorev1.Role_ROLE_OPERATOR,
						Share:  50,
						Limits: &scorev1.UserLimits{Jobs: 10, Cpus: 8},
					},
				},
			},
		},
		{submit(1, 2), submit(2, 2)},
		{submit(3, 1)},
		{submit(4, 1)},
		{submit(5, 1)},
		{allocate(2, 0, place("n1", []uint32{0}, []uint32{0}), place("n2", []uint32{1}, []uint32{3}))},
		{
			allocate(3, 1, place("n1", []uint32{0}, []uint32{1, 2})),
			{Command: &statepb.Command_MarkRunning{MarkRunning: &statepb.MarkRunning{JobId: 3, StartedNanos: 7}}},
		},
		{{Command: &statepb.Command_PublishName{PublishName: &statepb.PublishName{JobId: 3, Service: "ocean", Port: "port", Once: true}}}},
		{{Command: &statepb.Command_PublishName{PublishName: &statepb.PublishName{JobId: 3, Service: "sea", Port: "port"}}}},
		{
			{
				Command: &statepb.Command_End{
					End: &statepb.End{
						JobId:   4,
						Verdict: &scorev1.Verdict{Reason: scorev1.EndReason_END_REASON_EXITED, ExitCode: 3, Rank: -1},
						Usage:   &scorev1.Usage{CpuNanos: 5000},
					},
				},
			},
		},
		{token("t1"), token("t2")},
		{{Command: &statepb.Command_Admit{Admit: &statepb.Admit{TokenId: "t1", Certificate: certificate("\x01\x02", "n1")}}}},
		{{Command: &statepb.Command_RenewCertificate{RenewCertificate: &statepb.RenewCertificate{Certificate: certificate("\x03", "n2")}}}},
	}
	since = [][]*statepb.Command{
		{{Command: &statepb.Command_MoveRow{MoveRow: &statepb.MoveRow{JobId: 3, Row: 2}}}},
		{
			{
				Command: &statepb.Command_Charge{
					Charge: &statepb.Charge{Jobs: []*statepb.JobUsage{{JobId: 3, Usage: &scorev1.Usage{CpuNanos: 9_000_000, RunNanos: 8_000_000}}}},
				},
			},
		},
		{{Command: &statepb.Command_Requeue{Requeue: &statepb.Requeue{JobId: 2}}}},
		{{Command: &statepb.Command_UnpublishName{UnpublishName: &statepb.UnpublishName{JobId: 3, Service: "ocean"}}}},
		{{Command: &statepb.Command_RemoveToken{RemoveToken: &statepb.RemoveToken{Id: "t2"}}}},
		{{Command: &statepb.Command_RevokeCertificates{RevokeCertificates: &statepb.RevokeCertificates{Role: "agent", Name: "n2"}}}},
		{{Command: &statepb.Command_NodeGone{NodeGone: &statepb.NodeGone{Node: "n3"}}}},
		{submit(6, 3)},
	}
	return snapshot, since
}

// storyOfKeys is the part for format 3. It follows story, with a snapshot in the middle.
func storyOfKeys() (snapshot, since [][]*statepb.Command) {
	submit := func(id uint64, key string) *statepb.Command {
		return &statepb.Command{Command: &statepb.Command_Submit{Submit: &statepb.Submit{
			JobId: id, Spec: &scorev1.JobSpec{Argv: []string{"./tide"}, WorkDir: "/home/bob", Tasks: 1, Name: "tide"},
			User: &scorev1.Identity{Uid: 1001, Gid: 1001, User: "bob"}, MemoryPerNodeBytes: 1 << 20,
			Key: []byte(key), Digest: []byte("0123456789abcdef0123456789abcdef"),
		}}}
	}
	allocate := func(id uint64) *statepb.Command {
		return &statepb.Command{Command: &statepb.Command_Allocate{Allocate: &statepb.Allocate{
			JobId: id, Row: 4, Places: []*statepb.Place{{Node: "n2", Ranks: []uint32{0}, Cpus: []uint32{2}}}, Gang: id,
		}}}
	}
	order := func(id uint64) *statepb.Command {
		return &statepb.Command{Command: &statepb.Command_OrderRequeue{OrderRequeue: &statepb.OrderRequeue{JobId: id, Because: "it was requeued by bob"}}}
	}
	end := &statepb.Command{
		Command: &statepb.Command_End{End: &statepb.End{JobId: 7, Verdict: &scorev1.Verdict{Reason: scorev1.EndReason_END_REASON_EXITED, Rank: -1}}},
	}
	snapshot = [][]*statepb.Command{
		{submit(7, "key of job seven")},
		{submit(8, "key of job eight")},
		{submit(9, "key of job nine.")},
		{end},
		{allocate(8), allocate(9)},
		{order(8), order(9)},
	}
	since = [][]*statepb.Command{
		{{Command: &statepb.Command_Requeue{Requeue: &statepb.Requeue{JobId: 8, Restart: true, Because: "it was requeued by bob"}}}},
		{submit(10, "key of job ten..")},
	}
	return snapshot, since
}
