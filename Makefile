# A thin front for CMake and Ninja. Every target installs the Debian packages it lacks, asking sudo only when needed.
BUILD    ?= build
PACKAGES := gcc cmake ninja-build pkg-config libjansson-dev libcmocka-dev libmujoco-dev libhdf5-dev libmicrohttpd-dev
CONFIG   := -G Ninja -DMAWAM_WERROR=ON
JOBS     ?= $(shell nproc)

MINUTES  ?= 1
HOURS    ?= 8
STUDY    ?= study
MOST     ?= 50

PREFIX   ?= /usr/local
DESTDIR  ?=

.PHONY: all deps demo study zoo web test test-browser fingerprints bench arm asan tsan fuzz fuzzers faults campaign mutate format declarations picture numbers install uninstall deb wheel clean FORCE

all: $(BUILD)/.configured
	@ninja -C $(BUILD) -j $(JOBS)

deps:
	@cmake/need.sh $(PACKAGES)

# Configured again whenever the options are others than the last time, the packages that it may count on, or the place of
# the tree.
$(BUILD)/.options: FORCE
	@mkdir -p $(BUILD)
	@echo '$(CURDIR) $(OPTIONS) $(PACKAGES)' | cmp -s - $@ || echo '$(CURDIR) $(OPTIONS) $(PACKAGES)' > $@

FORCE:

$(BUILD)/.configured: $(BUILD)/.options | deps
	@rm -f $(BUILD)/CMakeCache.txt
	@cmake $(CONFIG) -B $(BUILD) $(OPTIONS) > $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@mv $(BUILD).log $@

demo: all
	$(BUILD)/mawam demo

# The whole study in the folder STUDY, from a committed revision that every file names, and its report in results/. Again
# after an interruption it goes on. The revision is found when the build is configured, so that is done anew. OPTIONS_STUDY:
# of `mawam study run`; STUDY_DIRTY=1: from a changed tree too.
study:
	@test -n "$(STUDY_DIRTY)" || test -z "$$(git status --porcelain -- . ':!results')" || \
	  { git status --short -- . ':!results'; echo "these changes belong to no revision: commit them, or make study STUDY_DIRTY=1"; exit 1; }
	@rm -f $(BUILD)/.configured
	@$(MAKE) --no-print-directory all
	$(BUILD)/mawam study run --dir $(STUDY) --resume $(OPTIONS_STUDY)
	$(BUILD)/mawam study report --dir $(STUDY) -o results --overwrite

# The bundles that come with mawam: those of the study's middle settings, in 6 bits per weight.
zoo: all
	@for bundle in $(STUDY)/bundles/*-medium.safetensors; do \
	  $(BUILD)/mawam bundle pack "$$bundle" --bits 6 --overwrite -o "bundles/$${bundle##*/}" || exit 1; done
	@$(BUILD)/mawam zoo

# The page that plans, a folder for any server of files. What is built afterwards has `mawam live --export` too, so the
# build is configured anew.
WEB_PACKAGES := clang lld wasi-libc libclang-rt-14-dev-wasm32 nodejs
web:
	@cmake/need.sh cmake ninja-build libjansson-dev $(WEB_PACKAGES)
	@rm -f $(BUILD)/.configured
	@cmake $(CONFIG) -DMAWAM_ONLY=web -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/cmake/wasm.cmake -B $(BUILD)/web > $(BUILD)-web.log 2>&1 || { cat $(BUILD)-web.log; exit 1; }
	@ninja -C $(BUILD)/web -j $(JOBS)
	@echo "the page: $(BUILD)/web/site, $$(du -sh $(BUILD)/web/site | cut -f1)"

