package guest

import (
	"os/exec"
	"runtime"
	"sync"
)

// starts takes what the thread that starts guests is to do. The kernel ends a guest with the thread
// that started it (PR_SET_PDEATHSIG), so this one lives as long as the process.
var starts = sync.OnceValue(func() chan<- func() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for call := range calls {
			call()
		}
	}()
	return calls
})

// startForLife starts a process that ends when this one does, however that happens.
func startForLife(command *exec.Cmd) error {
	outcome := make(chan error, 1)
	starts() <- func() { outcome <- command.Start() }
	return <-outcome
}
