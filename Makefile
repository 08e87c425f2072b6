# Everything that is done to this project, by name. `make test` is all that CI runs; each part can be run alone.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export MOLECULE_GLOB := molecule/*/molecule.yml
# Colours make logs unreadable where nobody looks at them live.
export ANSIBLE_FORCE_COLOR := $(if $(CI),0,$(ANSIBLE_FORCE_COLOR))
COLLECTION := .ansible/collections/ansible_collections/gpufleet/cluster
LAB := inventories/lab

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

.PHONY: bootstrap
bootstrap: ## .venv with pinned tools, and the development symlink
	@scripts/bootstrap

.PHONY: packages
packages: bootstrap ## install the Debian or Ubuntu packages that the lab and the tests need (as root)
	@scripts/packages

.PHONY: demo
demo: packages ## start a lab of virtual machines, bring it to the wanted state, measure it, show the report's path
	scripts/lab up
	ansible-playbook playbooks/site.yml -i $(LAB)

.PHONY: test
test: packages ## all that CI runs; two lanes side by side, for two cores
	@$(MAKE) --no-print-directory -j2 --output-sync=line lane-static lane-lab

# The lab passes its long waits (booting, Ansible over SSH) while the other lane computes.
.PHONY: lane-static lane-lab
lane-static:
	@for part in lint unit docs sanity build molecule; do $(MAKE) --no-print-directory $$part; done
lane-lab:
	@$(MAKE) --no-print-directory lab-quick

.PHONY: lint
lint: bootstrap ## ruff, mypy (strict), yamllint, ansible-lint (production, offline), shell syntax
	ruff check .
	ruff format --check .
	mypy -p ansible_collections.gpufleet.cluster.plugins
	mypy -p tools
	yamllint --strict .
	ansible-lint --offline -q
	@for script in scripts/* .ci/run tools/containers/*.sh tools/containers/bin/*; do \
	  case "$$(head -n 1 $$script)" in *bash) bash -n $$script ;; *sh) sh -n $$script ;; esac; done

.PHONY: unit
unit: bootstrap ## pytest: parsers, libraries, modules, inventories, reports
	pytest tests/unit -n 2 --ignore-glob='*/test_gce_*'
	# Ansible has one plugin loader a process, and the first user of it decides: these have a process each.
	@for file in tests/unit/test_gce_*.py; do pytest $$file; done

.PHONY: gce
gce: bootstrap ## provisioning on Google Cloud from nothing, against the fake API
	pytest tests/integration/test_gce_provision.py

.PHONY: docs
docs: bootstrap ## documentation of plugins and roles, changelog fragments
	antsibull-docs lint-collection-docs --plugin-docs --skip-rstcheck .
	antsibull-changelog lint

.PHONY: sanity
sanity: bootstrap ## ansible-test sanity
	@scripts/sanity

.PHONY: build
build: bootstrap ## build the artefact, install it into an empty collections path, use it from there
	@scripts/build-check

.PHONY: molecule
molecule: packages ## every role in containers
	molecule test --all

.PHONY: lab-quick
lab-quick: packages ## one passage through the lab: bare to proven, second run, the quick faults
	pytest tests/integration/test_lab_quick.py -m lab

.PHONY: test-lab
test-lab: packages ## the long passage: every fault, reboots, a killed controller (about an hour under emulation)
	pytest tests/integration -m lab

.PHONY: scale
scale: packages ## 200 hosts in network namespaces, the browser's view of the report
	pytest tests/integration -m "netns or browser"

.PHONY: bench
bench: bootstrap ## benchmarks; each prints a ratio to a named peer in the same run
	@for bench in gce_inventory parsers path_mtu; do python -m tests.bench.$$bench || exit 1; done

.PHONY: clean
clean: ## stop the lab, remove what was built here (not the cache outside)
	-scripts/lab down
	rm -rf .ansible .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis tests/output
