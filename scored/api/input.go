package api

import "score/scored/api/scorev1"

// MaxStreamMessage is the size of the largest message of a rank's input or output, in bytes: 64 KiB
// of data, which is all that a pipe holds, and the heads around it.
const MaxStreamMessage = 66 << 10

// InputEnd returns the offset in a job's input behind a message of it. The end of the input counts
// as one byte, so that it is acknowledged like the rest.
func InputEnd(input *scorev1.Stdin) uint64 {
	end := input.GetOffset() + uint64(len(input.GetData()))
	if input.GetEof() {
		end++
	}
	return end
}
