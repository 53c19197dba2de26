package leader

import (
	"score/gang"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
)

// placesOf returns a gang's places as the log has them.
func placesOf(a gang.Allocation) []*statepb.Place {
	places := make([]*statepb.Place, len(a.Places))
	for i, p := range a.Places {
		places[i] = &statepb.Place{Node: string(p.Node), Ranks: narrow(p.Ranks), Cpus: narrow(p.CPUs)}
	}
	return places
}

func narrow(values []int) []uint32 {
	out := make([]uint32, len(values))
	for i, v := range values {
		out[i] = uint32(v)
	}
	return out
}

func widen(values []uint32) []int {
	out := make([]int, len(values))
	for i, v := range values {
		out[i] = int(v)
	}
	return out
}

// nodePlaces returns the job's places with the addresses of their agents.
func (c *controller) nodePlaces(j *job) []*scorev1.NodePlace {
	places := make([]*scorev1.NodePlace, len(j.parts))
	for i, p := range j.parts {
		places[i] = &scorev1.NodePlace{Node: p.Node, Ranks: p.Ranks, Cpus: p.CPUs}
		if n := c.nodes[p.Node]; n != nil {
			places[i].Address = n.address
		}
	}
	return places
}
