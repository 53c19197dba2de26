package fence

import (
	"fmt"
)

// Algorithm is the algorithm by which nodes exchange data.
type Algorithm uint8

// The algorithms, in the order of the API's ExchangeMode, with their costs for n nodes and D bytes
// of all nodes together: a per message and b per byte.
const (
	// Auto chooses the fastest algorithm for the size of the data.
	Auto Algorithm = iota
	// TreeAlgorithm: 2*log8(n) hops, and the root sends all data eight times: 2*log8(n)*(a +
	// 8*D*b).
	TreeAlgorithm
	// RingAlgorithm: each node forwards the data of its neighbour: (n-1)*a + D*b.
	RingAlgorithm
	// BruckAlgorithm: each node doubles its data in each round: log2(n)*a + D*b.
	BruckAlgorithm
	algorithms
)

var algorithmNames = [algorithms]string{"auto", "tree", "ring", "bruck"}

func (a Algorithm) String() string {
	if a < algorithms {
		return algorithmNames[a]
	}
	return fmt.Sprintf("algorithm %d", uint8(a))
}
