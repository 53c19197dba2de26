package pmi

import "strconv"

// block is one element of a mapping: count ranks on each of nodes nodes, from
// node first on.
type block struct{ first, nodes, count int32 }

// Mapping writes the placement of the ranks in the form of PMI_process_mapping:
//
//	(vector,(X,Y,Z)...)   Z consecutive ranks on each of Y nodes from node X on
//
// Clients repeat the list from its first block with X=0 until all ranks are placed, so a
// round-robin placement takes one block. ok is false if the text does not fit a value; clients then
// exchange host names, which is slower and always right.
func Mapping(rankNode []int32) (text string, ok bool) {
	blocks := placement(rankNode)
	blocks = blocks[:period(blocks, rankNode)]
	out := []byte("(vector")
	for _, b := range blocks {
		out = append(out, ",("...)
		out = strconv.AppendInt(out, int64(b.first), 10)
		out = append(out, ',')
		out = strconv.AppendInt(out, int64(b.nodes), 10)
		out = append(out, ',')
		out = strconv.AppendInt(out, int64(b.count), 10)
		out = append(out, ')')
		if len(out) > maxMapping {
			return "", false
		}
	}
	return string(append(out, ')')), len(out) < maxMapping
}

// placement joins runs of ranks on one node, and runs of equal length on
// consecutive nodes, into blocks.
func placement(rankNode []int32) []block {
	var blocks []block
	for i := 0; i < len(rankNode); {
		node, run := rankNode[i], int32(0)
		for i < len(rankNode) && rankNode[i] == node {
			i, run = i+1, run+1
		}
		if n := len(blocks); n > 0 {
			last := &blocks[n-1]
			if last.count == run && last.first+last.nodes == node {
				last.nodes++
				continue
			}
		}
		blocks = append(blocks, block{first: node, nodes: 1, count: run})
	}
	return blocks
}

// maxPeriod is one more than the number of blocks that fit into maxMapping bytes, at eight bytes
// each.
const maxPeriod = maxMapping/8 + 1

// period returns the smallest number of leading blocks whose repetition is the whole placement.
func period(blocks []block, rankNode []int32) int {
	if blocks[0].first != 0 {
		return len(blocks)
	}
	for n := 1; n < min(len(blocks), maxPeriod); n++ {
		if repeats(blocks[:n], rankNode) {
			return n
		}
	}
	return len(blocks)
}

// repeats reports whether the repeated blocks are the placement of the ranks.
func repeats(blocks []block, rankNode []int32) bool {
	for {
		for _, b := range blocks {
			n := min(int(b.nodes)*int(b.count), len(rankNode))
			if !b.places(rankNode[:n]) {
				return false
			}
			if rankNode = rankNode[n:]; len(rankNode) == 0 {
				return true
			}
		}
	}
}

// places reports whether the block's first ranks are on these nodes.
func (b block) places(rankNode []int32) bool {
	for i, node := range rankNode {
		if node != b.first+int32(i)/b.count {
			return false
		}
	}
	return true
}
