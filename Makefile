# fsconform. `make conform` measures, `make test` tests; everything else is in `make help`.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.stamp
DEV    := $(VENV)/.stamp-dev

MOUNT   ?=
SITES   ?=
HOSTS   ?=
PROFILE ?=
BUDGET  ?= quick
SEED    ?=
TESTS   ?= tests

.DEFAULT_GOAL := help
.PHONY: help setup conform test lint bench seed-case compare findings soak soak-nfs docs screenshots lab-deps clean

help: ## say what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
	@echo
	@echo 'make conform                              two clients of an emulated 3FS, held against what 3FS promises'
	@echo 'make conform MOUNT=/mnt/x                 one mount, several processes'
	@echo 'make conform MOUNT=/mnt/x SITES="/mnt/y"  two mounts of one filesystem'
	@echo 'make conform MOUNT=/mnt/x HOSTS="h1 h2"   two hosts over ssh (this one, too: SITES=/mnt/x)'

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo 'no venv: apt-get install python3-venv'; exit 2; }
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(DEV): $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

setup: $(STAMP) ## make the virtual environment and install fsconform into it

# make ends with 2 for any failure, so the last line printed says the status; automation calls `fsconform run`.
conform: $(STAMP) ## measure and judge: [MOUNT=..] [SITES=".."] [HOSTS=".."] [PROFILE=..] [BUDGET=..] [SEED=..]
	$(if $(HOSTS),$(if $(MOUNT),,$(error HOSTS needs MOUNT, the path on these hosts)))
	@$(BIN)/fsconform run $(if $(HOSTS),,$(or $(MOUNT),lab=3fs-fuse)) \
	    $(foreach site,$(SITES),--site '$(site)') $(foreach host,$(HOSTS),--site 'ssh=$(host):$(MOUNT)') \
	    $(if $(PROFILE),--profile '$(PROFILE)') --budget '$(BUDGET)' $(if $(SEED),--seed '$(SEED)')

test: $(DEV) ## run the tests: [TESTS=tests/lab]
	$(BIN)/python -m pytest $(TESTS)

lint: $(DEV) ## style, types, directions of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEV) ## performance targets, as ratios within one run
	$(BIN)/python -m bench.worker_loop
	$(BIN)/python -m bench.oracles
	$(BIN)/python -m bench.seed_case

seed-case: $(DEV) ## replay the case it was built for and write docs/seed-case.md
	$(BIN)/python -m bench.seed_page

compare: $(DEV) ## NFSv3, NFSv4.2 and the emulated 3FS side by side, into reports/compare-... (needs the NFS lab, 6 minutes)
	@set -e; to=reports/compare-$$(date +%Y%m%dT%H%M%S); \
	for lab in nfs3 nfs4.2 3fs-fuse; do \
	    $(BIN)/fsconform run --site lab=$$lab --also 'create and missed and settled' --report $$to/$$lab || [ $$? = 1 ]; \
	done; \
	$(BIN)/fsconform compare $$to/nfs3 $$to/nfs4.2 $$to/3fs-fuse --output $$to

findings: $(DEV) ## reproduce what real NFS does that surprises and write docs/findings.md (needs the NFS lab)
	$(BIN)/python -m bench.findings

soak: $(DEV) ## 20 quick runs each on ext4 and tmpfs: none violated, none inconclusive
	$(BIN)/python -m bench.soak

soak-nfs: $(DEV) ## 10 quick runs each on NFS 3 and 4.2 with default options, actimeo=1 and noac (needs the lab, an hour)
	$(BIN)/python -m bench.soak --runs 10 lab=nfs3 lab=nfs3,actimeo=1 lab=nfs3,noac \
	    lab=nfs4.2 lab=nfs4.2,actimeo=1 lab=nfs4.2,noac

docs: $(STAMP) ## write docs/properties.md from the catalogue and the profiles
	$(BIN)/fsconform properties > docs/properties.md

screenshots: $(DEV) ## make the pictures of docs/images from real runs on the emulated 3FS (needs Chromium)
	$(BIN)/python -m bench.screenshots

lab-deps: ## install what the labs need (Debian; needs root)
	apt-get install --yes --no-install-recommends fuse3 util-linux e2fsprogs \
	    user-mode-linux nfs-kernel-server nfs-common iproute2 chromium

clean: ## remove what was built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
