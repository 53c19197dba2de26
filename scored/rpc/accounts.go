package rpc

import (
	"context"
	"fmt"
	"math"
	"os/user"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"slices"
	"strconv"

	"connectrpc.com/connect"
)

// maxUserName bounds the names that are looked up; Linux has 32.
const maxUserName = 256

// uidOf finds a user by name or number in the server's user database.
func uidOf(text string) (uint32, string, error) {
	if text == "" || len(text) > maxUserName {
		return 0, "", invalid("name a user")
	}
	if uid, err := strconv.ParseUint(text, 10, 32); err == nil {
		if uid == math.MaxUint32 {
			return 0, "", invalid("%s is not a user's number", text) // (uid_t)-1
		}
		return uint32(uid), userName(uint32(uid)), nil
	}
	known, err := user.Lookup(text)
	if err != nil {
		return 0, "", connect.NewError(connect.CodeNotFound, fmt.Errorf("the server's host knows no user %q", text))
	}
	uid, err := strconv.ParseUint(known.Uid, 10, 32)
	if err != nil {
		return 0, "", fmt.Errorf("user %q has the number %q: %w", text, known.Uid, err)
	}
	return uint32(uid), known.Username, nil
}

// ListUsers implements ClusterServiceHandler.
func (u users) ListUsers(ctx context.Context, r *connect.Request[scorev1.ListUsersRequest]) (*connect.Response[scorev1.ListUsersResponse], error) {
	identity, err := identityOf(ctx)
	if err != nil {
		return nil, err
	}
	caller, only := callerOf(ctx), r.Msg.GetUser()
	if only == "" {
		all, err := u.Leader.Users(ctx, caller, identity.GetUser())
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(&scorev1.ListUsersResponse{Users: withSystemRoles(all)}), nil
	}
	uid, name, err := uidOf(only)
	if err != nil {
		return nil, err
	}
	one, err := u.Leader.User(ctx, caller, uid, name)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&scorev1.ListUsersResponse{Users: withSystemRoles([]*scorev1.User{one})}), nil
}

// withSystemRoles overrides the roles of users who are always administrators.
func withSystemRoles(users []*scorev1.User) []*scorev1.User {
	for _, u := range users {
		if isAdmin(u.GetUid()) {
			u.Role = scorev1.Role_ROLE_ADMIN
		}
	}
	return users
}

// SetUser implements ClusterServiceHandler.
func (u users) SetUser(ctx context.Context, r *connect.Request[scorev1.SetUserRequest]) (*connect.Response[scorev1.SetUserResponse], error) {
	uid, name, err := uidOf(r.Msg.GetUser())
	if err != nil {
		return nil, err
	}
	if isAdmin(uid) && r.Msg.GetValues().GetRole() != scorev1.Role_ROLE_UNSPECIFIED && r.Msg.GetValues().GetRole() != scorev1.Role_ROLE_ADMIN {
		return nil, invalid("%s is an administrator by the system and stays one", name)
	}
	set, err := u.Leader.SetUser(ctx, uid, name, r.Msg.GetValues(), r.Msg.GetFields())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&scorev1.SetUserResponse{User: withSystemRoles([]*scorev1.User{set})[0]}), nil
}

// GetHistory implements JobServiceHandler.
func (u users) GetHistory(ctx context.Context, r *connect.Request[scorev1.GetHistoryRequest]) (*connect.Response[scorev1.GetHistoryResponse], error) {
	list, err := u.Leader.History(ctx, r.Msg, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	return respond(list, u.checkFound(ctx, len(list.GetJobs()), r.Msg))
}

// listRequest is a request for a page of a user's jobs.
type listRequest interface {
	GetUser() string
	GetPage() *scorev1.JobPage
}

// checkFound refuses a name that neither the host nor the cluster knows: an empty list of jobs
// would hide a misspelling. Any number is accepted, and "" means all users.
func (u users) checkFound(ctx context.Context, jobs int, r listRequest) error {
	text := r.GetUser()
	if jobs > 0 || r.GetPage() != nil || text == "" {
		return nil
	}
	_, _, unknown := uidOf(text)
	if connect.CodeOf(unknown) != connect.CodeNotFound {
		return unknown
	}
	all, err := u.Leader.Users(ctx, leader.Caller{Role: scorev1.Role_ROLE_OPERATOR}, "") // whose names are no secret
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(known *scorev1.User) bool { return known.GetName() == text }) {
		return nil
	}
	return unknown
}
