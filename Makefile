PYTHON ?= python3
PINS ?= --constraint constraints.txt
ENV := .venv
BIN := $(ENV)/bin
READY := $(ENV)/.installed
DOCS := $(ENV)/.installed-docs

.PHONY: help install oracle browser reproduce everything test fuzz mutation replicate runs verdicts reliability bench \
	bench-gpu decide-gpu bench-plan kernels shown docs lint format clean

help:
	@echo "make reproduce    install, then run one figure of each theory: verdicts, figures and a page"
	@echo "make everything   the same with all figures, in about an hour and a half"
	@echo "make test         install, then run the default tests (ARGS=--all adds the slow ones)"
	@echo "make fuzz         test properties of the engine on 300 random sweeps (ARGS='--minutes 60')"
	@echo "make oracle       also install torch and transformers, which some tests compare with"
	@echo "make browser      also install Chromium, in which the page is tested (Debian, as root)"
	@echo "make mutation     count the wrong versions of each formula that checks and references detect"
	@echo "make replicate    train each theory's main claims again in plain NumPy and compare, in a few minutes"
	@echo "make runs         run the figures that lack numbers under a key (ARGS='--key 31847'), the shortest first; resumes"
	@echo "make verdicts     judge all claims on the numbers of docs/replicates and write the pages"
	@echo "make reliability  write the table of faults and their outcome in docs/reliability.md"
	@echo "make bench        time every theory against NumPy, plain JAX and the machine's floor (ARGS=--profile: its parts)"
	@echo "make bench-gpu    time every theory on a GPU or TPU, and compare its curves with the CPU's"
	@echo "make decide-gpu   time sweeps on a GPU without each measure that the engine takes there"
	@echo "make kernels      count the kernels of each theory on a GPU and a TPU, compiled without one (3 GB of compilers)"
	@echo "make bench-plan   compare the estimates of jaxtheory plan with sweeps"
	@echo "make shown        run the code of the pages and write the pictures that it saves, and the notebook docs/first-look.ipynb"
	@echo "make docs         build the documentation and execute its notebooks: docs/_build/html"
	@echo "make lint         ruff check, ruff format --check, mypy"
	@echo "make format       let ruff rewrite the sources"
	@echo "make clean        remove the environment; results stay"

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(ENV)
	$(BIN)/python -m pip install --quiet $(PINS) --editable '.[dev]'
	touch $@

install: $(READY)

oracle: $(READY)
	$(BIN)/python -m pip install --quiet $(PINS) --editable '.[dev,oracle]'

browser:
	apt-get install --yes --no-install-recommends chromium chromium-driver || \
		(apt-get update && apt-get install --yes --no-install-recommends chromium chromium-driver)

reproduce: $(READY)
	$(BIN)/jaxtheory run headlines

everything: $(READY)
	$(BIN)/jaxtheory run all

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations=10 $(ARGS)

fuzz: $(READY)
	$(BIN)/python tests/properties/fuzz.py $(ARGS)

mutation: $(READY)
	$(BIN)/python tests/mutation/score.py $(ARGS)

replicate: $(READY)
	$(BIN)/python tests/reference/replicate.py $(ARGS)

runs: $(READY)
	$(BIN)/python docs/replicates.py $(ARGS)

verdicts: $(READY)
	$(BIN)/python docs/verdicts.py $(ARGS)

reliability: $(READY)
	$(BIN)/python -m pytest tests/engine/test_faults.py --all --reliability

bench: $(READY)
	JAX_PLATFORMS=cpu $(BIN)/python tests/benchmarks/bench.py $(ARGS)

bench-gpu: $(READY)
	! command -v nvidia-smi > /dev/null || \
		$(BIN)/python -m pip install --quiet $(PINS) --editable '.[cuda]'
	env -u JAX_PLATFORMS $(BIN)/python tests/benchmarks/bench.py --accelerator $(ARGS)

decide-gpu: $(READY)
	! command -v nvidia-smi > /dev/null || \
		$(BIN)/python -m pip install --quiet $(PINS) --editable '.[cuda]'
	env -u JAX_PLATFORMS $(BIN)/python tests/benchmarks/decide.py $(ARGS)

kernels: $(READY)
	$(BIN)/python -m pip install --quiet $(PINS) --editable '.[dev,aot]'
	$(BIN)/python -m pytest --all tests/accelerator $(ARGS)

bench-plan: $(READY)
	JAX_PLATFORMS=cpu $(BIN)/python tests/benchmarks/planner.py $(ARGS)

$(DOCS): $(READY)
	$(BIN)/python -m pip install --quiet $(PINS) --editable '.[dev,docs]'
	touch $@

shown: $(DOCS)
	JAX_PLATFORMS=cpu $(BIN)/python docs/shown.py $(ARGS)
	JAX_PLATFORMS=cpu $(BIN)/python docs/first_look.py

docs: $(DOCS)
	JAX_PLATFORMS=cpu $(BIN)/python -m sphinx -W --keep-going --quiet docs docs/_build/html
	@echo "written: docs/_build/html/index.html"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(ENV)
