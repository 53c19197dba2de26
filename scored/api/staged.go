package api

// MaxStagedBytes bounds the total size of the files staged with a job: larger data belongs on a file
// system.
const MaxStagedBytes = 64 << 30
