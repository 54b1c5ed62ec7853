#!/bin/bash
# Provokes failures of the whole program: run.sh BUILD [MOST] [NAME...]. Into each command (all, or those named) at most
# MOST failures of every kind are injected, at places that SEED chooses (0: at all places): memory that runs out, files
# that cannot be opened, read or written, transfers by halves, full disks, death at a call to do with files or at any
# moment, signals, closed and full outputs, many cores, two writers, data that are cut under the reader. What must hold:
# no signal, exit code 0 only with the result of an undisturbed run, nothing left lying about; after death the same
# command (with --resume where there is one) arrives at the same bits. Prints counts, adds them to the file COUNTS if that
# is set, exits 1 on a violation.
build=$(cd "$1" && pwd) most=${2:-0}
shift $(($# > 1 ? 2 : 1))
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
# Not by a child that a signal meets before it has become the program.
trap '[ $BASHPID != $$ ] || { chmod -R u+w "$work"; rm -rf "$work"; }' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1
cp "$build/mawam" . || exit 1 # a build meanwhile does not matter
mawam=$work/mawam
export MAWAM_DATA=$source LC_ALL=C
RANDOM=${SEED:-1}
cc -O2 -D_GNU_SOURCE -fPIC -shared -o failing.so "$source/tests/faults/failing.c" -ldl || exit 1
shim=$work/failing.so
declare -A count=([injected]=0 [files]=0 [disks]=0 [kills]=0 [signals]=0 [outputs]=0 [writers]=0 [cores]=0 [cuts]=0 [violations]=0 [differences]=0)
violation() {
    count[violations]=$((count[violations] + 1))
    echo "VIOLATION: $*"
}

# ---- the commands: words, how they go on after death, and whether their result is that of an undisturbed run

small="--set flow.dim=16 --set flow.mults=1,1,1 --set flow.context=2 --set flow.generated=2 --set flow.forecast=4
 --set flow.batch=4 --set flow.forecast_batch=4 --set inverse.hidden=4 --set inverse.batch=4 --set rwm.hidden=4
 --set rwm.experts=2 --set rwm.batch=4 --set rwm.reward_features=2 --set rwm.dynamics_features=2 --set rwm.shared=4
 --set plan.horizon=2 --set flow.steps=12 --set inverse.steps=12 --set rwm.steps=12"
readers=(info-json info-csv check list describe behaviors behavior-eval verify bench cost bundle-info bundle-csv zoo live)
writers=(play import-madiff import-omar import-hdf5 export make train pack eval sweep diagnose routing behavior-train study report demo)
command_of() {
    case $1 in
    info-json) echo "data info ready --json" ;;
    info-csv) echo "data info ready --csv" ;;
    check) echo "data check ready" ;;
    list) echo "env list --json" ;;
    describe) echo "env describe 3m --json" ;;
    behaviors) echo "behavior list spread" ;;
    behavior-eval) echo "behavior eval $source/behaviors/spread-medium.safetensors --episodes 2 --threads 1" ;;
    verify) echo "verify net golden" ;;
    bench) echo "bench --seconds 0.01 --M 2 --threads 1 --only score --json" ;;
    cost) echo "bench --cost bundle.safetensors --timed 1 --threads 1 --json" ;;
    live) echo "live bundle.safetensors --port 0 --no-open --threads 1" ;;
    bundle-info) echo "bundle info bundle.safetensors" ;;
    bundle-csv) echo "bundle info bundle.safetensors --csv" ;;
    zoo) echo "zoo" ;;
    play) echo "env play spread --episodes 2 --envs 2 --json --replay try/out.html" ;;
    import-madiff) echo "data import --from madiff $source/tests/data/import/madiff/battle -o try/out --task toy" ;;
    import-omar) echo "data import --from omar $source/tests/data/import/omar -o try/out --task toy --episode-limit 5" ;;
    import-hdf5) echo "data import --from hdf5 ready.h5 -o try/out --task toy" ;;
    export) echo "data export --to hdf5 ready -o try/out" ;;
    make) echo "data make spread-medium -o try --transitions 100 --threads 1" ;;
    train) echo "train data/spread-medium -o try/out.safetensors --threads 1 $small" ;;
    pack) echo "bundle pack bundle.safetensors -o try/out --bits 6" ;;
    eval) echo "eval bundle.safetensors --seeds 1 --episodes 1 --M 2 --threads 1 --timed 0 --json=try/out --replay try/out.html" ;;
    sweep) echo "eval bundle.safetensors --sweep M=1,2 --seeds 1 --episodes 1 --timed 0 --threads 1 --json=try/out" ;;
    routing) echo "diagnose --routing bundle.safetensors data/spread-medium --transitions 8 --consecutive 8 --anchors 2
 --threads 1 --json=try/out --page try/out.html" ;;
    diagnose) echo "diagnose bundle.safetensors data/spread-medium --anchors 2 --snippets 16 --M 2 --threads 1 --json=try/out" ;;
    behavior-train) echo "behavior train spread -o try/out --steps 6400 --threads 1" ;;
    study) echo "study run spread-medium --dir try/out --parts main,paper,longer,seeds,routing,selectors,baselines,sweeps
 --transitions 300 --arms reactive,plan --seeds 1 --episodes 1 --anchors 2 --snippets 16 --threads 1 $small
 --baselines bc --set bc.steps=12 --set bc.batch=4" ;;
    report) echo "study report --dir study -o try/out" ;;
    demo) echo "demo bundle.safetensors -o try/out --seeds 1 --M 2 --threads 1" ;;
    esac
}
again_of() {
    case $1 in
    train | behavior-train | study) echo --resume ;;
    play | make | import-* | export | pack | eval | diagnose | routing) echo --overwrite ;;
    esac
}
# What of a result is the same in every run: numbers, not times. Weights are what follows a safetensors header.
weights() { for file; do tail -c +$((9 + $(od -An -tu8 -N8 "$file"))) "$file"; done; }
lasting() { grep -v 'seconds\|"ms\|"p50"\|"p95"\|per_second\|"cpu"\|"time"\|"command"\|"threads"\|"bundle"' "$1" | tr -d ,; }
essence() {
    case $1 in
    bench) grep -c '^}$' text ;;
    cost) grep -c '"M"' text ;;
    live) grep -c '^http://' text ;; # how it answers depends on what fails
    play) [ -s try/out.html ] && lasting text ;;
    import-*) "$mawam" data check try/out >/dev/null 2>&1 && lasting try/out/dataset.json ;;
    export) "$mawam" data import --from hdf5 try/out -o imported --task toy --overwrite >/dev/null 2>&1 && md5sum imported/*.npy ;;
    make) "$mawam" data check try/spread-medium >/dev/null 2>&1 && lasting try/spread-medium/dataset.json ;;
    train) weights try/out.safetensors | md5sum && ! ls try/*.train.safetensors 2>/dev/null ;;
    pack) md5sum try/out ;;
    eval) tail -c 8 try/out.html | grep html && lasting try/out ;;
    routing) tail -c 8 try/out.html | grep html && lasting try/out ;;
    diagnose | sweep) lasting try/out ;;
    behavior-train) weights try/out/snapshots/* | md5sum && tail -1 try/out/curve.jsonl | cut -d, -f1,2 ;;
    study) weights try/out/bundles/spread-medium.safetensors | md5sum && lasting try/out/eval/spread-medium.json &&
        lasting try/out/results/spread-medium.json | grep '"return"\|spearman\|top1' ;;
    report) md5sum try/out/settings.csv try/out/index.html try/out/README.md ;;
    demo) tail -c 8 try/out/index.html && ls try/out ;;
    *) cat text ;;
    esac
}
sound() { essence "$1" >found 2>/dev/null && cmp -s found "whole-$1"; }

# A place of their own for the files of one attempt, and what may not be left in it.
attempt() {
    rm -rf try text && mkdir try
}
run() {
    case $1 in
    live) serve ;;
    *) timeout 600 "$mawam" $(command_of "$1") $2 >text 2>complaint ;;
    esac
}
# A server, asked for all it has and then ended: its own exit code. Only it is to meet failures, not the shell's helpers.
serve() {
    local preload=$LD_PRELOAD pid port path
    LD_PRELOAD=
    : >text
    LD_PRELOAD=$preload timeout 600 "$mawam" $(command_of live) >text 2>complaint &
    pid=$!
    while kill -0 $pid 2>/dev/null && ! port=$(grep -o '[0-9]*/$' text); do sleep 0.01; done
    for path in / /live.js /about /nothing '/command {"do":"step"}' /history /recording '/command {"do":"?"}' \
        '/command {"do":"bundle","name":"bundle.safetensors"}'; do
        [ -n "$port" ] && ask "${port%/}" $path
    done
    kill $pid 2>/dev/null
    wait $pid
}
ask() ( # PORT PATH [BODY]; apart, as a server that hangs up ends whoever writes to it
    exec 9<>"/dev/tcp/127.0.0.1/$1" || exit
    if [ -n "$3" ]; then
        printf 'POST %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nContent-Type: application/json\r\nContent-Length: %s\r\n' "$2" "$1" ${#3}
    else
        printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n' "$2" "$1"
    fi >&9
    printf 'Connection: close\r\n\r\n%s' "$3" >&9
    timeout 10 cat <&9 >answer
) 2>/dev/null
tidy() {
    local left
    # a study's lock stays: several processes share it, and whoever removes it takes it from another
    left=$(find try imported -name '.*' ! -name . -o -name '*.tmp' -o -name '*.lock' ! -name study.lock 2>/dev/null | head -3)
    [ -z "$left" ] || violation "$1: left $left"
}
judge() { # NAME CODE WHAT
    [ "$2" -lt 124 ] || violation "$1: $3: code $2"
    [ "$2" != 0 ] || sound "$1" || violation "$1: $3: code 0 with another result"
    tidy "$1: $3"
}
# Numbers from 1 to $1, at most $2 of them, evenly from a place by chance.
places() {
    local step=1
    [ "$2" = 0 ] || step=$((($1 + $2 - 1) / $2))
    [ $step -gt 0 ] && seq $((RANDOM % step + 1)) $step "$1"
}

# ---- undisturbed runs: what is read, what results are compared with, how many calls there are to break

"$mawam" data import --from madiff "$source/tests/data/import/madiff/battle" -o ready --task toy >/dev/null || exit 1
"$mawam" data export --to hdf5 ready -o ready.h5 >/dev/null 2>&1 || exit 1
"$mawam" data make spread-medium -o data --transitions 300 --threads 1 >/dev/null || exit 1
"$mawam" train data/spread-medium -o bundle.safetensors --threads 1 $small >/dev/null 2>&1 || exit 1
mkdir -p golden study/results
cp -r "$source/tests/data/net/metrics.safetensors" "$source/tests/data/net/normalizer.safetensors" golden
cp "$source/tests/data/fuzz/report/good-ant" study/results/2ant-good.json
declare -A allocations calls
prepare() {
    attempt
    rm -f numbers-*
    FAIL_COUNT=$work/numbers-a FILE_COUNT=$work/numbers-f LD_PRELOAD=$shim run "$1" || violation "$1: undisturbed: $(tail -1 complaint)"
    essence "$1" >"whole-$1" || violation "$1: no result"
    allocations[$1]=$(sort -n numbers-a | tail -1) calls[$1]=$(sort -n numbers-f | tail -1)
    case $1 in import-hdf5 | export) allocations[$1]=2000 calls[$1]=200 ;; esac # most are in a child, which does not count them
    tidy "$1"
}

