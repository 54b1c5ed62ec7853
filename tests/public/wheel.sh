#!/bin/sh
# The wheel, as auditwheel would look at it: nothing but the C library and what lies inside is needed, of no newer
# version than its name says. Then three commands in an empty virtual environment, without compiler, network and
# source tree: a planned episode.
set -e
wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "wheel.sh: $*"; exit 1; }
newest=$(basename "$wheel" | sed -nE 's/.*-manylinux_2_([0-9]+)_[a-z0-9_]+\.whl/\1/p')
[ "$newest" ] || fail "$wheel names no manylinux version"
mkdir "$folder/inside" "$folder/home"
cd "$folder"
/usr/bin/python3 -m zipfile -e "$wheel" inside
for file in inside/mawam/lib/*.so* inside/mawam/bin/mawam; do
    case $file in *.copyright) continue ;; esac
    for need in $(readelf -d "$file" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p'); do
        case $need in
        libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | ld-linux-*.so.*) ;;
        # Python has loaded this one under its own name before
        libmawam.so.*) readelf -d inside/mawam/lib/libmawam.so | grep -q "SONAME.*\[$need\]" || fail "$file needs $need" ;;
        *) [ -f "inside/mawam/lib/$need" ] || fail "$file needs $need" ;;
        esac
    done
    for version in $(objdump -T "$file" | grep -oE 'GLIBC_2\.[0-9]+' | sort -u | sed 's/GLIBC_2\.//'); do
        [ "$version" -le "$newest" ] || fail "$file needs glibc 2.$version"
    done
    readelf -lW "$file" | grep -E 'GNU_STACK.*E' && fail "$file wants an executable stack"
done

/usr/bin/python3 -c 'import numpy, ensurepip' 2> /dev/null || { echo "no numpy or venv: not tried"; exit 0; }
alone=$(unshare -n true 2> /dev/null && echo "unshare -n" || true) # without a network, where that may be had
start=$(date +%s)
/usr/bin/python3 -m venv --system-site-packages env # numpy is the system's, as there is no network
bin=$folder/env/bin
# nothing of the system's own programs is on PATH
run() { $alone env -i HOME="$folder/home" PATH="$bin" "$@"; }
run "$bin/python" -m pip --disable-pip-version-check install --no-index --quiet "$wheel" || fail "pip refuses the wheel"
run "$bin/python" -c '
import mawam
bundle = mawam.Bundle("spread-medium")
planner, env = mawam.Planner(bundle), mawam.Env("spread")
obs, _ = env.reset(seed=1)
total, over = 0.0, False
while not over:
    obs, rewards, terminated, truncated, _ = env.step(planner.act(obs))
    total, over = total + rewards.mean(), terminated or truncated
print(f"planned return {total:.1f}")
assert "main" in mawam.study_parts()' || fail "no planned episode, or no libmawam-study"
seconds=$(($(date +%s) - start))
[ "$seconds" -lt 60 ] || fail "from pip install to a planned episode in $seconds s"
run "$bin/mawam" --version > /dev/null || fail "the program does not run"
run "$bin/mawam" data make spread-random -o data --transitions 50 --threads 1 --quiet > made || fail "no behaviours"
for name in $(cd inside/mawam/share/mawam/bundles && ls); do
    run "$bin/mawam" bundle info "${name%.safetensors}" > /dev/null || fail "$name is not found"
done
# What is missing is said, with the place to look for it.
missing() { # VARIABLE PACKAGE ARGUMENT...
    variable=$1 package=$2
    shift 2
    run env "$variable=/nowhere.so" "$bin/mawam" "$@" > out 2> message && fail "$* needs no $variable"
    grep -q "$package.*$variable" message || fail "$*: $(cat message)"
}
run() { $alone env -i HOME="$folder/home" PATH="$bin:/usr/bin:/bin" "$@"; }
missing MAWAM_HDF5 libhdf5 data export --to hdf5 data/spread-random -o data.h5
missing MAWAM_MUJOCO libmujoco env play 2ant
missing MAWAM_MICROHTTPD libmicrohttpd live --port 0 --no-open
# And what is there is used.
if ldconfig -p | grep -q libhdf5_serial.so.103; then
    run "$bin/mawam" data export --to hdf5 data/spread-random -o data.h5 > out || fail "HDF5 is there and not used"
fi
if ldconfig -p | grep -q libmujoco.so.2.2.2; then
    run "$bin/mawam" env play 2ant --episodes 1 > out || fail "MuJoCo is there and not used"
fi
echo "$(basename "$wheel"): $(wc -c < "$wheel") bytes; a planned episode $seconds s after pip began"
