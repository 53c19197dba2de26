package nodeagent

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"

	"connectrpc.com/connect"
)

const authorization = "Authorization"

// bearer shows the cluster key with every call that it makes, and lets only
// calls in that show it too (RFC 6750).
type bearer struct {
	credentials string
	digest      [sha256.Size]byte
}

var _ connect.Interceptor = (*bearer)(nil)

func newBearer(key string) *bearer {
	credentials := "Bearer " + key
	return &bearer{credentials: credentials, digest: sha256.Sum256([]byte(credentials))}
}

// WrapUnary serves both sides.
func (b *bearer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if request.Spec().IsClient {
			request.Header().Set(authorization, b.credentials)
		} else if err := b.check(request.Header().Get(authorization)); err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
}

// WrapStreamingClient shows the key.
func (b *bearer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		conn.RequestHeader().Set(authorization, b.credentials)
		return conn
	}
}

// WrapStreamingHandler asks for the key.
func (b *bearer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		if err := b.check(conn.RequestHeader().Get(authorization)); err != nil {
			return err
		}
		return next(ctx, conn)
	}
}

// check takes the same time whatever was shown: digests have one length.
func (b *bearer) check(shown string) error {
	digest := sha256.Sum256([]byte(shown))
	if subtle.ConstantTimeCompare(digest[:], b.digest[:]) == 1 {
		return nil
	}
	return connect.NewError(connect.CodeUnauthenticated, errors.New("the cluster key is missing or wrong"))
}

// clientOptions are those of every connection this agent makes. Messages are
// small or incompressible, and compressing output would cost its ranks CPU.
func (b *bearer) clientOptions() []connect.ClientOption {
	return []connect.ClientOption{
		connect.WithInterceptors(b),
		connect.WithAcceptCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(maxMessage),
	}
}

// handlerOptions are those of every service this agent serves.
func (b *bearer) handlerOptions() []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithInterceptors(b),
		connect.WithCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(maxMessage),
	}
}
