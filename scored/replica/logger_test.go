package replica

import (
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestRaftLoggerLevels(t *testing.T) {
	core, lines := observer.New(zap.DebugLevel)
	l := newRaftLogger(zap.New(core))
	l.Trace("t")
	l.Debug("d")
	l.Info("i", "peer", hclog.Fmt("%d-%d", 1, 2))
	l.Warn("w", "odd")
	l.Error("e", "error", "disk full")
	want := []zapcore.Level{zap.DebugLevel, zap.DebugLevel, zap.DebugLevel, zap.WarnLevel, zap.ErrorLevel}
	for i, line := range lines.All() {
		if line.Level != want[i] {
			t.Errorf("line %d at %v, want %v", i, line.Level, want[i])
		}
	}
	if got := lines.All()[2].ContextMap()["peer"]; got != "1-2" {
		t.Errorf("formatted field %v", got)
	}
	if got := lines.All()[4]; got.Message != "raft: e" || got.ContextMap()["error"] != "disk full" {
		t.Errorf("line %+v", got)
	}
}

func TestRaftLoggerDerived(t *testing.T) {
	core, lines := observer.New(zap.WarnLevel)
	l := newRaftLogger(zap.New(core))
	if l.IsDebug() || l.IsTrace() || l.IsInfo() || !l.IsWarn() || !l.IsError() || l.GetLevel() != hclog.Warn {
		t.Error("levels are not zap's")
	}
	l.SetLevel(hclog.Trace)
	derived := l.With("server", 1).Named("snapshot")
	if derived.Name() != "raft.snapshot" || len(derived.ImpliedArgs()) != 2 {
		t.Errorf("name %q, implied %v", derived.Name(), derived.ImpliedArgs())
	}
	derived.Warn("slow")
	if line := lines.All()[0]; line.Message != "raft.snapshot: slow" || line.ContextMap()["server"] != "1" {
		t.Errorf("line %+v", line)
	}

	core, lines = observer.New(zap.DebugLevel)
	if _, err := newRaftLogger(zap.New(core)).StandardWriter(nil).Write([]byte("written\n")); err != nil {
		t.Fatal(err)
	}
	if got := lines.All()[0].Message; !strings.Contains(got, "written") {
		t.Errorf("line %q", got)
	}
	if got := newRaftLogger(zap.NewNop()).GetLevel(); got != hclog.Error {
		t.Errorf("level of no logger: %v", got)
	}
}
