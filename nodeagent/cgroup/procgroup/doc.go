// Package procgroup stops, continues and ends the processes of a job by signals,
// on hosts where package cgroup cannot be used (not root, read-only tree).
//
// It is weaker than a control group: a process that leaves its rank's process group (setsid,
// setpgid) is not stopped, though it is killed at the end; a job can notice its stops (SIGCHLD,
// SIGCONT handlers); CPU time counts in ticks of 10 ms. Freeze sends SIGSTOP to every process
// group, and WaitFrozen reads the states in /proc/PID/stat (proc(5)). Kill goes by group and by
// descent from the process that started the ranks. That process adopts orphans
// (launch.Reaper.AdoptOrphans), so that a process whose parent has died becomes its child and not
// init's.
//
//	job := procgroup.New(stewardPID)
//	job.Started(pid, pgid) // for every rank
//	job.Freeze()
//	err := job.WaitFrozen(deadline)
//	job.Thaw()
//	job.Close(deadline)
package procgroup
