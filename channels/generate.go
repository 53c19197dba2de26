package channels

//go:generate go run ./cheader score_channel.h
