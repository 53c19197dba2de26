package packaging

import (
	"os"
	"score/tests/daemons/daemonstest"
	"testing"
	"time"
)

// patience bounds every wait for what must come.
const patience = time.Minute

// binaries is the directory of scored and scrun, built from this tree.
var binaries string

func TestMain(m *testing.M) { os.Exit(daemonstest.Run(m, &binaries)) }