# ---- the failures

memory() {
    for at in $(places "${allocations[$1]}" "$most"); do
        attempt
        FAIL_AT=$at LD_PRELOAD=$shim run "$1"
        judge "$1" $? "allocation $at"
        count[injected]=$((count[injected] + 1))
    done
}
declare -A once=([import-hdf5]="13 55 57 59") # calls whose failure went unnoticed before: always tried again
files() {
    for what in fail short; do
        for at in $(places "${calls[$1]}" "$most") ${once[$1]}; do
            attempt
            FILE_AT=$at FILE_DO=$what LD_PRELOAD=$shim run "$1"
            judge "$1" $? "call $at: $what"
            count[files]=$((count[files] + 1))
        done
    done
}
disks() {
    for size in $(printf '%s\n' 0 1 2 4 8 16 32 64 128 256 | shuf -n $((most > 0 && most < 10 ? 3 : 10))); do
        attempt
        (
            trap '' XFSZ
            ulimit -f "$size" # kilobytes, of any file
            exec timeout 600 "$mawam" $(command_of "$1")
        ) >text 2>/dev/null
        judge "$1" $? "disk of $size kB"
        count[disks]=$((count[disks] + 1))
    done
}
# After death: the old result, the new one or none; then the same command makes it.
recover() {
    local name=$1 what=$2 more
    case $name in
    train | study | behavior-train | sweep) ;; # what is there is continued
    *) [ ! -e try/out ] && [ ! -e try/spread-medium ] || sound "$name" || [ "$name" = eval ] || [ "$name" = report ] ||
        [ "$name" = demo ] || [ "$name" = play ] || violation "$name: $what: a broken result" ;;
    esac
    more=$(again_of "$name")
    run "$name" "$more" || violation "$name: $what: then code $?: $(tail -1 complaint)"
    sound "$name" || {
        count[differences]=$((count[differences] + 1))
        violation "$name: $what: then another result"
    }
    tidy "$name: $what"
}
kills() {
    local pid at
    rm -f numbers-f
    attempt # again, as time flies there are more checkpoints
    FAST_CLOCK=10000 FILE_COUNT=$work/numbers-f LD_PRELOAD=$shim run "$1"
    at=$(sort -n numbers-f | tail -1)
    [ "$at" -ge "${calls[$1]}" ] || at=${calls[$1]}
    for at in $(places "$at" "$most"); do
        attempt
        FAST_CLOCK=10000 FILE_AT=$at FILE_DO=kill LD_PRELOAD=$shim run "$1" 2>/dev/null
        recover "$1" "killed at call $at"
        count[kills]=$((count[kills] + 1))
    done
    for ((at = 0; at < (most > 0 ? (most + 1) / 2 : 50); at++)); do
        attempt
        FAST_CLOCK=10000 LD_PRELOAD=$shim "$mawam" $(command_of "$1") >text 2>/dev/null &
        pid=$!
        sleep 0.$((RANDOM % 2))$((RANDOM % 10))$((RANDOM % 10))
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        sleep 0.3 # a child of it dies with it
        recover "$1" "killed"
        count[kills]=$((count[kills] + 1))
    done
}
signals() {
    local pid code
    for signal in INT TERM HUP; do
        attempt
        "$mawam" $(command_of "$1") >text 2>/dev/null &
        pid=$!
        sleep 0.0$((RANDOM % 10))$((RANDOM % 10))
        kill -$signal $pid 2>/dev/null
        { wait $pid; } 2>/dev/null
        code=$?
        # before the program listens, a signal ends it as any other
        [ $code = 0 ] || [ $code = 130 ] || [ $code = $((128 + $(kill -l $signal))) ] || violation "$1: SIG$signal: code $code"
        tidy "$1: SIG$signal"
        recover "$1" "SIG$signal"
        count[signals]=$((count[signals] + 1))
    done
}
outputs() {
    attempt
    "$mawam" $(command_of "$1") >/dev/full 2>/dev/null && violation "$1 > /dev/full: code 0"
    attempt
    "$mawam" $(command_of "$1") >&- 2>/dev/null && violation "$1 >&-: code 0"
    attempt
    "$mawam" $(command_of "$1") >text 2>&- <&-
    judge "$1" $? "only standard output open"
    count[outputs]=$((count[outputs] + 3))
}
many_cores() {
    for cores in 17 64; do
        attempt
        FAKE_CORES=$cores LD_PRELOAD=$shim timeout 600 "$mawam" $(command_of "$1" | sed 's/--threads 1//') >text 2>/dev/null
        judge "$1" $? "$cores cores"
        count[cores]=$((count[cores] + 1))
    done
}
# Two at once: one of them may be refused, the result is whole.
two_writers() {
    for ((round = 0; round < (most > 0 && most < 20 ? 2 : 20); round++)); do
        attempt
        "$mawam" $(command_of "$1") $2 >/dev/null 2>&1 &
        local first=$!
        run "$1" "$2"
        wait $first
        sound "$1" || violation "$1: two writers: no sound result"
        tidy "$1: two writers"
        count[writers]=$((count[writers] + 1))
    done
}

