#!/bin/sh
# The planner alone (-DMAWAM_ONLY=plan): builds without HDF5 and MuJoCo, links into a static program that needs no
# library at all, and decides as the whole library does, bit for bit.
set -e
cmake=$1 build=$2 source=$3 cc=$4 folder=$5
fail() { echo "slim.sh: $*"; exit 1; }
[ -f "$(pkg-config --variable=libdir jansson)/libjansson.a" ] || exit 77
"$cmake" -G Ninja -S "$source" -B "$folder" -DMAWAM_ONLY=plan -DMAWAM_WERROR=ON -DCMAKE_C_COMPILER="$cc" > "$folder.log" ||
    { cat "$folder.log"; exit 1; }
"$cmake" --build "$folder" > "$folder.log" || { tail -n 40 "$folder.log"; exit 1; }
"$cc" -O2 -I"$source/include" -static -Wl,--gc-sections "$source/examples/plan_outside.c" "$folder/libmawam.a" \
    "$(pkg-config --variable=libdir jansson)/libjansson.a" -lpthread -lm -o "$folder/plan_static"
strip "$folder/plan_static"
! ldd "$folder/plan_static" 2> /dev/null | grep -q '=>' || fail "the program needs libraries"
if nm -D --undefined-only "$folder/libmawam.so" | grep -qE ' (H5|mj)'; then fail "HDF5 or MuJoCo is still needed"; fi
bundle=$source/bundles/spread-medium.safetensors
LC_ALL=C awk 'BEGIN { for (t = 0; t < 3; t++) for (i = 0; i < 54; i++) printf "%g%s", (i * 7 + t) % 11 / 10, i < 53 ? " " : "\n" }' > "$folder/obs"
"$folder/plan_static" "$bundle" < "$folder/obs" > "$folder/slim.txt"
"$build/examples/plan_outside" "$bundle" < "$folder/obs" > "$folder/whole.txt"
[ "$(wc -l < "$folder/slim.txt")" -eq 3 ] || fail "no decisions"
cmp "$folder/slim.txt" "$folder/whole.txt" || fail "the slim planner decides otherwise"
size=$(wc -c < "$folder/plan_static")
echo "static program with the planner: $size bytes; shared library: $(strip -o "$folder/so" "$folder/libmawam.so" && wc -c < "$folder/so") bytes"
[ "$size" -lt 3000000 ] || fail "the static program has $size bytes, more than 3 MB"
