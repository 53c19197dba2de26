package launch

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Misfit is a limit that the ranks cannot have, and the limit that they get instead.
type Misfit struct {
	Asked, Given Limit
}

func (m Misfit) String() string { return fmt.Sprintf("%v instead of %v", m.Given, m.Asked) }

// Fit determines which limits ranks can have, and lowers the others to possible values. Lowering
// needs no privilege; raising a hard limit needs CAP_SYS_RESOURCE outside of any container
// (setrlimit(2)). Limits that ranks never get are left out; see keptFromRanks. A limit on processes
// that exceeds what any user gets is lowered without a misfit.
func (f *Forker) Fit(limits []Limit) (fit []Limit, misfits []Misfit) {
	f.worker.mu.Lock() // no rank is started meanwhile
	defer f.worker.mu.Unlock()
	fit = make([]Limit, 0, len(limits))
	for _, asked := range limits {
		if keptFromRanks(asked.Resource) {
			continue
		}
		asked = f.bounded(asked)
		given := asked
		if asked.Resource >= 0 && asked.Resource <= maxResource && asked.Soft <= asked.Hard {
			given = f.fitOne(asked)
		}
		fit = append(fit, given)
		if given != asked {
			misfits = append(misfits, Misfit{asked, given})
		}
	}
	return fit, misfits
}

// bounded lowers a limit on a user's processes to the part of the host's that a user gets.
func (f *Forker) bounded(l Limit) Limit {
	if l.Resource == unix.RLIMIT_NPROC {
		l.Hard = min(l.Hard, f.maxProcesses)
		l.Soft = min(l.Soft, l.Hard)
	}
	return l
}

func (f *Forker) fitOne(l Limit) Limit {
	inherited := f.inherited[l.Resource]
	if l.Hard > inherited.Max && !mayRaise(l) {
		l.Hard = inherited.Max
		l.Soft = min(l.Soft, l.Hard)
	}
	return l
}

// maySetOthers reports whether this thread may set the limits of other users' processes.
func maySetOthers() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // 32 capabilities each; linux/capability.h
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
}

// mayRaise tries a higher hard limit on this process and reports the result. The capability alone
// does not tell: inside a container it does not count, and the number of open files has a bound for
// everybody (fs.nr_open).
func mayRaise(l Limit) bool {
	var now unix.Rlimit
	if err := ownPrlimit(l.Resource, nil, &now); err != nil {
		return false
	}
	tried := unix.Rlimit{Cur: now.Cur, Max: l.Hard}
	if err := ownPrlimit(l.Resource, &tried, nil); err != nil {
		return false
	}
	return ownPrlimit(l.Resource, &now, nil) == nil
}
