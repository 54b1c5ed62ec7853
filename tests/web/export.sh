#!/bin/sh
# `mawam live --export`: the file holds the bundle to the byte, is not written over what is there, and Ant is refused.
# usage: export.sh PROGRAM SOURCE FOLDER
set -e
mawam=$1 source=$2 folder=$3 bundle=$2/bundles/spread-medium.safetensors
fail() { echo "export.sh: $*"; exit 1; }
rm -rf "$folder"
mkdir -p "$folder"
"$mawam" live "$bundle" --export "$folder/page.html" --seed 3
sed -n 's|^"bundles/spread-medium.safetensors":"\(.*\)"}</script>$|\1|p' "$folder/page.html" | base64 -d | cmp - "$bundle" || fail "another bundle"
sed -n 's|.*"bundles.json":"\([^"]*\)".*|\1|p' "$folder/page.html" | base64 -d | grep -q '"seed":3}' || fail "another seed"
[ "$(grep -o '<script' "$folder/page.html" | wc -l) $(grep -o '</script' "$folder/page.html" | wc -l)" = "3 3" ] || fail "a script ends too soon"
for module in mawam mawam-relaxed; do
    sed -n 's|^"'$module'.wasm":"\(.*\)",$|\1|p' "$folder/page.html" | base64 -d | head -c 4 | grep -q asm || fail "no $module.wasm"
done
if "$mawam" live "$bundle" --export "$folder/page.html" 2> "$folder/why"; then fail "it wrote over a file"; fi
grep -q overwrite "$folder/why" || fail "$(cat "$folder/why")"
"$mawam" live "$bundle" --export "$folder/page.html" --overwrite
if "$mawam" live "$source/bundles/2ant-medium.safetensors" --export "$folder/ant.html" 2> "$folder/why"; then fail "Ant was exported"; fi
grep -q MuJoCo "$folder/why" || fail "$(cat "$folder/why")"
if "$mawam" live "$source/README.md" --export "$folder/no.html" 2> "$folder/why"; then fail "no bundle was exported"; fi
[ ! -e "$folder/no.html" ] && [ ! -e "$folder/ant.html" ] || fail "a refused file was written"
rm -r "$folder"
