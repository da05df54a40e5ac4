# Every act of development. Each target sets up what it needs, in .venv.
PYTHON ?= python3
BIN := .venv/bin
SCALE ?= 1

.PHONY: demo birds test test-slow torture lint format bench clean

demo: .venv/ready ## the whole loop on handwritten digits; writes demo.html
	$(BIN)/opengcd demo --out demo.html

birds: .venv/ready ## images to labels on birds, by the commands, where ../shared has them
	$(BIN)/python -m benchmarks.birds

test: lint ## everything that must hold, in a few minutes: a process for each core, one thread each
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile -m "not slow"

test-slow: .venv/ready torture ## checks that take minutes
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist load -m slow

torture: .venv/ready ## try to break what the documentation promises; SCALE=20 takes hours
	$(BIN)/python -m benchmarks.torture --scale $(SCALE)

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/ready ## speed and memory as ratios to textbook versions
	$(BIN)/python -m benchmarks.run

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist demo.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
