#!/bin/sh
# A short run of every fuzz target in the ordinary tests: short.sh FUZZ_BUILD. Always the same inputs follow from the
# committed ones, as many as take about a second; what breaks a target is left in FUZZ_BUILD/crashes. Skipped (77)
# where there is no clang with its fuzzer, hence no build of the targets; the committed inputs are replayed all the same.
build=$1 source=$(cd "$(dirname "$0")/../.." && pwd)
if ! ls "$build"/fuzz_json >/dev/null 2>&1; then
    echo "skipped: no fuzz targets in $build (they need clang and libclang-rt; make fuzzers)"
    exit 77
fi
# AddressSanitizer of clang 14 does not start on kernels that spread maps over 32 bits, unless they are told not to.
plain=
if setarch "$(uname -m)" -R true 2>/dev/null; then plain="setarch $(uname -m) -R"; fi
mkdir -p "$build/crashes"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
for path in "$source"/tests/fuzz/fuzz_*.c; do
    target=$(basename "$path" .c)
    target=${target#fuzz_}
    case $target in
    npy | settings) runs=30000 ;;
    json | safetensors | command) runs=10000 ;;
    training | prey | snapshot | bundle | http) runs=3000 ;;
    hdf5) runs=30 ;;
    report | zoo | duel) runs=300 ;;
    *) runs=1000 ;;
    esac
    mkdir "$work/$target"
    [ -x "$build/fuzz_$target" ] || continue
    $plain "$build/fuzz_$target" "$work/$target" "$source/tests/data/fuzz/$target" -seed=1 -runs=$runs -timeout=20 -rss_limit_mb=1024 \
        -max_len=16384 -len_control=0 -artifact_prefix="$build/crashes/$target-" >"$work/log" 2>&1 || {
        failed=1
        echo "$target: BROKEN"
        tail -30 "$work/log"
    }
    echo "$target: $(tail -1 "$work/log")"
done
exit $failed
