#!/bin/sh
# Plays the newcomer: an installed mawam, another HOME, a folder without a source tree. Runs the blocks of README.md and
# docs/own.md that are marked `<!-- run: NAME -->` as they stand and looks at what comes out. Budgets are tiny unless
# FULL=1, which takes minutes and compares the quickstart's table with results/quickstart.txt to the digit.
set -e
cmake=$1 build=$2 source=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "newcomer.sh: $*"; exit 1; }
"$cmake" --install "$build" --prefix "$folder/prefix" > "$folder/log" || { cat "$folder/log"; exit 1; }
mkdir "$folder/home" "$folder/work"
cd "$folder/work"
export HOME="$folder/home" PREFIX="$folder/prefix"
unset MAWAM_DATA XDG_DATA_HOME

# The program with what makes it quick here; the later value of an option counts.
mawam() {
    less=""
    [ "$FULL" ] || case "$1 $2" in
        "data make") less="--transitions 4000" ;;
        train*) less="--set flow.steps=20 --set inverse.steps=40 --set rwm.steps=40 --set flow.dim=16" ;;
        eval*) less="--episodes 8 --timed 0" ;;
    esac
    "${PROGRAM:-$PREFIX/bin/mawam}" "$@" $less
}
python3() { PYTHONPATH=$source/python PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$@" $([ "$FULL" ] || echo 20); }

# run FILE NAME: the block's lines up to the first that fails; what they print goes to the file NAME.
run() {
    sed -n "/^<!-- run: $2 -->\$/,/^\`\`\`\$/p" "$source/$1" | sed '1,2d; $d' > "$folder/block"
    [ -s "$folder/block" ] || fail "$1 has no block '$2'"
    sed -i 's|^build/mawam|PROGRAM=build/mawam mawam|' "$folder/block"
    set +e
    (set -e; . "$folder/block") > "$folder/$2" 2> "$folder/errors"
    code=$?
    set -e
    [ $code -eq 0 ] || { cat "$folder/errors"; fail "$1: the block '$2' fails"; }
}

# Numbers, signs and runs of spaces do not count.
shape() { sed -E 's/[-+]?[0-9]+(\.[0-9]+)?%?/N/g; s/ +/ /g; /decisions in/d' "$1"; }
table() { sed -n '/^spread-medium (/,$p' "$1" | grep -v 'decisions in'; }

run README.md quickstart
table "$folder/quickstart" > table
if [ "$FULL" ]; then
    diff table "$source/results/quickstart.txt" || fail "the quickstart prints other numbers than the README shows"
else
    shape table > found
    shape "$source/results/quickstart.txt" > expected
    diff found expected || fail "the quickstart prints another table than the README shows"
fi
grep -q "id='data'" mine.html && grep -q '"beside":' mine.html || fail "mine.html is no replay"

run docs/own.md "own data"
grep -q 'agree' "$folder/own data" || fail "the import does not say how far the data agrees: $(cat "$folder/own data")"
grep -q '^plan  *[-0-9]' "$folder/own data" || fail "data of one's own is not played: $(cat "$folder/own data")"

run docs/own.md "own world in C"
grep -qE '^carts: random -[0-9.]+, planned -?[0-9.]+' "$folder/own world in C" || fail "$(cat "$folder/own world in C")"

if /usr/bin/python3 -c 'import numpy' 2> /dev/null; then
    run docs/own.md "own world in Python"
    grep -q 'planned' "$folder/own world in Python" || fail "$(cat "$folder/own world in Python")"
fi

# A method of one's own goes into a copy of the tree. `make` compiles the two files that differ as the build would, and
# links them with the rest of it.
mkdir clone clone/build
cp -r "$source/examples" "$source/src" clone
ln -s "$source/bundles" clone/bundles
make() {
    (
        clone=$PWD
        cd "$build"
        ninja -t commands mawam > "$folder/commands"
        compile=$(grep -- '-c [^ ]*/src/plan/scorers\.c$' "$folder/commands")
        for name in scorers consensus; do
            eval "$(echo "$compile" | sed "s|-MF [^ ]*|-MF $clone/build/$name.d|; s|-o [^ ]*|-o $clone/build/$name.o|
                s|-c [^ ]*|-c $clone/src/plan/$name.c|")"
        done
        eval "$(tail -n 1 "$folder/commands" |
            sed "s|[^ ]*/src/plan/scorers\.c\.o|$clone/build/scorers.o $clone/build/consensus.o|; s| -o [^ ]*| -o $clone/build/mawam|")"
    )
}
cd clone
run docs/own.md "own method"
grep -q 'scorer=consensus' "$folder/own method" && grep -q '^plan  *[-0-9]' "$folder/own method" || fail "$(cat "$folder/own method")"
echo "quickstart, own data, own world, own method: as the README says"
