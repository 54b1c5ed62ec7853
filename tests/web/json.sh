#!/bin/sh
# The JSON of the module for browsers accepts, refuses and prints what Jansson does: texts of the fuzzers, and some more.
# usage: json.sh ECHO-WITH-JANSSON ECHO-WITH-OURS SOURCE FOLDER
set -e
jansson=$1 ours=$2 source=$3 folder=$4
rm -rf "$folder"
mkdir -p "$folder"
number=0
add() { number=$((number + 1)); printf "$1" > "$folder/$number"; }
add '{"a": 1, "b": [true, false, null], "c": {"d": "e"}}'
add '[0, -0, 1.5, -2e3, 1E+2, 1e-400, 0.1, 9007199254740993, -9223372036854775808, 123456789012345680000.0]'
for bad in '[01]' '[1.]' '[.5]' '[+1]' '[1e]' '[9223372036854775808]' '[1e999]' '[1,]' '[,1]' '{"a" 1}' '{"a":1,}' '{a:1}' '{"a":1,"a":2}' \
    '[1] 2' '' ' ' '1' '"a"' '[' '{' '[nul]' '[truefalse]' '["a]' '[NaN]' '{"":0}' '[[]]' '[{}]' '["\\x"]' '["\\u12"]' '["\\ud800"]' \
    '["\\udc00"]' '["\\ud83d\\ude00"]' '["\\ud83dx"]' '["\\u00e9\\u20ac\\u0041"]' '["\\u0000"]' '["\\b\\f\\n\\r\\t\\"\\\\\\/\\u001f\\u007f"]' \
    '["\001"]' '["\n"]' '["\303\251"]' '["\303"]' '["\300\200"]' '["\355\240\200"]' '["\364\220\200\200"]' '["\360\237\230\200"]' '["\377"]' '[1]\n\t '; do
    add "$bad"
done
for file in "$folder"/* "$source"/tests/data/fuzz/json/*; do
    "$jansson" "$file" > "$folder.wanted"
    "$ours" "$file" > "$folder.found"
    cmp -s "$folder.wanted" "$folder.found" || { echo "json.sh: $file:"; cat "$file"; diff "$folder.wanted" "$folder.found" | head -4; exit 1; }
done
echo "$number texts alike, $("$ours" "$folder"/* | grep -c refused) of them refused"
rm -r "$folder" "$folder.wanted" "$folder.found"
