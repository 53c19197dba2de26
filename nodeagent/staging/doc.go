// Package staging is a node's cache of the files that users send along with their jobs, so that
// jobs need no shared file system, and no rank reads the original.
//
// Files are identified by user and digest, in a directory of mode 0700 for each user: nobody can
// read or replace another user's files, and a file that is sent twice is kept once. All files are
// made, opened and removed with the user's own permissions. A file gets its name after it is
// complete and its digest was checked. The next agent removes incomplete files of a killed agent,
// and verifies complete ones before use. At the limit, files that no job holds are removed: the
// least recently used file of the user with the most bytes. Files held by the jobs of one user may
// take half of the limit.
//
// The part of an incomplete file that has arrived can already be read, so files go through a tree
// of nodes as a stream. Read cache.go first.
//
//	cache, err := staging.Open(dir, 4<<30)
//	cache.Hold(job, user, files)
//	path, err := cache.Get(ctx, user, file, func(ctx context.Context, from int64, to io.Writer) error { ... })
//	...
//	cache.Release(job)
package staging