# Data files that lose a half at some call to do with files, or, those too large to be copied, at any moment: an error, or
# the result of the undisturbed run.
cuts() {
    local at files
    cp -r "$2" kept
    for at in $(places "${calls[$1]}" "$most"); do
        attempt
        rm -rf "$2" && cp -r kept "$2"
        files=("$2"/*)
        FILE_CUT=${files[RANDOM % ${#files[@]}]} FILE_AT=$at FILE_DO=cut LD_PRELOAD=$shim run "$1"
        judge "$1" $? "data cut at call $at"
        count[cuts]=$((count[cuts] + 1))
    done
    rm -rf "$2" && mv kept "$2"
}
large_cuts() {
    local at pid code
    [ -e large ] || python3 "$source/tests/faults/large.py" data/spread-medium large || exit 1
    for ((at = 0; at < (most > 0 && most < 10 ? 2 : 10); at++)); do
        attempt
        rm -rf cut && cp -r --sparse=always large cut
        timeout 600 "$mawam" $(command_of "$1" | sed 's#data/spread-medium\|ready#cut#') >text 2>complaint &
        pid=$!
        sleep $((RANDOM % 2)).$((RANDOM % 10))
        truncate -s 4096 cut/obs.npy
        wait $pid
        code=$?
        [ $code -lt 2 ] || violation "$1: large data cut: code $code: $(tail -1 complaint)"
        tidy "$1: large data cut"
        count[cuts]=$((count[cuts] + 1))
    done
    rm -rf cut
}

is_in() { case " $2 " in *" $1 "*) ;; *) return 1 ;; esac; }
[ $# -gt 0 ] || set -- "${readers[@]}" "${writers[@]}"
for name; do
    prepare "$name"
    memory "$name"
    files "$name"
    is_in "$name" "${writers[*]}" && disks "$name"
    is_in "$name" "import-madiff import-hdf5 export make train eval sweep behavior-train study report" && kills "$name"
    is_in "$name" "${writers[*]}" && signals "$name"
    is_in "$name" "info-json check export" && cuts "$name" ready
    is_in "$name" "train diagnose routing" && cuts "$name" data/spread-medium
    is_in "$name" "check train diagnose" && large_cuts "$name"
    is_in "$name" "info-json info-csv bundle-info bundle-csv zoo check list describe behaviors verify behavior-eval" && outputs "$name"
    is_in "$name" "make train eval diagnose behavior-eval" && many_cores "$name"
    is_in "$name" "import-madiff make train" && two_writers "$name" "$([ "$name" = train ] || echo --overwrite)"
    echo "$name: ${allocations[$name]} allocations, ${calls[$name]} calls; violations so far: ${count[violations]}"
done
echo "allocations that failed: ${count[injected]}; calls that failed or came by halves: ${count[files]}; full disks: ${count[disks]};" \
    "kills: ${count[kills]}; signals: ${count[signals]}; outputs: ${count[outputs]}; fake machines: ${count[cores]};" \
    "two writers: ${count[writers]}; data cut: ${count[cuts]}; different bits: ${count[differences]}; violations: ${count[violations]}"
[ -z "$COUNTS" ] || for key in "${!count[@]}"; do echo "$key ${count[$key]}"; done >>"$COUNTS"
[ "${count[violations]}" = 0 ]
