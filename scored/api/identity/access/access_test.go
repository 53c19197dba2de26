package access

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// forUsers is the file of the services for users, whose table is in scored/rpc.
var forUsers = scorev1.File_score_v1_user_proto().Path()

// methods are those of all services between daemons.
func methods(t *testing.T) (procedures []string) {
	t.Helper()
	protoregistry.GlobalFiles.RangeFilesByPackage("score.v1", func(file protoreflect.FileDescriptor) bool {
		if file.Path() == forUsers {
			return true
		}
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for k := range service.Methods().Len() {
				procedures = append(procedures, fmt.Sprintf("/%s/%s", service.FullName(), service.Methods().Get(k).Name()))
			}
		}
		return true
	})
	if len(procedures) == 0 {
		t.Fatal("there is no service between daemons")
	}
	return procedures
}

// TestEveryMethodIsInTheTable: no method between daemons is left to chance, and no rule is for no
// method.
func TestEveryMethodIsInTheTable(t *testing.T) {
	all := methods(t)
	for _, procedure := range all {
		if len(daemons[procedure]) == 0 {
			t.Errorf("%s: the table does not say which daemons may call it", procedure)
		}
	}
	for procedure, roles := range daemons {
		if !slices.Contains(all, procedure) {
			t.Errorf("%s is no method", procedure)
		}
		for _, role := range roles {
			if _, err := pki.ParseRole(string(role)); err != nil {
				t.Errorf("%s: %v", procedure, err)
			}
		}
	}
}

// TestWrongRolesAreRefused calls each method as each role, and as nobody.
func TestWrongRolesAreRefused(t *testing.T) {
	cluster := pkitest.New(t, "c1")
	passed := 0
	server := httptest.NewUnstartedServer(Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		passed++
		w.WriteHeader(http.StatusNoContent)
	})))
	// The listener accepts all, so that the guard alone is tried.
	server.TLS = cluster.Daemon(t, pki.Server, "s1").Server(pki.Server, pki.Agent)
	server.TLS.VerifyConnection = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	callers := map[pki.Role]*tls.Config{
		"":         {InsecureSkipVerify: true},
		pki.Agent:  blind(cluster.Daemon(t, pki.Agent, "n1")),
		pki.Server: blind(cluster.Daemon(t, pki.Server, "s2")),
	}
	for role, config := range callers {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
		t.Cleanup(client.CloseIdleConnections)
		for _, procedure := range append(methods(t), "/score.v1.JobService/Submit", "/", "/score.v1.PeerService/", "//score.v1.PeerService/Stdio") {
			before := passed
			response, err := client.Post(server.URL+procedure, "application/proto", strings.NewReader(""))
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			want := slices.Contains(daemons[procedure], role)
			if got := passed > before; got != want {
				t.Errorf("%q as %q: let in is %v", procedure, role, got)
			}
			if wanted := map[bool]int{true: http.StatusNoContent, false: http.StatusForbidden}[want]; role != "" && response.StatusCode != wanted {
				t.Errorf("%q as %q: status %d, want %d", procedure, role, response.StatusCode, wanted)
			}
		}
	}
}

// blind trusts whoever answers: only the server's side is tried.
func blind(c *pki.Credentials) *tls.Config {
	config := c.Client()
	config.VerifyConnection = nil
	return config
}
