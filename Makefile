# The targets a person needs; `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN := bin
TOOLS := $(BIN)/tools
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GOFLAGS_BUILD := -ldflags "-s -w -X score/scored/api.version=$(VERSION)"
FUZZTIME ?= 3s
# How programs are built: tests, and what they build, share the compiled packages with bin/. Vet is a
# step of make check.
PURE := CGO_ENABLED=0 GOFLAGS=-trimpath
ONLY ?=
RECORD ?=
# The packages whose tests take longest begin first, so that none of them runs alone at the end.
# More packages than CPUs run at once: most of their time is waiting.
LONGEST := ./tests/system ./tests/chaos ./nodeagent ./tests/streams ./tests/failures

# Other users run what the tests build, whatever the umask of the shell.
TESTS := umask 022; $(PURE)

# What a shell has set for a cluster of its own means nothing to the clusters started here.
unexport SCORE_SOCKET SCORE_FABRIC_DIR SCORE_CONFIG

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install what building and testing need (apt, as root), or say what is missing
	@.ci/setup build test

.PHONY: build
build: ## build bin/scored and bin/scrun
	@.ci/setup build
	@mkdir -p $(BIN)
	@$(PURE) go build $(GOFLAGS_BUILD) -o $(BIN)/ ./cmd/scored ./cmd/scrun
	@# Go's linker writes by a mapping; a file that was copied starts with a quarter less CPU time
	@# (docs/BENCHMARKS.md, submit).
	@for p in scored scrun; do cp $(BIN)/$$p $(BIN)/.$$p && mv $(BIN)/.$$p $(BIN)/$$p || exit; done

.PHONY: lib
lib: ## build build/lib: the libraries by which MPI programs use channels (scrun --fabric pm)
	@.ci/setup build lib
	@pm/lib/build build/lib

.PHONY: profile
profile: ## record which calls of the library are hot, for its next build (pm/lib/default.pgo)
	@go test -trimpath ./pm/ofi -run - -bench 'Message/.*/(8|1024|8-injected)$$' -benchtime 4s -cpuprofile pm/lib/default.pgo -o /dev/null

.PHONY: demo
demo: ## two MPI programs share two nodes in time, also over channels, and the same without coordination
	@.ci/setup build demo
	@$(MAKE) --no-print-directory build lib
	@go run ./examples/demo

.PHONY: demo-ha
demo-ha: ## three servers and three nodes on loopback; the server that leads is killed, then a node's agent
	@.ci/setup build
	@$(MAKE) --no-print-directory build
	@go run ./examples/demo-ha

.PHONY: test
test: ## set up, then unit and whole-system tests, with a closing count
	@.ci/setup build test
	@$(MAKE) --no-print-directory build tools-test
	@$(TESTS) $(TOOLS)/gotestsum --format standard-quiet -- -vet=off -timeout 20m -p $$((($$(nproc) * 3 + 1) / 2)) $(LONGEST) ./...

.PHONY: test-short
test-short: ## unit tests alone, without real clusters and tests that wait for seconds, in a minute
	@.ci/setup build
	@$(TESTS) go test -short -vet=off -p $$((($$(nproc) * 3 + 1) / 2)) $$(go list ./... | grep -v '^score/tests/')

.PHONY: check
check: ## what CI runs besides the tests: format, vet, lint, generated code, race, fuzz
	@.ci/setup build test check
	@$(MAKE) --no-print-directory build tools-test tools-check
	@.ci/check $(FUZZTIME)

.PHONY: deb
deb: ## build the Debian package, into build/
	@.ci/setup build lib
	@packaging/deb/build build

.PHONY: bench
bench: ## benchmarks beside their peers; one group with ONLY=launch|streams|switch|sharing|placement|channels|netswitch|ledger|hostile|scale|submit|pmi|stack|fabric|applications|tipc
	@.ci/setup build bench
	@$(MAKE) --no-print-directory build
	@go run ./tests/bench -only "$(ONLY)" $(if $(RECORD),-record "$(RECORD)")

.PHONY: hosts
hosts: ## a cluster of three hosts with Debian and systemd, in guests: faults, upgrades (root; User-Mode Linux and Debian packages are fetched once)
	@.ci/setup build lib test
	@go test ./tests/hosts -run TestHosts -v -hosts.all -timeout 40m

.PHONY: soak
soak: ## a gigabyte through each kind of cluster, gangs on four nodes for ten minutes, chaos for twelve, real programs at their usual sizes, failures at every step and in every history 100 times, elections, cuts, replaced servers and stepped clocks, a million seeds of the simulator as each kind of world (hours)
	@.ci/setup build test
	@go test ./tests/system -run 'TestScripts/(fabric-)?programs' -programs.long -timeout 0
	@go test -tags soak ./tests/upgrade -count 5 -timeout 0
	@go test ./tests/soak -soak.for 10m -timeout 0
	@go test -tags soak ./tests/streams -run 'TestGigabyte|TestStoppedScrun' -timeout 0
	@go test ./tests/chaos -v -chaos.for 12m -timeout 0
	@go test ./tests/failures -failures.times 100 -timeout 0
	@go test ./tests/histories -histories.times 100 -timeout 0
	@go test -tags soak ./tests/servers -count 20 -timeout 0
	@go test -tags soak ./tests/clocks -count 20 -timeout 0
	@go test ./tests/sim -run TestSeeds -sim.seeds 1000000 -sim.context all -timeout 0
	@$(MAKE) --no-print-directory hosts

.PHONY: generate
generate: ## generate protobuf code, man pages and the example configuration
	@.ci/setup build check
	@.ci/generate
	@go run ./cmd/scored man --dir packaging/man
	@go test ./cmd/scrun/options -run TestPackagingIsUpToDate -update

.PHONY: fmt
fmt: tools-check ## format the code
	@$(TOOLS)/golangci-lint fmt ./...

.PHONY: clean
clean: ## remove what was built
	@rm -rf $(BIN) build

.PHONY: tools-test
tools-test:
	@mkdir -p $(TOOLS)
	@cd .ci/tools && go build -o ../../$(TOOLS)/ gotest.tools/gotestsum
	@cd .ci/packager && go build -o ../../$(TOOLS)/ github.com/goreleaser/nfpm/v2/cmd/nfpm

.PHONY: tools-check
tools-check:
	@mkdir -p $(TOOLS)
	@cd .ci/tools && go build -o ../../$(TOOLS)/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
