#!/bin/sh
# What a user gets by `cmake --install`: every header compiles alone, as strict C11 and as C++, the examples build
# against the installed headers and library, and the licence and the pages that manual and headers name are there.
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
grep -q "Permission is hereby granted" "$folder/share/doc/mawam/copyright" || { echo "install.sh: no licence"; exit 1; }
for page in $(grep -rhoE 'docs/[a-z]+\.md' "$folder/include" "$folder/share/man" | sort -u); do
    [ -f "$folder/share/doc/mawam/$page" ] || { echo "install.sh: $page is named and not installed"; exit 1; }
done
