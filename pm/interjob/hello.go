package interjob

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"
)

// The exchange by which a connection begins. Only the dialer sends messages.
//
//	dialer -> listener   hello: magic, job, rank, nonce
//	listener -> dialer   answer: nonce, proof that it knows its own secret
//	dialer -> listener   proof that it knows the listener's secret
const (
	helloMagic  = 0x01_4a_49_53 // SIJ, version 1
	nonceBytes  = 16
	helloBytes  = 4 + 8 + 4 + nonceBytes
	answerBytes = nonceBytes + sha256.Size
)

// helloTimeout bounds the exchange: a gang that is off for many slices answers late.
const helloTimeout = 30 * time.Second

// errProof is the end of a connection whose other side does not know the secret.
var errProof = errors.New("interjob: the other side does not know the secret")

// The side that proves something.
const (
	asListener = "listener"
	asDialer   = "dialer"
)

type hello [helloBytes]byte

func newHello(self Address) (h hello) {
	binary.LittleEndian.PutUint32(h[0:], helloMagic)
	binary.LittleEndian.PutUint64(h[4:], self.Job)
	binary.LittleEndian.PutUint32(h[12:], self.Rank)
	_, _ = rand.Read(h[16:]) // it never fails
	return h
}

// sender returns the rank that sent the hello.
func (h *hello) sender() identity {
	return identity{binary.LittleEndian.Uint64(h[4:]), binary.LittleEndian.Uint32(h[12:])}
}

func (h *hello) valid() bool { return binary.LittleEndian.Uint32(h[:]) == helloMagic }

func proof(key [KeyBytes]byte, who string, h *hello, nonce []byte) []byte {
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte(who))
	mac.Write(h[:])
	mac.Write(nonce)
	return mac.Sum(nil)
}

// introduce is the dialer's part.
func introduce(c net.Conn, self, to Address) error {
	_ = c.SetDeadline(time.Now().Add(helloTimeout)) // what follows meets the same error
	h := newHello(self)
	if _, err := c.Write(h[:]); err != nil {
		return err
	}
	var answer [answerBytes]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		return err
	}
	nonce := answer[:nonceBytes]
	if !hmac.Equal(answer[nonceBytes:], proof(to.Key, asListener, &h, nonce)) {
		return errProof
	}
	if _, err := c.Write(proof(to.Key, asDialer, &h, nonce)); err != nil {
		return err
	}
	return c.SetDeadline(time.Time{})
}

// meet is the listener's part. It returns the dialer's identity.
func meet(c net.Conn, key [KeyBytes]byte) (identity, error) {
	_ = c.SetDeadline(time.Now().Add(helloTimeout)) // what follows meets the same error
	var h hello
	if _, err := io.ReadFull(c, h[:]); err != nil {
		return identity{}, err
	}
	if !h.valid() {
		return identity{}, errProof
	}
	var answer [answerBytes]byte
	nonce := answer[:nonceBytes]
	_, _ = rand.Read(nonce) // it never fails
	copy(answer[nonceBytes:], proof(key, asListener, &h, nonce))
	if _, err := c.Write(answer[:]); err != nil {
		return identity{}, err
	}
	var got [sha256.Size]byte
	if _, err := io.ReadFull(c, got[:]); err != nil {
		return identity{}, err
	}
	if !hmac.Equal(got[:], proof(key, asDialer, &h, nonce)) {
		return identity{}, errProof
	}
	return h.sender(), c.SetDeadline(time.Time{})
}
