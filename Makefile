# SPDX-License-Identifier: Apache-2.0
# Each target is a command that you could type. All output is in build/, output/ and .venv/.
OUTPUT := $(or $(COFFEECUP_OUTPUT),output)
SESSION := $(OUTPUT)/$(shell date +%Y%m%dT%H%M%S.%N)
REFRAME := .venv/bin/reframe -C site_configs/local/settings.py -c reframe_checks
CHECK := $(notdir $(patsubst %/main.c,%,$(lastword $(sort $(wildcard kernels/*/main.c)))))

.PHONY: help run check test lint types tidy sources coverage docs bench prove setup
help:           ## show the targets
	@sed -n 's/^\([a-z]*\):.*## /make \1	/p' Makefile | expand -t 16

# The logs of failed tests stay in the stage directory, the others are in the output directory.
run: setup      ## measure this machine, print the scores and write output/report.html
	@status=0; \
	RFM_PERF_INFO_LEVEL=verbose .venv/bin/coffeecup watch $(SESSION)/stage -- $(REFRAME) -r --mode=scaling $(REFRAME_OPTIONS) \
	    --prefix=$(SESSION) --report-file=$(SESSION)/session.json || status=$$?; \
	.venv/bin/coffeecup score $(SESSION) --history $${RFM_SQLITE_DB_FILE:-$(OUTPUT)/results.db} || status=$$?; \
	.venv/bin/coffeecup report $(SESSION) --session $(SESSION)/session.json -o $(OUTPUT)/report.html || status=$$?; \
	exit $$status

# The tests build the kernels several times (tests/conftest.py): each source is compiled once, if there is ccache.
check lint tidy test: export CMAKE_C_COMPILER_LAUNCHER = $(notdir $(shell command -v ccache))
check lint tidy test: export CCACHE_DIR = $(CURDIR)/build/ccache
check lint tidy test: export CCACHE_NOHASHDIR = 1
check lint tidy test: export CCACHE_BASEDIR = $(CURDIR)

check: sources  ## after each change: quick lint and tests, and a smoke run of one benchmark, CHECK=NAME
	.venv/bin/pytest -n 2 --dist loadfile --no-loadscope-reorder --quick -m "not (prove or alone or rate)"
	$(REFRAME)/$(CHECK).py -r --mode=smoke --prefix=$(SESSION) --report-file=$(SESSION)/session.json

test: lint      ## check the sources, build everything and run every test
	cmake -S kernels -B build/kernels
	cmake --build build/kernels --parallel $$(nproc)
	ctest --test-dir build/kernels --output-on-failure --no-tests=error
	@status=0; \
	.venv/bin/pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not (prove or alone or rate)" || status=$$?; \
	.venv/bin/pytest -m "(alone or rate) and not prove" $$(grep -rlE 'mark\.(alone|rate)' tests --include='test_*.py') || status=$$?; \
	exit $$status

lint: sources   ## check layout, types, spelling, licences and common errors of the sources; nothing is changed
	$(MAKE) --no-print-directory --jobs=2 types tidy

types:          ## the part of lint on types in Python, which one core checks
	.venv/bin/basedpyright

tidy:           ## the part of lint on common errors in C
	cmake -S kernels -B build/kernels
	MAKEFLAGS= cmake --build build/kernels --parallel $$(nproc)
	.venv/bin/run-clang-tidy.py -clang-tidy-binary .venv/bin/clang-tidy -p build/kernels -quiet

sources:        ## the quick part of lint
	@git ls-files --error-unmatch Makefile >/dev/null || { echo "make: checks of the sources need a clone, in which git lists them" >&2; exit 1; }
	site_configs/local/setup test
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	git ls-files '*.c' '*.h' '*.cpp' | xargs .venv/bin/clang-format --dry-run --Werror
	git grep -lE '^#!.*sh$$' -- ':!tests/checks/scripts' ':!*.md' | xargs .venv/bin/shellcheck
	git ls-files | xargs .venv/bin/codespell
	! git grep -L 'SPDX-License-Identifier' -- '*.py' '*.c' '*.h' '*.cpp' '*.cmake' 'CMakeLists.txt' Makefile

# Processes that the tests start are included, except those with a Python environment of their own, kernels that ReFrame
# builds and ranks that SIGKILL ends.
coverage:       ## run the tests, or TESTS="tests/test_...", and print which lines of Python and C they reach
	site_configs/local/setup test
	mkdir -p build/coverage && find build -name '*.gcda' -delete
	cmake -S kernels -B build/coverage -DCOFFEECUP_COVERAGE=ON -DCMAKE_BUILD_TYPE=Debug
	cmake --build build/coverage --parallel $$(nproc)
	ctest --test-dir build/coverage --output-on-failure --no-tests=error
	COFFEECUP_COVERAGE=1 .venv/bin/pytest -n 2 --dist loadfile --no-loadscope-reorder --cov --cov-report=term:skip-covered $(TESTS)
	.venv/bin/gcovr --root kernels --merge-mode-functions=separate build

# Remove build/docs/example to make the example centre anew, on a machine that nobody else uses.
docs:           ## build the documentation and an example centre, which need no network: build/docs/index.html
	site_configs/local/setup docs
	cmake -S kernels -B build/kernels
	cmake --build build/kernels --parallel $$(nproc)
	cmake --install build/kernels --prefix build/kernels/install >/dev/null
	.venv/bin/python docs/write_options.py build/kernels/install/bin docs/options.md
	.venv/bin/python docs/write_log.py docs/log.md
	.venv/bin/sphinx-build --fail-on-warning --keep-going docs build/docs
	test -e build/docs/example/index.html || .venv/bin/python docs/write_example.py build/docs/example

bench:          ## compare the kernels with bare loops of the same calls, hpcc and fio; measure coffeecup history itself
	site_configs/local/setup bench
	cmake -S kernels -B build/kernels
	cmake --build build/kernels --parallel $$(nproc)
	.venv/bin/python kernels/tests/bench.py $(BENCH_OPTIONS)

prove:          ## longer evidence: both ends of the version ranges, long tests, mutants of the modules that decide
	site_configs/local/setup prove
	.venv/bin/python tests/evidence/prove.py $(GOALS)

setup:          ## install what `make run` lacks: system packages (root on Debian), the Python environment
	@site_configs/local/setup
