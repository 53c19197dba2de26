// Package pmi is the process management engine of one job on one node: the key-value sets of the
// ranks, the fence that exchanges them, node attributes that readers may wait for, requests to the
// name table and for new processes, abort, and which ranks have initialised and finalized.
//
// It is a machine without I/O. Requests of ranks go in as method calls; answers that are not known
// at once come out later as an [Event]. It knows no wire format: packages pmi1 and pmi2 are the
// formats of PMI-1 and PMI-2, and package wire joins them with the engine; package pmix does the
// same for PMIx. The engine is for one goroutine at a time; its caller locks.
//
// The engine is not a name service and starts no processes, since both concern the cluster: it
// emits such requests as events and takes the results. Read engine.go and event.go first.
//
// Visibility of keys. A value that a rank puts belongs to that rank's key set. The rank itself sees
// it at once, and every other rank after the next fence, on whichever node it runs: so a program
// cannot come to depend on the placement of its ranks. If ranks put the same key, the later fence
// wins, and within one fence the highest rank: the same answer on every node.
//
//	engine, err := pmi.NewEngine(pmi.JobInfo{
//		Job: 7, KVSName: "score_7", RankNode: []int32{0, 0, 1, 1}, NodeIndex: 0,
//	})
//	server := wire.NewServer(engine)
//	for _, effect := range server.Feed(rank, bytesRead) { ... }
package pmi
