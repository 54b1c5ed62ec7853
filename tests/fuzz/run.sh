#!/bin/sh
# Fuzzes every target (or those named) for so many minutes (0: ten seconds) each: run.sh BUILD MINUTES [TARGET...]. What is found
# new is kept in BUILD/corpus, what breaks a target in BUILD/crashes; add the latter to tests/data/fuzz/<target>.
build=$1 minutes=$2
shift 2
source=$(dirname "$0")/../..
[ $# -gt 0 ] || set -- $(ls "$source"/tests/fuzz/fuzz_*.c | sed 's/.*fuzz_\(.*\)\.c/\1/')
mkdir -p "$build/crashes"
failed=0 total=0
for target; do
    more=
    case $target in
    npy) more=$source/tests/data/npy ;;
    behavior) more=$source/behaviors ;;
    hdf5) more=$source/tests/data/import/hdf5 ;;
    esac
    mkdir -p "$build/corpus/$target"
    log=$build/fuzz_$target.log
    "$build/fuzz_$target" "$build/corpus/$target" "$source/tests/data/fuzz/$target" $more \
        -max_total_time=$((minutes > 0 ? minutes * 60 : 10)) -timeout=10 -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1 \
        ${SEED:+-seed=$SEED} -artifact_prefix="$build/crashes/$target-" >"$log" 2>&1
    code=$?
    runs=$(sed -n 's/stat::number_of_executed_units: *//p' "$log")
    total=$((total + ${runs:-0}))
    if [ $code = 0 ]; then
        echo "$target: ${runs:-0} runs, nothing found"
    else
        echo "$target: ${runs:-0} runs, BROKEN: $(grep -m1 'ERROR\|does not hold\|runtime error' "$log")"
        failed=1
    fi
done
echo "$total runs"
exit $failed
