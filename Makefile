# `make demo` shows the main job on the examples; `make test` passes everything. Both need only
# Python 3.10+ and make, on a fresh clone.
PYTHON ?= python3
PYTEST_ARGS ?=
FUZZ_PROGRAMS ?= 20000
# Nothing may hang: a test has five minutes, and a worker that dies ends the run with its test's
# name (pytest-xdist would start another and, with loadfile, wait for ever).
WORKERS = --dist loadfile --no-loadscope-reorder --max-worker-restart 0 \
  --timeout 300 --timeout-method thread
OLDEST_WORKERS ?= 2
MERMAID = build/npm/package/dist/mermaid.min.js
PYODIDE = build/npm/pyodide/pyodide.mjs
export TPULINT_CORPUS ?= $(HOME)/.cache/tpulint-corpus

export PIP_DISABLE_PIP_VERSION_CHECK = 1
export TF_CPP_MIN_LOG_LEVEL ?= 2

.PHONY: demo test test-newest test-oldest browser lint docs site bench growth corpus ecosystem fuzz \
  mutate hangs gallery release-check vscode clean

# Exit status 1 is what the examples must give: some of them hold a fault on purpose.
demo: .venv-demo/ready
	@.venv-demo/bin/tpulint check --no-cache examples; test $$? -eq 1

test: lint test-newest test-oldest

test-newest: .venv/ready
	.venv/bin/python -m pytest -n 2 $(WORKERS) $(PYTEST_ARGS)

# The runtime touches TensorFlow's private modules, so it is tested at both ends of the range:
# with the newest release above, and here with the oldest that this Python still installs: there
# with fewer generated programs, as most of what they can find has nothing to do with the release.
test-oldest: export TPULINT_FUZZ_PROGRAMS ?= 50
test-oldest: .venv-oldest/ready
	.venv-oldest/bin/python -m pytest -n $(OLDEST_WORKERS) $(WORKERS) tests/runtime \
	  -m "not any_release" $(PYTEST_ARGS)

# What is drawn is looked at in headless Chromium, which pip does not install; TPULINT_SCREENSHOTS
# is where the screenshots go.
browser: .venv/ready $(MERMAID) $(PYODIDE)
	.venv/bin/python -m pytest -m browser --timeout 300 tests/browser $(PYTEST_ARGS)

lint: .venv/ready
	.venv/bin/ruff check .
	.venv/bin/ruff format --check --quiet .
	.venv/bin/codespell
	.venv/bin/mypy --strict
	.venv/bin/vulture
	.venv/bin/python scripts/imports.py
	.venv/bin/python scripts/count_any.py
	.venv/bin/python scripts/assertions.py
	.venv/bin/python scripts/house_counts.py

docs: .venv/ready
	.venv/bin/python scripts/codes.py --write
	.venv/bin/python scripts/docs.py --write
	git status --short -- README.md docs tpulint/codes.tsv

# The documentation site, in build/site.
site: .venv-site/ready $(MERMAID) $(PYODIDE)
	NO_MKDOCS_2_WARNING=1 .venv-site/bin/python -m mkdocs build --quiet

# Without npm the site is built all the same, and shows its diagrams as text.
$(MERMAID):
	mkdir -p build/npm
	cd build/npm && npm pack --silent mermaid@11 && \
	  tar -xzmf mermaid-*.tgz package/dist/mermaid.min.js || echo "mermaid cannot be fetched"

# Python in a browser, and what tpulint needs there, for the playground.
$(PYODIDE):
	mkdir -p $(@D) build/playground
	$(PYTHON) -m pip install --quiet --no-deps --no-compile --upgrade --target build/playground \
	  libcst==0.3.23 typing_inspect mypy_extensions typing_extensions pathspec
	cd build/npm && npm pack --silent pyodide@314 && \
	  tar -xzmf pyodide-*.tgz -C pyodide --strip-components 1 || echo "Pyodide cannot be fetched"

corpus: .venv/ready
	.venv/bin/python scripts/corpus.py $(TPULINT_CORPUS)

# Counts and verdicts of what is said about the corpus; `python -m tests.ecosystem.corpus` renews them.
ecosystem: .venv/ready
	.venv/bin/python -m pytest tests/ecosystem $(PYTEST_ARGS)

bench: corpus
	.venv/bin/python -m benchmarks.analyzer $(TPULINT_CORPUS)
	.venv/bin/python -m benchmarks.runtime
	.venv/bin/python -m benchmarks.storage
	.venv/bin/python -m benchmarks.server
	.venv/bin/python -m benchmarks.cluster $(TPULINT_CORPUS)
	.venv/bin/python -m benchmarks.steps $(TPULINT_CORPUS)

# How time and memory of a check grow with what a program has more of; a minute.
growth: .venv/ready
	.venv/bin/python -m benchmarks.growth

fuzz: .venv/ready
	TPULINT_FUZZ_PROGRAMS=$(FUZZ_PROGRAMS) .venv/bin/python -m pytest tests/runtime -n 2 -k oracle

# Seeds faults into the pinned corpus and renews docs/recall.md; then into public repositories, at
# every optimizer and batch. They are fetched into the folder TPULINT_PUBLIC, or taken from there.
mutate: .venv/ready
	.venv/bin/python -m scripts.mutate
	.venv/bin/python -m scripts.mutate --public $(TPULINT_PUBLIC)

# Measures analyzer and emulator on 100 pairs of programs, of which one hangs; ten minutes.
hangs: .venv/ready
	.venv/bin/python -m tests.hangs.measure --write

# Trains released programs and public notebooks, and renews docs/gallery.md; TensorFlow 2.12 needs Python 3.10 or 3.11.
gallery: .venv/ready
	.venv/bin/python scripts/gallery.py --write
	.venv/bin/python scripts/gallery_notebooks.py --write

# Everything but the upload: sdists and wheels, built, inspected and tried in an empty environment.
release-check: .venv/ready
	.venv/bin/python scripts/release_check.py --keep dist

# The extension for Visual Studio Code, tested and packaged; it needs Node, and a minute.
vscode:
	cd editors/vscode && npm install --no-audit --no-fund --no-package-lock
	cd editors/vscode && npm test
	cd editors/vscode && npm run package
	$(PYTHON) -m scripts.vsix editors/vscode/tpulint.vsix

.venv/ready: pyproject.toml plugins/flake8/pyproject.toml
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --editable '.[runtime,lsp,test]'
	.venv/bin/python -m pip install --quiet --editable ./plugins/flake8
	touch $@

.venv-oldest/ready: pyproject.toml scripts/oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --editable . --requirement scripts/oldest.txt
	touch $@

.venv-site/ready: pyproject.toml
	$(PYTHON) -m venv .venv-site
	.venv-site/bin/python -m pip install --quiet --editable '.[docs]'
	touch $@

.venv-demo/ready: pyproject.toml
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/python -m pip install --quiet --editable .
	touch $@

clean:
	rm -rf .venv .venv-demo .venv-oldest .venv-site build dist
