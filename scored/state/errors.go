package state

import "errors"

// Errors of entries that do not fit the state. An entry of the present leader always fits. One that
// does not was made from a state that another leader has changed since, or it shows a fault.
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
	ErrTooMany            = errors.New("a limit of the cluster is reached")
	ErrSnapshot           = errors.New("the snapshot is damaged")
	// ErrProtocol ends a server: it cannot apply what the others apply.
	ErrProtocol = errors.New("this program is too old")
)
