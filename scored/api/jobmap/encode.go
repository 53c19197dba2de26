package jobmap

import (
	"encoding/binary"
	"score/scored/api/scorev1"
)

// The encoding. Numbers are unsigned LEB128 (encoding/binary, Uvarint).
//
//	map      version 1, number of nodes, nodes
//	node     text name, text address, list of ranks, list of CPUs
//	text     how many bytes are those of the node before, how many more, these
//	list     number of progressions, progressions
//	progression  first number beyond the end of the one before, how many numbers, and if more than
//	         one: distance
const version = 1

// Append writes the places of a job, whose ranks and CPUs are ascending.
func Append(to []byte, places []*scorev1.NodePlace) []byte {
	to = append(to, version)
	to = binary.AppendUvarint(to, uint64(len(places)))
	name, address := "", ""
	for _, p := range places {
		to = appendText(to, name, p.GetNode())
		to = appendText(to, address, p.GetAddress())
		to = appendList(to, p.GetRanks())
		to = appendList(to, p.GetCpus())
		name, address = p.GetNode(), p.GetAddress()
	}
	return to
}

func appendText(to []byte, before, text string) []byte {
	common := 0
	for common < len(before) && common < len(text) && before[common] == text[common] {
		common++
	}
	to = binary.AppendUvarint(to, uint64(common))
	to = binary.AppendUvarint(to, uint64(len(text)-common))
	return append(to, text[common:]...)
}

func appendList(to []byte, numbers []uint32) []byte {
	count := 0
	for i := 0; i < len(numbers); i += progression(numbers[i:]) {
		count++
	}
	to = binary.AppendUvarint(to, uint64(count))
	next := uint64(0)
	for i := 0; i < len(numbers); {
		n := progression(numbers[i:])
		first, last := uint64(numbers[i]), uint64(numbers[i+n-1])
		to = binary.AppendUvarint(to, first-next)
		to = binary.AppendUvarint(to, uint64(n))
		if n > 1 {
			to = binary.AppendUvarint(to, uint64(numbers[i+1]-numbers[i]))
		}
		next = last + 1
		i += n
	}
	return to
}

// progression returns how many of the numbers have the distance of the first two.
func progression(numbers []uint32) int {
	if len(numbers) < 2 {
		return len(numbers)
	}
	n := 2
	for n < len(numbers) && numbers[n]-numbers[n-1] == numbers[1]-numbers[0] {
		n++
	}
	return n
}
