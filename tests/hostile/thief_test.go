package hostile

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/transport/h2"
	"sync"
	"time"

	"connectrpc.com/connect"
)

// addressVariable names the port that a thief takes, and clusterVariable the cluster.
const addressVariable, clusterVariable = "HOSTILE_ADDRESS", "HOSTILE_CLUSTER"

// loot is what a thief has got.
type loot struct {
	Heard []byte   // everything that came, as it came and out of his own TLS
	Calls []string // the methods that somebody called
}

// thief holds the port of a daemon that is away, and says that he is that daemon: with and without
// TLS, with a certificate that he has made, as the leader of the last term there can be.
type thief struct {
	agentpbconnect.UnimplementedAgentServiceHandler
	agentpbconnect.UnimplementedPeerServiceHandler
	mu sync.Mutex
	loot
	came chan struct{} // once for each connection
}

// maxVisits is more than the connections that a test waits for.
const maxVisits = 1 << 16

// playThief reports that he has the port, then each connection until his input ends, then the loot.
func playThief() error {
	t := &thief{came: make(chan struct{}, maxVisits)}
	listener, err := net.Listen("tcp", os.Getenv(addressVariable))
	for err != nil { // its owner has it yet: a loop on bind is the attack
		time.Sleep(time.Millisecond)
		listener, err = net.Listen("tcp", os.Getenv(addressVariable))
	}
	fmt.Println("taken")
	certificate, err := t.selfMade()
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle(agentpbconnect.NewAgentServiceHandler(t))
	mux.Handle(agentpbconnect.NewPeerServiceHandler(t))
	server := h2.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.record(fmt.Appendln(nil, r.Header))
		t.mu.Lock()
		t.Calls = append(t.Calls, r.URL.Path)
		t.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert, NextProtos: []string{h2.Protocol}}
	served := make(chan error, 1)
	go func() { served <- server.Serve(&visits{Listener: listener, thief: t, config: config}) }()
	go func() {
		for range t.came {
			fmt.Println("somebody came")
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	err = server.Close()
	<-served
	t.mu.Lock()
	defer t.mu.Unlock()
	text, marshalErr := json.Marshal(t.loot)
	if err = errors.Join(err, marshalErr); err != nil {
		return err
	}
	return os.WriteFile(os.Getenv(lootVariable), text, 0o600)
}

// lootVariable names the file in which a thief leaves what he has got.
const lootVariable = "HOSTILE_LOOT"

func (t *thief) record(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Heard = append(t.Heard, p...)
}

// Connect implements agentpbconnect.AgentServiceHandler.
func (t *thief) Connect(ctx context.Context, stream *connect.BidiStream[agentpb.AgentMessage, agentpb.ServerMessage]) error {
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	t.record([]byte(first.String()))
	welcome := &agentpb.Welcome{Term: math.MaxUint64, Cluster: os.Getenv(clusterVariable), Version: first.GetHello().GetVersion()}
	if err := stream.Send(&agentpb.ServerMessage{Message: &agentpb.ServerMessage_Welcome{Welcome: welcome}}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// selfMade is a certificate as the server's would be, of an authority that he is himself.
func (t *thief) selfMade() (c tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, err
	}
	says := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		URIs:        []*url.URL{{Scheme: "score", Host: os.Getenv(clusterVariable), Path: "/server/server"}},
	}
	made, err := x509.CreateCertificate(rand.Reader, says, says, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{made}, PrivateKey: key}, err
}

// visits are the connections with a thief, on which he speaks TLS with who does.
type visits struct {
	net.Listener
	thief  *thief
	config *tls.Config
}

// Accept implements net.Listener.
func (v *visits) Accept() (net.Conn, error) {
	for {
		raw, err := v.Listener.Accept()
		if err != nil {
			return nil, err
		}
		first := make([]byte, 1)
		if _, err := io.ReadFull(raw, first); err != nil {
			_ = raw.Close() // a look whether somebody listens
			continue
		}
		v.thief.record(first)
		select {
		case v.thief.came <- struct{}{}:
		default:
		}
		conn := &interceptedConn{Conn: raw, thief: v.thief, first: bytes.NewReader(first)}
		if first[0] == tlsHandshake {
			return tls.Server(conn, v.config), nil
		}
		return conn, nil
	}
}

// tlsHandshake is the first byte of a connection with TLS (RFC 8446, section 5.1).
const tlsHandshake = 22

// interceptedConn keeps all that it receives.
type interceptedConn struct {
	net.Conn
	thief *thief
	first *bytes.Reader
}

// Read implements net.Conn.
func (o *interceptedConn) Read(p []byte) (int, error) {
	if o.first.Len() > 0 {
		return o.first.Read(p)
	}
	n, err := o.Conn.Read(p)
	o.thief.record(p[:n])
	return n, err
}
