package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"score/scored/api/scorev1"
	"score/scored/client"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Control keys. The terminal does not turn them into signals while it shows frames.
const (
	keyEnd       = 4 // ^D, or the terminal is gone
	keyInterrupt = 3 // ^C
	keyQuit      = 28
	keySuspend   = 26
)

const topHelp = "q leaves   sort: j job  c share  m messages  b bytes  r refused  e resent  f flush  w switch"

// liveTop is the view on a terminal.
type liveTop struct {
	screen   *screen
	ask      askFunc
	interval time.Duration
	sort     topSort

	last    *scorev1.GetTopResponse
	trouble error // the last question was not answered
}

// topAnswer is the answer to a request.
type topAnswer struct {
	top *scorev1.GetTopResponse
	err error
}

// run shows frames until the user leaves. It restores the terminal when it returns or panics.
func (l *liveTop) run(ctx context.Context) (err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGWINCH, unix.SIGCONT)
	defer signal.Stop(signals)
	defer func() { err = errors.Join(err, l.screen.leave()) }()
	if err := l.screen.enter(); err != nil {
		return fmt.Errorf("the terminal cannot be used: %w; try --batch", err)
	}
	stopped, stop, err := os.Pipe()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	typed, answers := make(chan byte, 64), make(chan topAnswer, 1)
	var workers sync.WaitGroup
	defer stopped.Close()
	defer workers.Wait()
	defer stop.Close()
	defer cancel()
	defer drain(typed)
	workers.Go(func() { defer close(typed); l.screen.keys(stopped, typed) })
	workers.Go(func() { l.poll(ctx, answers) })
	return l.serve(ctx, signals, typed, answers)
}

// drain reads from the channel until it is closed, so that its writer can go on.
func drain(typed <-chan byte) {
	go func() {
		for range typed { //nolint:revive // what is typed now is for nobody
		}
	}()
}

// poll requests figures once per interval, or less often if the answers are taken late.
func (l *liveTop) poll(ctx context.Context, answers chan<- topAnswer) {
	ticker := time.NewTicker(l.interval)
	defer ticker.Stop()
	for {
		top, err := l.ask(ctx)
		select {
		case answers <- topAnswer{top, err}:
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l *liveTop) serve(ctx context.Context, signals <-chan os.Signal, typed <-chan byte, answers <-chan topAnswer) error {
	for {
		select {
		case a := <-answers:
			l.take(a)
		case key := <-typed:
			if leave, err := l.key(key); leave || err != nil {
				return err
			}
		case s := <-signals:
			if s != unix.SIGWINCH && s != unix.SIGCONT {
				return &ExitError{Code: 128 + int(s.(unix.Signal))}
			}
		case <-ctx.Done():
			return nil
		}
		if err := l.draw(); err != nil {
			return err
		}
	}
}

func (l *liveTop) take(a topAnswer) {
	if l.trouble = a.err; a.err == nil {
		l.last = a.top
	}
}

// key performs the action of a key.
func (l *liveTop) key(key byte) (leave bool, err error) {
	switch key {
	case 'q', 'Q', keyEnd, keyInterrupt, keyQuit, 0:
		return true, nil
	case keySuspend:
		return false, l.suspend()
	}
	for _, s := range topSorts {
		if s.key == key {
			l.sort = s
		}
	}
	return false, nil
}

// suspend stops the program like ^Z in other programs.
func (l *liveTop) suspend() error {
	if err := l.screen.leave(); err != nil {
		return err
	}
	if err := unix.Kill(0, unix.SIGSTOP); err != nil {
		return err
	}
	return l.screen.enter()
}

func (l *liveTop) draw() error {
	columns, lines := l.screen.size()
	bottom := topLine{text: cutTo(topHelp, columns)}
	if l.trouble != nil {
		bottom.text = cutTo("no answer: "+client.Sentence(l.trouble), columns)
	}
	if l.last == nil {
		return l.screen.show([]topLine{bottom})
	}
	frame := topFrame(l.last, l.sort, columns, lines-1)
	return l.screen.show(append(frame, bottom))
}
