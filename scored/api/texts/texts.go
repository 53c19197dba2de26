// Package texts handles texts of messages that need not be UTF-8: arguments, environment and paths
// of programs, and sentences in which they stand. Linux gives them to programs as bytes, so
// messages carry them as bytes.
//
// Some readers accept only UTF-8: JSON, and programs of older versions. For these each byte that is
// not part of a UTF-8 letter is written as \x and two hexadecimal digits.
package texts

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// UTF8 returns the text with an escape for each byte that is not UTF-8.
func UTF8(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[0])|0x100, 16)[1:])
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// Valid reports whether all texts are UTF-8.
func Valid(texts ...string) bool {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return true
}

// ValidIn reports whether all texts of a message are UTF-8.
func ValidIn(m proto.Message) bool { return validMessage(m.ProtoReflect()) }

func validMessage(m protoreflect.Message) bool {
	valid := true
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		valid = validField(field, value)
		return valid
	})
	return valid
}

func validField(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
	valid := true
	switch {
	case field.IsMap():
		value.Map().Range(func(key protoreflect.MapKey, element protoreflect.Value) bool {
			valid = validOne(field.MapKey(), key.Value()) && validOne(field.MapValue(), element)
			return valid
		})
	case field.IsList():
		list := value.List()
		for i := 0; valid && i < list.Len(); i++ {
			valid = validOne(field, list.Get(i))
		}
	default:
		valid = validOne(field, value)
	}
	return valid
}

func validOne(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
	switch field.Kind() {
	case protoreflect.StringKind:
		return utf8.ValidString(value.String())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return validMessage(value.Message())
	default:
		return true
	}
}

// EscapeIn returns the message if all its texts are UTF-8, and else a copy with escapes.
func EscapeIn[M proto.Message](m M) M {
	if ValidIn(m) {
		return m
	}
	escaped := proto.CloneOf(m)
	escapeMessage(escaped.ProtoReflect())
	return escaped
}

func escapeMessage(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case validField(field, value):
		case field.IsMap():
			escapeMap(field, value.Map())
		case field.IsList():
			list := value.List()
			for i := range list.Len() {
				list.Set(i, escapeOne(field, list.Get(i)))
			}
		default:
			m.Set(field, escapeOne(field, value))
		}
		return true
	})
}

// escapeMap escapes keys, too. Of keys that become equal one stays.
func escapeMap(field protoreflect.FieldDescriptor, pairs protoreflect.Map) {
	var keys []protoreflect.MapKey
	var elements []protoreflect.Value
	pairs.Range(func(key protoreflect.MapKey, element protoreflect.Value) bool {
		keys, elements = append(keys, key), append(elements, element)
		return true
	})
	for _, key := range keys {
		pairs.Clear(key)
	}
	for i, key := range keys {
		pairs.Set(escapeOne(field.MapKey(), key.Value()).MapKey(), escapeOne(field.MapValue(), elements[i]))
	}
}

// escapeOne changes a message in place.
func escapeOne(field protoreflect.FieldDescriptor, value protoreflect.Value) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(UTF8(value.String()))
	case protoreflect.MessageKind, protoreflect.GroupKind:
		escapeMessage(value.Message())
		return value
	default:
		return value
	}
}
