# Two commands for a newcomer: `make run` and `make test`. Everything else is listed by `make help`.
SHELL := /bin/bash
.DEFAULT_GOAL := help
# Which Python; without one, tools/interpreter.py takes the fastest of the machine's.
PYTHON ?=
BIN := .venv/bin
# A Python of the machine's own: uv must not fetch one.
export UV_PYTHON_DOWNLOADS := never
# The machine's own certificate authorities, as pip and Go use them: registries may be behind one of a company's.
export UV_SYSTEM_CERTS ?= true
# Of `fairlead up`, for `make run`.
ARGS ?= --demo zones
UV = $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)

help: ## list the commands
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.ready ## install everything into the checkout; commands are then in .venv/bin

run: .venv/.runs ## embedded cluster, operator and a zone rollout to look at; ARGS="…" are options of `fairlead up`
	@$(BIN)/fairlead up $(ARGS)

test: setup control-plane prometheus upstream base-image ## every test: pure, simulated, end-to-end on the embedded and the real cluster, lint
	@$(BIN)/python -m tests

again: setup control-plane prometheus upstream base-image ## what tests show once more on the real control plane; CI runs it before `make test`
	@$(BIN)/python -m tests --again

lint: setup ## style, types, import rules, duplicates
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m tools.type_check
	@$(BIN)/lint-imports
	@$(BIN)/python -m tools.duplicates

bench: setup control-plane upstream ## measure against the bound and an ideal; prints a table for bench/RESULTS.md
	@code=0; for each in zones admission conversion environments leaderworker plans apiversions stored sim commands; do $(BIN)/python -m bench.$$each || code=1; done; exit $$code

control-plane: setup ## build etcd, kube-apiserver, kube-controller-manager, helm and kubectl once, into the user's cache
	@$(BIN)/python -m fairlead.plane.build >/dev/null || true
	@$(BIN)/python -m fairlead.plane.helm >/dev/null || true
	@$(BIN)/python -m fairlead.plane.kubectl >/dev/null || true

older-plane: setup ## build kube-apiserver of an older release once, into the user's cache; soak plays some scenarios on it
	@$(BIN)/python -m fairlead.plane.older >/dev/null || true

prometheus: setup ## build Prometheus once, into the user's cache; tests of health checks use it
	@$(BIN)/python -m fairlead.plane.prometheus >/dev/null || true

upstream: setup ## build upstream's manager of LeaderWorkerSets once, into the user's cache; ours is compared with it
	@$(BIN)/python -m fairlead.plane.lws >/dev/null || true

kruise: setup ## build OpenKruise's manager once, into the user's cache; soak plays CloneSets by it
	@$(BIN)/python -m fairlead.plane.kruise >/dev/null || true

image: setup ## build the image; BASE= names another base (debian: made here), TAG= the image, TARGET= what it starts
	@$(BIN)/python -m tools.image $(if $(BASE),--base $(BASE)) $(if $(TAG),--tag $(TAG)) $(if $(TARGET),--target $(TARGET))

base-image: setup ## make a base image of Debian's packages once, into the user's cache; tests of the image use it
	@$(BIN)/python -m tools.base_image >/dev/null || true

record: setup control-plane ## record anew all that is kept of the real cluster and its sources, and tell what changed
	@$(BIN)/python -m tools.record

fidelity: setup control-plane ## compare the embedded cluster with a real one, case by case, and record that it passed
	@$(BIN)/python -m tests --fidelity

soak: setup control-plane older-plane prometheus upstream kruise ## long runs: programs by chance, fuzzing and traces against the real cluster, the suites of kubectl and of LeaderWorkerSet
	@code=0; $(BIN)/python -m tests --soak -m "machine or timing or long" || code=1; $(BIN)/python -m tests --fidelity || code=1; \
		$(BIN)/python -m tests.fuzz --steps 50000 || code=1; $(BIN)/python -m tools.kubectl_suite || code=1; \
		$(BIN)/python -m tools.lws_suite || code=1; exit $$code

lock: setup ## renew requirements.lock and those of the image from pyproject.toml
	@$(UV) pip compile -q --universal --generate-hashes --no-header --no-emit-index-url --extra dev --extra clients --extra traces \
		--upgrade -o requirements.lock pyproject.toml
	@$(UV) pip compile -q --universal --generate-hashes --no-header --no-emit-index-url --extra traces \
		--no-annotate -c requirements.lock --upgrade -o image/requirements.lock pyproject.toml
	@echo hatchling | $(UV) pip compile -q --universal --generate-hashes --no-header --no-emit-index-url \
		--no-annotate --upgrade -o image/build.lock -

# Two marks: what running needs is there, and everything is. The lock file pins both.
.venv/.runs: requirements.lock pyproject.toml
	@echo "Setting up what running needs, in .venv (once, about half a minute):"
	@$(PREPARE)
	@echo "  installing fairlead and its libraries"
	@$(UV) pip install -q --python $(BIN)/python --constraint requirements.lock --compile-bytecode -e .
	@$(COMPILE)
	@touch $@

.venv/.ready: requirements.lock pyproject.toml
	@echo "Setting up everything, tools of tests included, in .venv (once, about a minute):"
	@$(PREPARE)
	@echo "  installing all that requirements.lock names"
	@$(UV) pip sync -q --python $(BIN)/python --require-hashes --compile-bytecode requirements.lock
	@$(UV) pip install -q --python $(BIN)/python --no-deps -e .
	@$(COMPILE)
	@touch .venv/.runs $@

# A virtual environment of a Python that is new enough, and uv to install into it. Distributions' Pythons may be without
# what makes an environment with pip, which only uv is fetched with.
define PREPARE
python="$(PYTHON)"; test -n "$$python" || python="$$(python3 tools/interpreter.py)"; \
test -n "$$python" && "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "fairlead needs Python 3.11 or newer: run make with PYTHON=/path/to/python3.11" >&2; exit 1; }; \
command -v uv >/dev/null || test -x .uv/bin/uv || \
	{ echo "  fetching uv, which installs packages"; \
	for each in "$$python" python3; do "$$each" -c 'import ensurepip' 2>/dev/null && break; done; \
	"$$each" -m venv .uv && .uv/bin/pip install -q uv || exit 1; }; \
$(UV) venv -q --allow-existing --python "$$("$$python" -c 'import sys; print(sys.executable)')" .venv
endef

# Python would compile them at the first start, and at every start where it must not write.
COMPILE = $(BIN)/python -m compileall -q kubeloop kubesim fairlead

clean: ## remove what set-up put into the checkout
	rm -rf .venv .uv .ruff_cache .hypothesis

.PHONY: help setup run test again lint bench control-plane older-plane prometheus upstream kruise image base-image record fidelity soak lock clean
