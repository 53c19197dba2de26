package sim

import "testing"

// TestPlantedBugsInTransports is TestPlantedBugs for ranks with transports.
func TestPlantedBugsInTransports(t *testing.T) {
	const worlds = 500 // each bug is found in some
	for _, bug := range []struct {
		name  string
		found Invariant
		plant transportBugs
	}{
		{"takes a frame of an earlier transfer with the same number", Right, transportBugs{noTokens: true}},
		{"lets what follows a long put overtake it", Right, transportBugs{noBarrier: true}},
		{"lets a write overtake a read", Right, transportBugs{noReads: true}},
		{"uses the key of memory again", Right, transportBugs{noTurns: true}},
		{"uses a number again that the owner still names, without a token", Right, transportBugs{earlyNumbers: true}},
		{"never asks again", Delivery, transportBugs{noRepeat: true}},
		{"takes a frame twice", Right, transportBugs{takesAll: true}},
		{"acknowledges before it refuses", Right, transportBugs{ackFirst: true}},
		{"sends memory that was taken away", Right, transportBugs{keepsReading: true}},
	} {
		t.Run(bug.name, func(t *testing.T) {
			hunt(t, worlds, bug.found, Options{Kind: Transports, plant: func(k *cluster) {
				k.bugs = bug.plant
				switch {
				case bug.plant.noTokens: // it takes datagrams that outlive their transfer
					k.w.faults.duplicate, k.w.faults.reorder = 500, 500
				case bug.plant.keepsReading: // in the middle of the last piece
					k.adjust = func(p *transportPlan) { p.revokes, p.frame, p.room = 300, 8<<10, 4<<20 }
				}
			}})
		})
	}
}

// TestTransportWorlds: gangs are stopped in the middle of each kind of operation, with few channels
// and with many, and bulk datagrams are lost, and come while their process stands still.
func TestTransportWorlds(t *testing.T) {
	const worlds = 150
	midway := map[bool]*[operationKinds]int{false: {}, true: {}}
	lost, frozen := 0, 0
	for seed := uint64(1); seed <= worlds; seed++ {
		r := Run(seed, Options{Kind: Transports})
		if r.Err != nil {
			t.Fatalf("seed %d: %v", seed, r.Err)
		}
		plenty := drawChannels(seed) == 100
		for kind, n := range r.Midway {
			midway[plenty][kind] += n
		}
		lost, frozen = lost+r.BulkLost, frozen+r.Frozen
	}
	for plenty, kinds := range midway {
		for kind, n := range kinds {
			if n < 3 {
				t.Errorf("plenty of channels %v: stopped in the middle of %v %d times", plenty, operationKind(kind), n)
			}
		}
	}
	if lost < worlds || frozen < worlds {
		t.Errorf("%d bulk datagrams were lost, %d came to processes that stood still", lost, frozen)
	}
}
