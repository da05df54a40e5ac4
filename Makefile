# Every act of development. Each target sets up what it needs, in .venv.
PYTHON ?= python3
BIN := .venv/bin
SCALE ?= 1
PAGE := src/opengcd/service/page
NODE := tools/page/node_modules
PRETTIER := $(NODE)/.bin/prettier --print-width 120 --log-level warn --ignore-path tools/page/.prettierignore

.PHONY: demo birds test test-slow torture lint lint-page lint-page-with-node types format bench docs docs-serve pictures clean

demo: .venv/ready ## the whole loop on handwritten digits; writes demo.html
	$(BIN)/opengcd demo --out demo.html

birds: .venv/ready ## images to labels on birds, by the commands, where ../shared has them
	$(BIN)/python -m benchmarks.birds

test: lint docs ## everything that must hold; says at the end what was skipped and why
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile -m "not slow" -rs

test-slow: .venv/ready torture ## checks that take minutes
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist load -m slow -rs

torture: .venv/ready ## try to break what the documentation promises; SCALE=20 takes hours
	$(BIN)/python -m benchmarks.torture --scale $(SCALE)

lint: .venv/ready lint-page
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/page/page_types.py --check

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

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(NODE)/ready && $(PRETTIER) --write $(PAGE) tools/page; fi

bench: .venv/ready ## speed and memory as ratios to textbook versions
	$(BIN)/python -m benchmarks.run

docs: .venv/ready ## the site, in site/; a broken link, anchor or reference is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

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

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist site demo.html $(NODE)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
