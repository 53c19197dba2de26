// Command protogen generates code of .proto files by plugins of protoc, without protoc: the
// packaged ones of many distributions are too old for editions of the language, which the files
// use.
//
//	protogen -I DIRECTORY [-lazy] -plugin NAME[:OPTION,...] FILE...
//
// Generated files are written below the current directory. With -lazy, programs that link the
// messages register them with the protobuf runtime when they first need it, not when they start.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	var imports, plugins list
	flag.Var(&imports, "I", "directory in which imported files are looked for")
	flag.Var(&plugins, "plugin", "plugin to run, with its options")
	lazy := flag.Bool("lazy", false, "register messages at their first use")
	flag.Parse()
	if err := run(imports, plugins, flag.Args(), *lazy); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(text string) error {
	*l = append(*l, text)
	return nil
}

func run(imports, plugins, names []string, lazy bool) error {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: imports}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments go into the generated code
	}
	files, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return err
	}
	described := describe(files)
	for _, plugin := range plugins {
		if err := generate(plugin, names, described, lazy); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	return nil
}

// describe gives the files and all that they import, each after what it imports.
func describe(files linker.Files) (all []*descriptorpb.FileDescriptorProto) {
	seen := map[string]bool{}
	var add func(file protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		if seen[file.Path()] {
			return
		}
		seen[file.Path()] = true
		for i := range file.Imports().Len() {
			add(file.Imports().Get(i).FileDescriptor)
		}
		all = append(all, protodesc.ToFileDescriptorProto(file))
	}
	for _, file := range files {
		add(file)
	}
	return all
}

// generate runs one plugin and writes what it answers.
func generate(plugin string, names []string, files []*descriptorpb.FileDescriptorProto, lazy bool) error {
	program, options, _ := strings.Cut(plugin, ":")
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{FileToGenerate: names, Parameter: &options, ProtoFile: files})
	if err != nil {
		return err
	}
	command := exec.Command(program)
	command.Stdin, command.Stderr = bytes.NewReader(request), os.Stderr
	output, err := command.Output()
	if err != nil {
		return err
	}
	var answer pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return errors.New(answer.GetError())
	}
	for _, file := range answer.GetFile() {
		content := file.GetContent()
		if lazy {
			if content, err = makeLazy(file.GetName(), content); err != nil {
				return err
			}
		}
		if err := write(file.GetName(), content); err != nil {
			return err
		}
	}
	return nil
}

func write(name, content string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(content), 0o644)
}
