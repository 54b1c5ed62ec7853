#!/bin/sh
# Both shared libraries export what the public headers declare, each function once; besides, libmawam exports in a version
# of its own what libmawam-study uses of its inside, and nothing else. libmawam alone has the functions of mawam/mawam.h.
nm=$1 headers=$2 library=$3 study=$4
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT || exit 1
cd "$folder" || exit 1
fail() { echo "exports.sh: $*"; exit 1; }
declared() { cat "$@" | tr '\n' ' ' | grep -oE 'MW_API [^(;]*[(]' | grep -oE 'mw_[a-z0-9_]+ *[(]$' | tr -d ' (' | sort; }
exported() { "$nm" -D --defined-only --with-symbol-versions "$1" | awk '{ print $NF }' | grep -vE '^(__bss_start|_edata|_end)$|^MAWAM_'; }
exported "$library" | grep '@@MAWAM_[0-9]' | sed 's/@.*//' | sort > public
exported "$library" | grep '@@MAWAM_INTERNAL_[0-9]' | sed 's/@.*//' | sort > internal
exported "$library" | grep -v '@@MAWAM_' && fail "libmawam exports these without a version"
exported "$study" | sort > study
declared "$headers"/*.h > declared
[ "$(wc -l < declared)" -gt 50 ] || fail "found too few declarations in $headers"
sort public study | diff - declared || fail "(<: exported but not declared with MW_API; >: declared but not exported)"
declared $(grep -o 'mawam/[a-z]*[.]h' "$headers/mawam.h" | grep -vxE 'mawam/(mawam|study)[.]h' | sort -u |
    sed "s|^mawam|$headers|") | diff public - || fail "(<: in libmawam, not in mawam.h; >: declared there, not in libmawam)"
"$nm" -D --undefined-only --with-symbol-versions "$study" | grep -oE 'mw_[a-z0-9_]+@MAWAM_INTERNAL_' | sed 's/@.*//' | sort |
    diff internal - || fail "(<: internal and exported for nobody; >: used by libmawam-study without being exported)"
echo "libmawam: $(wc -l < public) functions, and $(wc -l < internal) inner ones for libmawam-study; that: $(wc -l < study)"
