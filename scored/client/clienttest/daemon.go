package clienttest

import (
	"net"
	"net/http"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"testing"

	"connectrpc.com/connect"
)

// Daemon holds the answers of a daemon. A nil function is not implemented.
type Daemon struct {
	Submit func(*scorev1.JobSpec) (uint64, error)
	// SubmitRequest, if not nil, is asked instead of Submit, and sees all of the request.
	SubmitRequest func(*scorev1.SubmitRequest) (uint64, error)

	Attach   func(*Attachment)
	GetJob   func(id uint64) (*scorev1.GetJobResponse, error)
	Cancel   func(id uint64) error
	Requeue  func(*scorev1.RequeueJobRequest) error
	Hold     func(id uint64) error
	Release  func(id uint64) error
	Signal   func(id uint64, signal int32) error
	ListJobs func(*scorev1.ListJobsRequest) (*scorev1.ListJobsResponse, error)
	Explain  func(id uint64) (*scorev1.ExplainJobResponse, error)
	Wait     func(id uint64) (*scorev1.Job, error)
	Channels func(*scorev1.ListChannelsRequest) (*scorev1.ListChannelsResponse, error)

	History func(*scorev1.GetHistoryRequest) (*scorev1.GetHistoryResponse, error)

	// Nodes returns the nodes as of the instant Now of the cluster's clock.
	Nodes      func() []*scorev1.Node
	Now        int64
	DrainNode  func(*scorev1.DrainNodeRequest) (*scorev1.Node, error)
	ResumeNode func(name string) error
	RemoveNode func(name string) (revoked uint32, err error)

	Certificates func() []*scorev1.DaemonCertificate
	Tokens       func() []*scorev1.JoinToken
	RemoveToken  func(id string) error
	Staged       func(*scorev1.ListStagedRequest) *scorev1.ListStagedResponse

	Users    func(name string) ([]*scorev1.User, error)
	SetUser  func(*scorev1.SetUserRequest) error
	Settings func() *scorev1.Settings
	Set      func(*scorev1.SetSettingsRequest) error
	Switches func(*scorev1.SwitchMetricsRequest) *scorev1.SwitchMetricsResponse
	Matrix   func() *scorev1.GetMatrixResponse
	Dump     func(*scorev1.DumpJobRequest) ([]*scorev1.DumpPart, error)
	Top      func() (*scorev1.GetTopResponse, error)
	Version  func() *scorev1.GetVersionResponse
}

// Serve serves the daemon until the test ends, and returns its socket.
func Serve(t testing.TB, daemon Daemon) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "scored.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(scorev1connect.NewJobServiceHandler(jobs{daemon: daemon}))
	mux.Handle(scorev1connect.NewClusterServiceHandler(nodes{daemon: daemon}))
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	protocols.SetHTTP1(true)
	server := &http.Server{Handler: mux, Protocols: protocols}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // until Close
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return socket
}

func reply[T any](message *T, err error) (*connect.Response[T], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(message), nil
}