# The Python package has tests too, among them a notebook and data frames; nothing else needs these. With clang there the fuzz targets are built too, for the short run among the tests; not under sanitizers.
test: PACKAGES += python3-numpy python3-pytest python3-pandas python3-nbclient python3-ipykernel
test: all
	@$(if $(OPTIONS),,if command -v clang >/dev/null && cmake/need.sh clang libclang-rt-14-dev; then $(MAKE) --no-print-directory fuzzers; fi)
	@ctest --test-dir $(BUILD) --output-on-failure --timeout 3600 -j $(JOBS)

# The live view, and the page that plans where it was built, in a real browser; pictures go to PICTURES, if given.
test-browser: all
	@cmake/need.sh chromium nodejs
	@tests/live/browser.sh $(BUILD)/mawam $(CURDIR) $(PICTURES)
	@tests/web/page.sh $(BUILD)/mawam $(BUILD)/web/site $(CURDIR)/bundles $(PICTURES) || [ $$? -eq 77 ]

bench: all
	@cmake/need.sh python3-torch python3-numpy libopenblas0-pthread
	/usr/bin/python3 bench/compare.py $(BUILD)/mawam
	/usr/bin/python3 bench/decide.py $(BUILD)/mawam bundles/*.safetensors

# Records the checksums that test_fingerprint compares with, where bits change on purpose.
fingerprints: all
	@cd $(BUILD) && MAWAM_RECORD=$(CURDIR)/tests/data/fingerprints.txt tests/test_fingerprint

# 64-bit ARM by Debian's cross compiler; tests run under qemu-user, those left out would take hours there.
ARM_PACKAGES := gcc-aarch64-linux-gnu qemu-user libjansson-dev:arm64 libcmocka-dev:arm64 libmujoco-dev:arm64
ARM_SLOW     := behavior|learner|shipped|study|train$$|eval|diagnosis|flow|rwm|planner|battle_play|test_ant|cli_
arm:
	@cmake/need.sh cmake ninja-build pkg-config
	@dpkg --print-foreign-architectures | grep -qx arm64 || cmake/root.sh dpkg --add-architecture arm64
	@cmake/need.sh $(ARM_PACKAGES)
	@cmake $(CONFIG) -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/cmake/aarch64.cmake -B build-arm > build-arm.log 2>&1 || { cat build-arm.log; exit 1; }
	@ninja -C build-arm -j $(JOBS)
	@ctest --test-dir build-arm --output-on-failure -j $(JOBS) -E '$(ARM_SLOW)'

asan:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-asan OPTIONS="-DMAWAM_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug" test

tsan:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-tsan OPTIONS="-DMAWAM_SANITIZE_THREADS=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo" test

# MINUTES for each target; TARGET names some, all otherwise.
fuzz: fuzzers
	@tests/fuzz/run.sh $(BUILD)-fuzz $(MINUTES) $(TARGET)

fuzzers:
	@cmake/need.sh clang libclang-rt-14-dev
	@cmake $(filter-out -DMAWAM_WERROR=ON,$(CONFIG)) -B $(BUILD)-fuzz -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Fuzz -DMAWAM_FUZZ=ON -DMAWAM_TESTS=OFF -DMAWAM_ARCH=native > $(BUILD)-fuzz.log 2>&1 || { cat $(BUILD)-fuzz.log; exit 1; }
	@ninja -C $(BUILD)-fuzz -j $(JOBS) fuzzers | tail -1

# MOST failures of every kind in every command, or in those that COMMANDS names; 0: all there are.
faults: all
	@tests/faults/run.sh $(BUILD) $(MOST) $(COMMANDS)

# Both, or the PART fuzz or faults, for HOURS; the counts go to results/reliability.json, those of one revision are added
# up, and from there to the table in docs/reliability.md.
campaign: all fuzzers
	@tests/campaign.py $(BUILD) $(BUILD)-fuzz $(HOURS) $(PART)

# Breaks the program on purpose in a copy of the tree, one mutation of tests/mutations.txt after the other, and says which of
# them no test notices; ONLY: those whose file or words match.
mutate:
	@cmake/need.sh $(PACKAGES)
	@JOBS=$(JOBS) python3 -B tests/mutate.py $(BUILD) $(if $(ONLY),'$(ONLY)')

format:
	@cmake/need.sh clang-format
	@git ls-files '*.c' '*.h' | xargs clang-format -i

# After a change of the public headers: the structs and functions that the Python package declares.
declarations:
	@python3 -B tests/python/headers.py

# The README's picture, of a bundle that comes with mawam.
picture: all
	@$(BUILD)/mawam eval spread-medium --arms reactive --seeds 1 --episodes 1 --timed 0 --quiet --replay docs/spread.svg --overwrite > /dev/null

# The README's numbers, of the files in results/.
numbers:
	@python3 -B docs/readme_numbers.py

# Below DESTDIR if given, for PREFIX. Builds what is installed and nothing else; what was put where is kept for
# `make uninstall`. (Tests install too, into folders of their own, and write another manifest.)
install: $(BUILD)/.configured
	@cmake "-DCMAKE_INSTALL_PREFIX=$$(realpath -ms -- "$(PREFIX)")" $(BUILD) > $(BUILD)/.install.log 2>&1 || { cat $(BUILD)/.install.log; exit 1; }
	@ninja -C $(BUILD) -j $(JOBS) installed > $(BUILD)/.install.log 2>&1 || { cat $(BUILD)/.install.log; exit 1; }
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) > $(BUILD)/.install.log || { cat $(BUILD)/.install.log; exit 1; }
	@mv $(BUILD)/install_manifest.txt $(BUILD)/.installed
	@echo "installed $$(grep -c . $(BUILD)/.installed) files in $(DESTDIR)$$(realpath -ms -- "$(PREFIX)")"

uninstall:
	@test -f $(BUILD)/.installed || { echo "$(BUILD)/.installed is missing: nothing is known to be installed"; exit 1; }
	@cmake/uninstall.sh $(BUILD)/.installed "$(DESTDIR)"
	@rm $(BUILD)/.installed

deb: $(BUILD)/.configured
	@cmake/need.sh dpkg-dev
	@ninja -C $(BUILD) -j $(JOBS) installed
	@cd $(BUILD) && cpack -G DEB > .deb.log 2>&1 || { cat .deb.log; exit 1; }
	@ls -l $(BUILD)/*.deb

# One wheel with the library, the program, behaviours and BUNDLES inside, for pip on any machine with glibc 2.36 or newer: no
# compiler and no other library is needed. HDF5, MuJoCo and the web server are loaded when something asks for them. What
# it needs is checked as auditwheel would, and it is tried in an empty virtual environment without compiler or network.
BUNDLES  := spread-medium 3m-medium 2ant-medium
PLATFORM := manylinux_2_36_$(shell uname -m)
wheel: WHEEL := $(BUILD)-wheel
wheel:
	@cmake/need.sh $(PACKAGES) python3-numpy python3-venv binutils
	@cmake $(CONFIG) $(OPTIONS) -DMAWAM_LOAD=ON -DMAWAM_TESTS=OFF -DCMAKE_INSTALL_LIBDIR=lib -B $(WHEEL) > $(WHEEL).log 2>&1 || { cat $(WHEEL).log; exit 1; }
	@ninja -C $(WHEEL) -j $(JOBS) installed > $(WHEEL).log 2>&1 || { cat $(WHEEL).log; exit 1; }
	@rm -rf $(WHEEL)/prefix $(WHEEL)/*.whl
	@cmake --install $(WHEEL) --prefix $(WHEEL)/prefix --strip > $(WHEEL).log || { cat $(WHEEL).log; exit 1; }
	@/usr/bin/python3 -B python/backend.py $(WHEEL)/prefix $(WHEEL) $(PLATFORM) $(BUNDLES)
	@tests/public/wheel.sh $(WHEEL)/*.whl

clean:
	rm -rf build build-* build*.log demo
