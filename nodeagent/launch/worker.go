package launch

import "sync"

// worker is a thread that carries out tasks one after the other. It may change its own attributes,
// since it is not used for anything else.
type worker struct {
	tasks chan func()
	ended chan struct{} // closed when the thread's goroutine has ended

	mu     sync.Mutex // guards closed, and sends on tasks
	closed bool
}

// startWorker starts a thread, which runs setup first. After an error of setup there is no thread.
func startWorker(setup func() error) (*worker, error) {
	w := &worker{tasks: make(chan func()), ended: make(chan struct{})}
	ready := make(chan error)
	OwnThread(func() {
		defer close(w.ended)
		err := setup()
		ready <- err
		if err != nil {
			return
		}
		for task := range w.tasks {
			task()
		}
	})
	if err := <-ready; err != nil {
		<-w.ended
		return nil, err
	}
	return w, nil
}

// do runs a task and waits for it. The error is the task's, or ErrClosed.
func (w *worker) do(task func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	result := make(chan error, 1)
	w.tasks <- func() { result <- task() }
	return <-result
}

// begin runs a task without waiting for it, unless the worker is closed.
func (w *worker) begin(task func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.tasks <- task
	}
}

// close ends the thread after its last task. It does not wait for the end.
func (w *worker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		close(w.tasks)
	}
}
