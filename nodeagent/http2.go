package nodeagent

import (
	"net/http"
	"time"

	"score/scored/api"
	"score/scored/api/pki"
)

const (
	// streamPing is how long an HTTP/2 connection may be silent before it is
	// probed, and streamPingTimeout how long the answer may take: a peer that
	// vanished without closing is noticed within the sum.
	streamPing        = 5 * time.Second
	streamPingTimeout = 5 * time.Second
)

// NewHTTP2Client returns a client that speaks HTTP/2 without encryption, which
// bidirectional streams need. One connection per address is kept and shared.
func NewHTTP2Client() *http.Client { return newHTTP2Client(nil) }

// newHTTP2Client reaches daemons of the roles that show a certificate, or without credentials all, unencrypted.
func newHTTP2Client(credentials *pki.Credentials, roles ...pki.Role) *http.Client {
	transport := newHTTP2Transport()
	if credentials != nil {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetHTTP2(true)
		transport.TLSClientConfig = credentials.Client(roles...)
	}
	return &http.Client{Transport: api.WholeMessages(transport)}
}

func newHTTP2Transport() *http.Transport {
	return &http.Transport{
		Protocols: unencryptedHTTP2(),
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: streamPing,
			PingTimeout:     streamPingTimeout,
		},
	}
}

func unencryptedHTTP2() *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return protocols
}
