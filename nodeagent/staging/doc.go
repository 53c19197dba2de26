// Package staging keeps on a node the files that users send along with their jobs, so that the
// ranks need no file system that the nodes share, and no rank reads the original.
//
// Files are kept by user and by the digest of what is in them, below a directory of each user's
// own, mode 0700: nobody can read or replace another user's files, and a file that is sent twice is
// kept once. All files are made, opened and removed with the user's own permissions. A file has its
// name only once it is whole and its digest is right; the next agent removes incomplete files of a
// killed one, and verifies its complete files before they are used. When the limit is reached,
// files that no job holds are removed: the least recently used of the user who has most. Files held
// by the jobs of one user may take half of the limit.
//
// A file that is still coming can be read by others up to where it is, so files go through a tree
// of nodes as a stream.
//
//	cache, err := staging.Open(dir, 4<<30)
//	cache.Hold(job, user, files)
//	path, err := cache.Get(ctx, user, file, func(ctx context.Context, from int64, to io.Writer) error { ... })
//	...
//	cache.Release(job)
package staging
