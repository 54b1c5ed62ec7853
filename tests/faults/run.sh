#!/bin/bash
# Provokes failures of the whole program: run.sh BUILD [STRIDE]. Memory that runs out at every STRIDE-th allocation
# (1: all) of each command, full disks of many sizes, kills at random moments, closed and full outputs, two writers.
# What must hold: no signal, and exit code 0 only with a result that passes its check. Prints counts; exits 1 on a
# violation.
build=$(cd "$1" && pwd) stride=${2:-1}
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1
mawam=$build/mawam
cc -O2 -fPIC -shared -o failing.so "$source/tests/faults/failing.c" || exit 1
violations=0
violation() {
    violations=$((violations + 1))
    echo "VIOLATION: $*"
}

# prepare: what the commands below read
"$mawam" data import --from madiff "$source/tests/data/import/madiff/battle" -o ready --task toy >/dev/null || exit 1
"$mawam" data export --to hdf5 ready -o ready.h5 >/dev/null 2>&1 || exit 1

# Commands, and how their result is checked. "out" is the file or folder they make, "text" what they print.
names=(info-json check list describe play import-madiff import-omar import-hdf5 export)
command_of() {
    case $1 in
    info-json) echo "data info ready --json" ;;
    check) echo "data check ready" ;;
    list) echo "env list --json" ;;
    describe) echo "env describe 3m --json" ;;
    play) echo "env play spread --episodes 2 --envs 2 --json --replay out" ;;
    import-madiff) echo "data import --from madiff $source/tests/data/import/madiff/battle -o out --task toy" ;;
    import-omar) echo "data import --from omar $source/tests/data/import/omar -o out --task toy --episode-limit 5" ;;
    import-hdf5) echo "data import --from hdf5 ready.h5 -o out --task toy" ;;
    export) echo "data export --to hdf5 ready -o out" ;;
    esac
}
sound() {
    case $1 in
    import-*) "$mawam" data check out >/dev/null 2>&1 && cmp -s out/dataset.json "whole-$1/dataset.json" ;;
    export) "$mawam" data import --from hdf5 out -o again --task toy --overwrite >/dev/null 2>&1 ;;
    play) [ -s out ] && grep -q return_error text ;;
    *) cmp -s text "whole-$1" ;;
    esac
}
clean() {
    rm -rf out again
    ls -A | grep -q '^\.' && violation "$1 left $(ls -A | grep '^\.' | head -3)"
    ls -A | grep '^\.' | xargs -r rm -rf
}

# ---- memory
injected=0
for name in "${names[@]}"; do
    command=$(command_of "$name")
    rm -f count
    FAIL_COUNT=$work/count LD_PRELOAD=$work/failing.so "$mawam" $command >text 2>/dev/null || violation "$name without faults"
    calls=$(sort -n count | tail -1)
    case $name in import-hdf5 | export) calls=2000 ;; esac # most are in a child, which does not count them
    case $name in
    import-*) rm -rf "whole-$name" && mv out "whole-$name" ;;
    export | play) ;;
    *) cp text "whole-$name" ;;
    esac
    rm -rf out
    for ((at = 1; at <= calls; at += stride)); do
        FAIL_AT=$at LD_PRELOAD=$work/failing.so timeout 60 "$mawam" $command >text 2>/dev/null
        code=$?
        injected=$((injected + 1))
        [ $code -ge 124 ] && violation "$name: allocation $at: code $code"
        [ $code = 0 ] && ! sound "$name" && violation "$name: allocation $at: code 0 with a broken result"
        clean "$name: allocation $at"
    done
    echo "$name: $calls allocations"
done
echo "memory: $injected failures injected"

# ---- full disks (file sizes limited; the shell's limit counts kilobytes)
for name in import-madiff import-hdf5 export play; do
    for size in 0 1 2 4 8 16 32 64 128; do
        (trap '' XFSZ; ulimit -f $size; exec timeout 60 "$mawam" $(command_of "$name")) >/dev/null 2>&1
        code=$?
        [ $code -ge 124 ] && violation "$name: disk of $size kB: code $code"
        [ $code = 0 ] && case $name in import-* | export) sound "$name" || violation "$name: disk of $size kB: broken" ;; esac
        clean "$name: disk of $size kB"
    done
done

# ---- outputs
for name in info-json check list describe; do
    "$mawam" $(command_of "$name") >/dev/full 2>/dev/null && violation "$name > /dev/full: code 0"
    "$mawam" $(command_of "$name") >&- 2>/dev/null && violation "$name >&-: code 0"
done

# ---- kills: what is left is the old result, the new one or none, and the next run cleans up
kills=0
for ((round = 0; round < 200 / stride + 5; round++)); do
    for name in import-madiff import-hdf5 export; do
        "$mawam" $(command_of "$name") >/dev/null 2>&1 &
        pid=$!
        sleep 0.00$((RANDOM % 10))$((RANDOM % 10))
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        kills=$((kills + 1))
        sleep 0.005 # a child of it dies with it
        [ -e out ] && ! sound "$name" && violation "$name: killed: broken result"
        rm -rf out again
    done
done
for name in export import-madiff; do
    rm -rf out
    "$mawam" $(command_of "$name") >/dev/null 2>&1
done
clean "after kills"
echo "kills: $kills"

# ---- two writers of one target: one of them may lose, the result is whole
for ((round = 0; round < 20; round++)); do
    "$mawam" $(command_of import-madiff) --overwrite >/dev/null 2>&1 &
    first=$!
    "$mawam" $(command_of import-madiff) --overwrite >/dev/null 2>&1
    wait $first
    "$mawam" data check out >/dev/null 2>&1 || violation "two writers: no sound dataset"
    clean "two writers"
done

echo "violations: $violations"
[ $violations = 0 ]
