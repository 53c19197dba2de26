package state

import "errors"

// What is wrong with an entry that does not fit the state. An entry that the
// present leader made always fits; one that does not was made on a state that
// another leader has changed since, or by a fault.
var (
	ErrEmpty              = errors.New("the entry holds no command")
	ErrTime               = errors.New("the entry is older than the one before")
	ErrCommand            = errors.New("the command is malformed")
	ErrUnknownJob         = errors.New("there is no such job")
	ErrUnknownNode        = errors.New("there is no such node")
	ErrNodeInUse          = errors.New("jobs have places on the node")
	ErrJobID              = errors.New("the job's id is not the next one")
	ErrSubmitted          = errors.New("the user has submitted a job under this key already")
	ErrPhase              = errors.New("the job is in another phase")
	ErrPlaces             = errors.New("the places do not hold the job's ranks once each")
	ErrNameTaken          = errors.New("the service is published already")
	ErrNameUnknown        = errors.New("the job has published no such service")
	ErrUnknownToken       = errors.New("there is no such join token")
	ErrUnknownCertificate = errors.New("there is no such certificate")
	ErrTooMany            = errors.New("the cluster's bound is reached")
	ErrSnapshot           = errors.New("the snapshot is damaged")
	// ErrProtocol ends a server: what others apply it cannot.
	ErrProtocol = errors.New("this program is too old")
)
