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
    [ -z "$cxx" ] || "$cxx" -std=gnu++17 -Wall -Werror -I"$folder/include" -fsyntax-only -x c++ "$example"
done
# README's C lines, with what stands around them in a program, compile and load an installed bundle.
{
    printf '#include <mawam/mawam.h>\n#include <stdio.h>\n'
    printf 'static int steps;\nstatic bool observe(float (*obs)[33], uint8_t (*legal)[9]) {\n'
    printf '    for (int i = 0; i < 99; i++) (*obs)[i] = 0;\n    for (int i = 0; i < 27; i++) (*legal)[i] = 1;\n'
    printf '    return steps++ < 3;\n}\nstatic float execute(const int32_t *actions) { return (float)actions[0]; }\n'
    printf 'int main(void) {\n'
    sed -n '/^```c$/,/^```$/p' "$source/README.md" | sed '1d; $d'
    printf '    return steps == 4 ? 0 : (puts(error.message), 1);\n}\n'
} > "$folder/readme.c"
"$cc" -std=c11 -Wall -Wextra -Werror -I"$folder/include" "$folder/readme.c" -o "$folder/readme" -L"$library" -lmawam \
    -Wl,-rpath,"$library"
(cd / && env -u MAWAM_DATA HOME="$folder" "$folder/readme") || { echo "install.sh: README's C lines do not work"; exit 1; }
# libmawam-study links by its own pkg-config file, which brings libmawam with it.
printf '#include <mawam/study.h>\nint main(void) { return !mw_study_part_name(0); }\n' > "$folder/study.c"
"$cc" -std=c11 $strict "$folder/study.c" -o "$folder/study" -Wl,-rpath,"$library" \
    $(PKG_CONFIG_PATH=$library/pkgconfig pkg-config --cflags --libs mawam-study)
"$folder/study" || { echo "install.sh: a program with libmawam-study does not run"; exit 1; }
grep -q "Permission is hereby granted" "$folder/share/doc/mawam/copyright" || { echo "install.sh: no licence"; exit 1; }
for page in $(grep -rhoE 'docs/[a-z]+\.md' "$folder/include" "$folder/share/man" | sort -u); do
    [ -f "$folder/share/doc/mawam/$page" ] || { echo "install.sh: $page is named and not installed"; exit 1; }
done
