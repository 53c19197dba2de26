package main

import (
	"context"
	"errors"
)

// pmiParts are what group pmi is made of.
var pmiParts = []func(context.Context, *bench) error{storeFigures, exchangeFigures, startFigures, programFigures, pmixFigures}

// pmiGroup is the management of processes: what ranks exchange, and how fast they get it.
func pmiGroup(ctx context.Context, b *bench) error {
	var failed error
	for _, part := range pmiParts {
		failed = errors.Join(failed, part(ctx, b))
	}
	return failed
}
