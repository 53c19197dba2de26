package api

import "fmt"

// MaxStagedBytes bounds the total size of the files staged with a job: larger data belongs on a
// file system.
const MaxStagedBytes = 64 << 30

// MaxStagedFiles bounds the number of files staged with a job; no sound program has more libraries.
const MaxStagedFiles = 256

// ErrStagedBytes refuses files that take more.
var ErrStagedBytes = fmt.Errorf(
	"the staged files take more than %d GiB; leave large ones on a shared file system", MaxStagedBytes>>30)
