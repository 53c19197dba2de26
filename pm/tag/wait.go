package tag

import (
	"context"
	"errors"
	"score/pm"
	"score/pm/uct"
	"slices"
)

// Open opens a channel of this process, which must have been started as a rank, and the endpoint of
// port 0. Closing the endpoint's Iface closes all of it. Errors are pm.Open's.
func Open(channel int, options ...pm.OpenOption) (*Endpoint, error) {
	iface, err := uct.Open(channel, options...)
	if err != nil {
		return nil, err
	}
	e, err := NewStack(iface, iface.MD(), Settings{}).Open(0)
	if err != nil {
		return nil, errors.Join(err, iface.Close())
	}
	return e, nil
}

// Wait makes progress until the operations are done. The error joins theirs; it is the context's if
// that ends before. A receive into a buffer for many is done with its last message.
func (e *Endpoint) Wait(ctx context.Context, ops ...*Op) error {
	w := e.stack.iface.Worker()
	for slices.ContainsFunc(ops, func(o *Op) bool { return !o.Done() }) {
		if err := w.Turn(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, o := range ops {
		errs = append(errs, o.Err)
	}
	return errors.Join(errs...)
}
