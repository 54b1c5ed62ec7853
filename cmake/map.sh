#!/bin/sh
# Writes the map by which the linker exports libmawam's functions: those of the public headers in a version that all
# releases with one interface share, and what the objects of libmawam-study use besides in a version of this release
# alone, so that the loader refuses a libmawam-study of another one. map.sh NM VERSION HEADERS OUT [OBJECT...]
set -e
nm=$1 version=$2 headers=$3 out=$4
shift 4
names() { sort -u | sed 's/.*/    &;/'; }
public=$(cat "$headers"/*.h | tr '\n' ' ' | grep -oE 'MW_API [^(;]*[(]' | grep -oE 'mw_[a-z0-9_]+ *[(]$' | tr -d ' (')
{
    echo "MAWAM_${version%.*} {"
    echo "  global:"
    echo "$public" | names
    echo "  local: *;"
    echo "};"
    if [ $# -gt 0 ]; then
        echo "MAWAM_INTERNAL_$version {"
        { "$nm" -g --defined-only "$@" | awk 'NF > 2 { print $3, "here" }'; echo "$public" | sed 's/$/ here/'
          "$nm" -u "$@" | awk '$2 ~ /^mw_/ { print $2, "asked" }'; } |
            awk '$2 == "here" { here[$1] = 1 } $2 == "asked" { asked[$1] = 1 }
                 END { for (name in asked) if (!(name in here)) print name }' | names
        echo "};"
    fi
} > "$out.new"
mv "$out.new" "$out"
