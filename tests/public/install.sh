#!/bin/sh
# What a user gets by `cmake --install`: every header compiles alone, as strict C11 and as C++, and the examples build
# against the installed headers and library.
set -e
cmake=$1 build=$2 source=$3 cc=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --prefix "$folder" > "$folder/log" || { cat "$folder/log"; exit 1; }
library=$(dirname "$(find "$folder" -name 'libmawam.so' | head -n 1)")
strict="-Wall -Wextra -Werror -pedantic -I$folder/include"
cxx=$(command -v g++ || command -v c++ || true)
for header in "$folder"/include/mawam/*.h; do
    "$cc" -std=c11 $strict -fsyntax-only -x c "$header"
    [ -z "$cxx" ] || "$cxx" -std=c++11 $strict -fsyntax-only -x c++ "$header"
done
for example in "$source"/examples/*.c; do
    "$cc" -std=c11 $strict "$example" -o "$folder/example" -L"$library" -lmawam -lm -Wl,-rpath,"$library"
done
