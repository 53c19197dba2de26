package rpc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"syscall"
	"testing"

	"connectrpc.com/connect"
)

// asNobody runs a test of this binary as another user, against the socket.
func (c *cluster) asNobody(t *testing.T, name string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	const nobody = 65534
	dir := filepath.Dir(c.socket)
	program := filepath.Join(dir, "test")
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(c.socket, 0o666); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "-test.run=^"+name+"$", "-test.v")
	command.Dir = "/"
	command.Env = []string{"RPC_TEST_SOCKET=" + c.socket}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{7, 8}}}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("as nobody: %v\n%s", err, out)
	}
}

func TestOthersMayLookButNotTouch(t *testing.T) {
	c, _, _ := clusterWithJob(t)
	c.asNobody(t, "TestAsNobody")
	list, err := c.leader.Jobs(t.Context(), &scorev1.ListJobsRequest{}, leader.Caller{Role: scorev1.Role_ROLE_ADMIN})
	if err != nil || len(list.GetJobs()) != 2 {
		t.Fatalf("jobs %v, %v", list, err)
	}
	theirs := list.GetJobs()[1].GetUser()
	if theirs.GetUid() != 65534 || fmt.Sprint(theirs.GetGroups()) != "[7 8]" {
		t.Errorf("the other's job belongs to %v", theirs)
	}
}

// TestAsNobody is the child process of TestOthersMayLookButNotTouch.
func TestAsNobody(t *testing.T) {
	socket := os.Getenv("RPC_TEST_SOCKET")
	if socket == "" {
		return // only for the child process
	}
	c := &cluster{t: t, socket: socket}
	c.connect()

	got, err := c.jobs.GetJob(t.Context(), connect.NewRequest(&scorev1.GetJobRequest{JobId: 1}))
	if err != nil || got.Msg.GetRanks() != nil {
		t.Errorf("another's job %v, %v", got, err)
	}
	listed, listErr := c.jobs.ListJobs(t.Context(), connect.NewRequest(&scorev1.ListJobsRequest{All: true}))
	if listErr != nil || len(listed.Msg.GetJobs()) != 1 {
		t.Fatalf("list %v, %v", listed, listErr)
	}
	for _, job := range []*scorev1.Job{got.Msg.GetJob(), listed.Msg.GetJobs()[0]} {
		spec := job.GetSpec()
		if spec.GetEnv() != nil || spec.GetArgv() != nil || spec.GetWorkDir() != "" || spec.GetStdoutPattern() != "" || job.GetUser().GetGroups() != nil {
			t.Errorf("another's job shows %v", job)
		}
		if spec.GetTasks() != 1 || job.GetState() != scorev1.JobState_JOB_STATE_RUNNING && job.GetState() != scorev1.JobState_JOB_STATE_STARTING {
			t.Errorf("another's job does not show %v", job)
		}
	}
	history, err := c.jobs.GetHistory(t.Context(), connect.NewRequest(&scorev1.GetHistoryRequest{}))
	if err != nil || len(history.Msg.GetJobs()) != 0 {
		t.Errorf("history %v, %v", history, err)
	}
	channels, err := c.jobs.ListChannels(t.Context(), connect.NewRequest(&scorev1.ListChannelsRequest{}))
	if err != nil || len(channels.Msg.GetChannels()) != 0 || len(channels.Msg.GetSilent()) != 0 {
		t.Errorf("channels %v, %v", channels, err)
	}
	_, channelErr := c.jobs.ListChannels(t.Context(), connect.NewRequest(&scorev1.ListChannelsRequest{JobId: 1}))
	users, err := c.service.ListUsers(t.Context(), connect.NewRequest(&scorev1.ListUsersRequest{}))
	if err != nil || len(users.Msg.GetUsers()) != 1 || users.Msg.GetUsers()[0].GetUid() != uint32(os.Getuid()) {
		t.Errorf("users %v, %v", users, err)
	}
	_, userErr := c.service.ListUsers(t.Context(), connect.NewRequest(&scorev1.ListUsersRequest{User: "0"}))
	_, roleErr := c.service.SetUser(t.Context(), connect.NewRequest(&scorev1.SetUserRequest{
		User: "65534", Values: &scorev1.User{Role: scorev1.Role_ROLE_ADMIN}, Fields: []string{"role"},
	}))
	_, cancelErr := c.jobs.CancelJob(t.Context(), connect.NewRequest(&scorev1.CancelJobRequest{JobId: 1}))
	_, signalErr := c.jobs.SignalJob(t.Context(), connect.NewRequest(&scorev1.SignalJobRequest{JobId: 1, Signal: 9}))
	_, setErr := c.service.SetSettings(t.Context(), connect.NewRequest(&scorev1.SetSettingsRequest{}))
	stream := c.jobs.Attach(t.Context())
	_ = stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Open_{Open: &scorev1.AttachRequest_Open{JobId: 1}}})
	_, attachErr := stream.Receive()
	for what, err := range map[string]error{
		"cancel": cancelErr, "signal": signalErr, "set": setErr,
		"attach": attachErr, "channels": channelErr, "other users": userErr, "own role": roleErr,
	} {
		if connect.CodeOf(err) != connect.CodePermissionDenied {
			t.Errorf("%s: %v", what, err)
		}
	}
	spec := goodSpec()
	spec.Tasks, spec.Detached = 1, true
	own, err := c.jobs.Submit(t.Context(), connect.NewRequest(&scorev1.SubmitRequest{Spec: spec}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.jobs.CancelJob(
		t.Context(),
		connect.NewRequest(&scorev1.CancelJobRequest{JobId: 1 + own.Msg.GetJobId()}),
	); connect.CodeOf(
		err,
	) != connect.CodeNotFound {
		t.Errorf("cancel of an unknown job: %v", err)
	}
}

// An operator may do to others' jobs what their owners may, and no more. The role is checked again
// with every call.
func TestOperators(t *testing.T) {
	c, _, _ := clusterWithJob(t)
	set := func(values *scorev1.User, fields ...string) (*scorev1.User, error) {
		r, err := c.service.SetUser(t.Context(), connect.NewRequest(&scorev1.SetUserRequest{User: "65534", Values: values, Fields: fields}))
		if err != nil {
			return nil, err
		}
		return r.Msg.GetUser(), nil
	}
	if u, err := set(
		&scorev1.User{Role: scorev1.Role_ROLE_OPERATOR, Share: 7},
		"role",
		"share",
	); err != nil || u.GetRole() != scorev1.Role_ROLE_OPERATOR ||
		u.GetShare() != 7 {
		t.Fatalf("%v, %v", u, err)
	}
	c.asNobody(t, "TestAsOperator")
	for name, values := range map[string]*scorev1.User{
		"role": {Role: 9}, "share": {}, "time": {Limits: &scorev1.UserLimits{TimeNanos: -1}}, "colour": {},
	} {
		if u, err := set(values, name); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v, %v", name, u, err)
		}
	}
	for user, code := range map[string]connect.Code{
		"": connect.CodeInvalidArgument, "no such user here": connect.CodeNotFound, "0": connect.CodeInvalidArgument, "4294967295": connect.CodeInvalidArgument,
	} {
		_, err := c.service.SetUser(
			t.Context(),
			connect.NewRequest(&scorev1.SetUserRequest{User: user, Values: &scorev1.User{Role: scorev1.Role_ROLE_USER}, Fields: []string{"role"}}),
		)
		if connect.CodeOf(err) != code {
			t.Errorf("user %q: %v", user, err)
		}
	}
}

