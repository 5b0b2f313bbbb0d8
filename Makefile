# `make demo` shows the main job on the examples; `make test` passes everything. Both need only
# Python 3.10+ and make, on a fresh clone.
PYTHON ?= python3
PYTEST_ARGS ?=
FUZZ_PROGRAMS ?= 20000
export TPULINT_CORPUS ?= $(HOME)/.cache/tpulint-corpus

export PIP_DISABLE_PIP_VERSION_CHECK = 1
export TF_CPP_MIN_LOG_LEVEL ?= 2

.PHONY: demo test test-newest test-oldest lint docs bench corpus ecosystem fuzz gallery release-check \
  clean

# Exit status 1 is what the examples must give: some of them hold a fault on purpose.
demo: .venv-demo/ready
	@.venv-demo/bin/tpulint check --no-cache examples; test $$? -eq 1

test: lint test-newest test-oldest

test-newest: .venv/ready
	.venv/bin/python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

# The runtime touches TensorFlow's private modules, so it is tested at both ends of the range:
# with the newest release above, and here with the oldest that this Python still installs.
test-oldest: .venv-oldest/ready
	.venv-oldest/bin/python -m pytest -n 2 --dist loadfile tests/runtime $(PYTEST_ARGS)

lint: .venv/ready
	.venv/bin/ruff check .
	.venv/bin/ruff format --check --quiet .
	.venv/bin/mypy --strict
	.venv/bin/vulture
	.venv/bin/python scripts/imports.py
	.venv/bin/python scripts/count_any.py
	.venv/bin/python scripts/style.py

docs: .venv/ready
	.venv/bin/python scripts/docs.py --write
	git diff --exit-code -- README.md docs

corpus: .venv/ready
	.venv/bin/python scripts/corpus.py $(TPULINT_CORPUS)

# Counts and verdicts of what is said about the corpus; `python -m tests.ecosystem.corpus` renews them.
ecosystem: .venv/ready
	.venv/bin/python -m pytest tests/ecosystem $(PYTEST_ARGS)

bench: corpus
	.venv/bin/python benchmarks/analyzer.py $(TPULINT_CORPUS)
	.venv/bin/python benchmarks/runtime.py

fuzz: .venv/ready
	TPULINT_FUZZ_PROGRAMS=$(FUZZ_PROGRAMS) .venv/bin/python -m pytest tests/runtime -n 2 -k oracle

# Trains released programs and renews docs/gallery.md; TensorFlow 2.12 needs Python 3.10 or 3.11.
gallery: .venv/ready
	.venv/bin/python scripts/gallery.py --write

# Everything but the upload: sdists and wheels, built, inspected and tried in an empty environment.
release-check: .venv/ready
	.venv/bin/python scripts/release_check.py --keep dist

.venv/ready: pyproject.toml plugins/flake8/pyproject.toml
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --editable '.[runtime,test]'
	.venv/bin/python -m pip install --quiet --editable ./plugins/flake8
	touch $@

.venv-oldest/ready: pyproject.toml scripts/oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --editable . --requirement scripts/oldest.txt
	touch $@

.venv-demo/ready: pyproject.toml
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/python -m pip install --quiet --editable .
	touch $@

clean:
	rm -rf .venv .venv-demo .venv-oldest build dist
