#!/bin/sh
# The Python package by pip without a network, and no variable set: it finds the library that `make install` put below
# ~/.local, and one whose program is on PATH. Without any library it says where it looked.
set -e
cmake=$1 build=$2 source=$3
/usr/bin/python3 -c 'import numpy, ensurepip, venv' 2> /dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "pip.sh: $*"; exit 1; }
mkdir "$folder/home" "$folder/other"
"$cmake" --install "$build" --prefix "$folder/prefix" > "$folder/log" || { cat "$folder/log"; exit 1; }
cp -r "$source/python" "$folder/package" # pip must not find the tree's own build
/usr/bin/python3 -m venv --system-site-packages "$folder/env"
env -u MAWAM_LIBRARY "$folder/env/bin/python" -m pip --disable-pip-version-check install --no-index --quiet "$folder/package" ||
    fail "pip cannot install the package without a network"
python() { (cd "$folder/other" && env -i HOME="$folder/home" PATH="$1" "$folder/env/bin/python" -c "$2"); }
seen='import mawam; print(mawam._library.library._name, mawam.Bundle("spread-medium").task)'

if [ ! -e /usr/local/lib/libmawam.so ] && ! ldconfig -p | grep -q libmawam; then
    python "$folder/env/bin" "$seen" 2> "$folder/message" && fail "a library is found where none is"
    grep -q "$folder/home/.local/lib/libmawam.so: not there" "$folder/message" || fail "$(cat "$folder/message")"
fi
found=$(python "$folder/prefix/bin:$(getconf PATH)" "$seen") || fail "not found by the program on PATH"
[ "$found" = "$folder/prefix/lib/libmawam.so spread" ] || fail "found $found by the program on PATH"
mkdir "$folder/home/.local"
mv "$folder/prefix"/* "$folder/home/.local"
found=$(python "$(getconf PATH)" "$seen") || fail "not found in ~/.local/lib"
[ "$found" = "$folder/home/.local/lib/libmawam.so spread" ] || fail "found $found in ~/.local"
