// Package forward forwards a user's call to another daemon: servers forward
// to the leader, agents for the users of a host without a server.
//
// A request of one message is kept, so that it can be sent again when the daemon that had it is
// lost; a stream is not. Answers are copied to their end, so that a stream whose daemon is lost
// ends with an error that the caller can read.
//
//	body, err := forward.ReadBody(request, keys)
//	response, err := forward.Send(transport, out, body) // body.MayHaveRun: it may have had an effect
//	defer response.Body.Close()
//	forward.CopyAnswer(ctx, w, response)
package forward
