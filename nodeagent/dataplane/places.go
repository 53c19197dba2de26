package dataplane

import (
	"errors"
	"fmt"
	"net/netip"
	"score/channels/link"
	"score/channels/rankmap"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
)

// errPlaces means that the order gives a rank no place, or two.
var errPlaces = errors.New("the order does not give each rank one place")

// placesOf makes the place map of an order; nil if all ranks are on this node.
func (p *Plane) placesOf(order *agentpb.Prepare, key uint64) (*rankmap.Map, error) {
	where, err := placesOf(order, p.options.Anywhere)
	switch {
	case err != nil || where == nil:
		return nil, err
	case p.options.Link == link.UDP:
		return where, nil
	}
	names := link.NamesOf(p.options.TIPCType, key, where.Nodes(), where.Ranks())
	directories, nodeOf := make([]link.Address, where.Nodes()), make([]uint32, where.Ranks())
	for i := range directories {
		directories[i] = names.Directory(uint32(i))
	}
	for i := range nodeOf {
		nodeOf[i] = where.Node(uint32(i))
	}
	return rankmap.New(where.Own(), directories, nodeOf)
}

// placesOf makes the place map of a job whose directories are at the agents' addresses, which are
// on loopback unless nodes may be anywhere.
func placesOf(order *agentpb.Prepare, anywhere bool) (*rankmap.Map, error) {
	all := order.GetPlaces()
	if len(all) == 1 {
		return nil, nil
	}
	size := 0
	for _, place := range all {
		size += len(place.GetRanks())
	}
	directories, nodeOf, seen := make([]link.Address, len(all)), make([]uint32, size), make([]bool, size)
	for i, place := range all {
		at, err := directoryOf(place, anywhere)
		if err != nil {
			return nil, err
		}
		directories[i] = link.AddressOf(at)
		for _, rank := range place.GetRanks() {
			if uint64(rank) >= uint64(size) || seen[rank] {
				return nil, fmt.Errorf("%w: rank %d", errPlaces, rank)
			}
			nodeOf[rank], seen[rank] = uint32(i), true
		}
	}
	return rankmap.New(order.GetNodeIndex(), directories, nodeOf)
}

func directoryOf(place *scorev1.NodePlace, anywhere bool) (netip.AddrPort, error) {
	if !anywhere {
		if err := api.CheckLoopback(place.GetAddress()); err != nil {
			return netip.AddrPort{}, fmt.Errorf("the address of node %s: %w", place.GetNode(), err)
		}
	}
	at, err := netip.ParseAddrPort(place.GetAddress())
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("the address of node %s: %w", place.GetNode(), err)
	}
	return at, nil
}
