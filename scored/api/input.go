package api

import "score/scored/api/scorev1"

// InputEnd returns the offset in a job's input behind a message of it. The end of the input counts
// as one byte, so that it is acknowledged like the rest.
func InputEnd(input *scorev1.Stdin) uint64 {
	end := input.GetOffset() + uint64(len(input.GetData()))
	if input.GetEof() {
		end++
	}
	return end
}
