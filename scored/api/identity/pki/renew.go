package pki

import (
	"context"
	"fmt"
	"time"
)

const (
	// keepEvery is the interval at which Keep checks whether the certificate must be renewed (a
	// month remains for that) or was renewed by another process.
	keepEvery = time.Minute
	// keepRetry is the pause after a renewal failed.
	keepRetry = time.Hour
)

// Ask makes the authority sign a request, and returns the certificate in DER.
type Ask func(ctx context.Context, request []byte) ([]byte, error)

// RenewNow gets and uses the next certificate, and writes it into the directory.
func (c *Credentials) RenewNow(ctx context.Context, dir string, ask Ask) error {
	request, err := NewRequest()
	if err != nil {
		return err
	}
	signed, err := ask(ctx, request.Bytes())
	if err != nil {
		return err
	}
	if err := c.Renew(signed, request); err != nil {
		return err
	}
	if err := c.Save(dir); err != nil {
		return fmt.Errorf("it is in use, and could not be written: %w", err)
	}
	return nil
}

// Keeper holds the parameters and callbacks of Keep; all fields are needed.
type Keeper struct {
	Dir      string // of the certificate
	Ask      Ask
	Unusable func(error) // what is in the directory cannot be used
	Failed   func(error) // to renew; it is tried again
	Renewed  func()
}

// Keep renews the certificate in time until ctx ends, and uses certificates that another process
// wrote.
func (c *Credentials) Keep(ctx context.Context, k Keeper) {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	var retry time.Time
	for {
		if err := c.reload(k.Dir); err != nil {
			k.Unusable(err)
		}
		if now := c.now(); now.After(c.renewAt()) && now.After(retry) {
			switch err := c.RenewNow(ctx, k.Dir, k.Ask); {
			case err == nil:
				k.Renewed()
			case ctx.Err() == nil:
				k.Failed(err)
				retry = now.Add(keepRetry)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
