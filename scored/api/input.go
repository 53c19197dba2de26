package api

import "score/scored/api/scorev1"

const (
	// MaxStreamData is how much of a rank's input or output a message has at most, in bytes: all
	// that a pipe holds.
	MaxStreamData = 64 << 10
	// MaxStreamMessage is the size of such a message, with the heads around the data.
	MaxStreamMessage = MaxStreamData + 2<<10
)

// InputEnd returns the offset in a job's input behind a message of it. The end of the input counts
// as one byte, so that it is acknowledged like the rest.
func InputEnd(input *scorev1.Stdin) uint64 {
	end := input.GetOffset() + uint64(len(input.GetData()))
	if input.GetEof() {
		end++
	}
	return end
}
