// Package jobcodec encodes and decodes the messages of a job's submission and attachment without
// the protobuf runtime's tables.
//
// The runtime parses a message's descriptor and builds its tables at the first use, a millisecond
// of CPU time for these messages. A daemon does that once; scrun would do it for each job. Here the
// usual fields are written out. A message with any other field, or with an error, goes to the
// protobuf runtime, so the encoding, the values and the errors are the same, only later: a field
// that is missing here costs nothing but time. The tests fill every field of each message, and
// compare both ways with the runtime on arbitrary bytes.
//
//	connect.NewClient[scorev1.SubmitRequest, scorev1.SubmitResponse](h, url, connect.WithCodec(jobcodec.Codec{}))
package jobcodec
