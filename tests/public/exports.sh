#!/bin/sh
# The shared library exports what the public headers declare, and nothing else.
nm=$1 library=$2 headers=$3
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT || exit 1
"$nm" -D --defined-only "$library" | awk '{ print $NF }' | grep -vxE '__bss_start|_edata|_end' | sort > "$folder/exported"
cat "$headers"/*.h | tr '\n' ' ' | grep -oE 'MW_API [^(;]*[(]' | grep -oE 'mw_[a-z0-9_]+ *[(]$' | tr -d ' (' | sort > "$folder/declared"
[ "$(wc -l < "$folder/declared")" -gt 50 ] || { echo "found too few declarations in $headers"; exit 1; }
diff "$folder/exported" "$folder/declared" && exit 0
echo "(<: exported but not declared with MW_API; >: declared but not exported)"
exit 1
