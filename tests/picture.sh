#!/bin/sh
# The README's picture is what the program draws of a bundle that comes with mawam: `make picture` makes it again.
mawam=$1 source=$2
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT || exit 1
"$mawam" eval "$source/bundles/spread-medium.safetensors" --arms reactive --seeds 1 --episodes 1 --timed 0 --quiet \
    --replay "$folder/spread.svg" > "$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
cmp "$folder/spread.svg" "$source/docs/spread.svg" || { echo "picture.sh: docs/spread.svg is of another bundle; make picture"; exit 1; }
