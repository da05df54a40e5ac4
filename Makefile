# Every act of development; `make help` lists them. Each target sets up what it needs, in .venv, and the demo in .venv-demo.
PYTHON ?= python3
BIN := .venv/bin
DEMO := $(if $(wildcard .venv/ready),.venv,.venv-demo)
# The CPU build of torch. On Linux the ordinary index has the build for CUDA, which is several gigabytes larger.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
SCALE ?= 1
SCHEMA = $(BIN)/check-jsonschema --quiet --builtin-schema vendor
PAGE := src/opengcd/service/page
NODE := tools/page/node_modules
PRETTIER := $(NODE)/.bin/prettier --print-width 120 --log-level warn --ignore-path tools/page/.prettierignore

.PHONY: help demo birds test test-slow coverage torture lint lint-config lint-page lint-page-with-node types format bench docs docs-serve pictures clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(DEMO)/ready ## the whole loop on handwritten digits; writes demo.html and opens it on a desktop
	@OMP_NUM_THREADS=1 $(DEMO)/bin/opengcd demo --out demo.html
	@echo "The documentation begins at docs/index.md."

birds: .venv/ready ## images to labels on birds, by the commands, where ../shared has them
	$(BIN)/python -m benchmarks.birds

test: lint docs ## everything that must hold; says at the end what was skipped and why
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile -m "not slow" -rs
	OMP_NUM_THREADS=1 $(BIN)/pytest --nbmake docs/tutorials/quickstart.ipynb

test-slow: .venv/ready torture ## checks that take minutes
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist load -m slow -rs

coverage: .venv/ready ## how much of the package the tests run; fails below the floor in pyproject.toml
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile -m "not slow" --ignore tests/service/page --ignore tests/docs --cov

torture: .venv/ready ## try to break what the documentation promises; SCALE=20 takes hours
	$(BIN)/python -m benchmarks.torture --scale $(SCALE)

lint: .venv/ready lint-page lint-config ## style, types, layers, prose, and files that no test runs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/prose.py
	$(BIN)/python tools/page/page_types.py --check

lint-config: .venv/ready ## the container, the workflows, the forms, the metadata and the hooks
	$(BIN)/hadolint Dockerfile
	$(SCHEMA).compose-spec compose.yaml compose.cuda.yaml
	$(SCHEMA).github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema custom.github-workflows-require-timeout .github/workflows/*.yml
	$(SCHEMA).dependabot .github/dependabot.yml
	$(SCHEMA).github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA).github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	$(SCHEMA).citation-file-format CITATION.cff
	$(BIN)/zizmor --offline --quiet --persona pedantic .github
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/pre-commit validate-config

lint-page: ## types, rules and layout of the page's JavaScript; needs Node, which users do not
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory lint-page-with-node; \
	elif [ "$$CI" = true ]; then echo "Node is missing, so the page was not checked: install nodejs and npm." >&2; exit 1; \
	else echo "Node is missing: SKIPPED the checks of the page (tsc, eslint, prettier)." >&2; fi

lint-page-with-node: $(NODE)/ready
	$(NODE)/.bin/tsc --project tools/page
	$(NODE)/.bin/eslint --config tools/page/eslint.config.js $(PAGE)
	$(PRETTIER) --check $(PAGE) tools/page

types: .venv/ready ## the page's types, from the OpenAPI document
	$(BIN)/python tools/page/page_types.py

format: .venv/ready ## repairs the layout of the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(NODE)/ready && $(PRETTIER) --write $(PAGE) tools/page; fi

bench: .venv/ready ## speed and memory as ratios to textbook versions
	$(BIN)/python -m benchmarks.run

docs: .venv/ready ## the site, in site/; a broken link, anchor or reference is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: .venv/ready ## the site at http://127.0.0.1:8000, built again at every change
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --watch src

pictures: .venv/ready ## all pictures of the documents, by the commands named beside them
	$(BIN)/python -m benchmarks.pictures

$(NODE)/ready: tools/page/package.json tools/page/package-lock.json
	npm ci --prefix tools/page --no-audit --no-fund
	touch $@

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

.venv-demo/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/pip install --quiet --no-compile --constraint constraints.txt --no-deps --timeout 15 --retries 1 \
		--index-url "$(TORCH_INDEX)" torch || echo "There is no CPU build of torch from there: installing the ordinary one." >&2
	.venv-demo/bin/pip install --quiet --no-compile --constraint constraints.txt --editable '.[report]'
	touch $@

clean: ## removes all that was made
	rm -rf .venv .venv-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist site demo.html $(NODE)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