// Listing the jobs of an unknown user gives an empty list for a number, and an error for a name.
func TestListsKnowTheirUser(t *testing.T) {
	c := newCluster(t)
	for user, code := range map[string]connect.Code{
		"": 0, "0": 0, "nobody": 0, "4000000000": 0, "no such user here": connect.CodeNotFound, "4294967295": connect.CodeInvalidArgument,
	} {
		_, listErr := c.jobs.ListJobs(t.Context(), connect.NewRequest(&scorev1.ListJobsRequest{User: user}))
		_, historyErr := c.jobs.GetHistory(t.Context(), connect.NewRequest(&scorev1.GetHistoryRequest{User: user}))
		for what, err := range map[string]error{"list": listErr, "history": historyErr} {
			if err == nil && code != 0 || err != nil && connect.CodeOf(err) != code {
				t.Errorf("%s of %q: %v", what, user, err)
			}
		}
	}
}

// TestAsOperator is the child process of TestOperators.
func TestAsOperator(t *testing.T) {
	socket := os.Getenv("RPC_TEST_SOCKET")
	if socket == "" {
		return // only for the child process
	}
	c := &cluster{t: t, socket: socket}
	c.connect()
	got, err := c.jobs.ListJobs(t.Context(), connect.NewRequest(&scorev1.ListJobsRequest{}))
	if err != nil || len(got.Msg.GetJobs()) != 1 || got.Msg.GetJobs()[0].GetSpec().GetArgv() == nil {
		t.Errorf("jobs %v, %v", got, err)
	}
	if _, err := c.jobs.SignalJob(t.Context(), connect.NewRequest(&scorev1.SignalJobRequest{JobId: 1, Signal: 10})); err != nil {
		t.Errorf("signal: %v", err)
	}
	if users, err := c.service.ListUsers(
		t.Context(),
		connect.NewRequest(&scorev1.ListUsersRequest{User: "0"}),
	); err != nil || len(users.Msg.GetUsers()) != 1 ||
		users.Msg.GetUsers()[0].GetRole() != scorev1.Role_ROLE_ADMIN {
		t.Errorf("users %v, %v", users, err)
	}
	_, setErr := c.service.SetSettings(t.Context(), connect.NewRequest(&scorev1.SetSettingsRequest{}))
	_, roleErr := c.service.SetUser(
		t.Context(),
		connect.NewRequest(&scorev1.SetUserRequest{User: "65534", Values: &scorev1.User{Role: scorev1.Role_ROLE_ADMIN}, Fields: []string{"role"}}),
	)
	for what, err := range map[string]error{"settings": setErr, "role": roleErr} {
		if connect.CodeOf(err) != connect.CodePermissionDenied {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := c.jobs.CancelJob(t.Context(), connect.NewRequest(&scorev1.CancelJobRequest{JobId: 1})); err != nil {
		t.Errorf("cancel: %v", err)
	}
}
