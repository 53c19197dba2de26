// Package loop is the event loop of a steward: an epoll set with one goroutine in front of it,
// which owns all that the events concern.
//
//	for {
//		events, err := l.Wait(deadline)
//		for i := range events {
//			switch tag := loop.TagOf(&events[i]); tag.Kind {
//			case loop.Wake:
//				l.RunPosted() // what other goroutines gave to Post
//			case kindPeer:
//				serve(tag.Index)
//			}
//		}
//	}
package loop
