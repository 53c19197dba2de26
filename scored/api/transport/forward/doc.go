// Package carry has what a daemon needs that passes a user's call on to another one: servers do for
// the one that leads, agents for the users of a host without a server.
//
// A request of one message is kept, so that it can be sent again when the daemon that had it is
// lost; a stream is not. Answers are copied to their end, so that a stream whose daemon is lost
// ends with an error that the caller can read.
//
//	body, err := carry.Take(request, keys)
//	response, err := carry.Ask(transport, out, body) // body tells whether something may have been done
//	defer response.Body.Close()
//	carry.Answer(w, response)
package forward
