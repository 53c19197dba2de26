package scorev1

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// freshVariable is set in a process that runs one test alone: what is registered stays.
const freshVariable = "SCOREV1_TEST_FRESH"

func registeredMessage() error {
	_, err := protoregistry.GlobalTypes.FindMessageByName("score.v1.JobSpec")
	return err
}

// Messages are registered when the first of many goroutines needs it, and not before.
func TestRegisterAtFirstUse(t *testing.T) {
	if os.Getenv(freshVariable) == "" {
		fresh := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		fresh.Env = append(os.Environ(), freshVariable+"=1")
		if text, err := fresh.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return
	}
	if err := registeredMessage(); !errors.Is(err, protoregistry.NotFound) {
		t.Fatalf("before the first use: %v", err)
	}
	uses := []func() bool{
		func() bool { _, err := proto.Marshal(&JobSpec{Tasks: 1}); return err == nil },
		func() bool { return JobState_JOB_STATE_RUNNING.String() == "JOB_STATE_RUNNING" },
		func() bool { return File_score_v1_user_proto().Services().Len() > 0 },
		func() bool { return (*AgentMessage)(nil).ProtoReflect().Descriptor().Name() == "AgentMessage" },
		func() bool { m := &Verdict{}; m.Reset(); return m.String() == "" },
	}
	var all sync.WaitGroup
	for i := range 8 * len(uses) {
		all.Go(func() {
			if !uses[i%len(uses)]() {
				t.Errorf("use %d fails", i%len(uses))
			}
		})
	}
	all.Wait()
	if err := registeredMessage(); err != nil {
		t.Errorf("after the first use: %v", err)
	}
}
