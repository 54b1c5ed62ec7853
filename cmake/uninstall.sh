#!/bin/sh
# Removes the files that a manifest of `make install` lists, below DESTDIR if one is named, and the folders that were
# mawam's own. Folders that it shares with others stay.
set -e
manifest=$1 root=$2
while read -r file || [ -n "$file" ]; do
    rm -f "$root$file"
    folder=$(dirname "$root$file")
    while case $folder in */mawam | */mawam/*) true ;; *) false ;; esac; do
        rmdir "$folder" 2> /dev/null || break
        folder=$(dirname "$folder")
    done
done < "$manifest"
