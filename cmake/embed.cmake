# Turns the live view's files into one C file of arrays: cmake -DOUT=assets.c -DFOLDER=src/live -P embed.cmake
set(text "/* Made from the files of src/live by cmake/embed.cmake. */\n#include \"live/assets.h\"\n\n")
set(table "const mw_live_asset mw_live_assets[] = {\n")
foreach(row "page.html|/|text/html; charset=utf-8" "live.css|/live.css|text/css; charset=utf-8"
            "live.js|/live.js|text/javascript; charset=utf-8" "draw.js|/draw.js|text/javascript; charset=utf-8"
            "link.js|/link.js|text/javascript; charset=utf-8")
  string(REPLACE "|" ";" row "${row}")
  string(REPLACE "; charset" "\\; charset" row "${row}")
  list(GET row 0 name)
  list(GET row 1 path)
  list(GET row 2 type)
  file(READ ${FOLDER}/${name} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  string(REPLACE "." "_" symbol ${name})
  string(APPEND text "static const unsigned char ${symbol}[] = {\n${bytes}\n};\n\n")
  string(APPEND table "    {\"${path}\", \"${type}\", ${symbol}, sizeof ${symbol}},\n")
endforeach()
file(WRITE ${OUT} "${text}${table}    {0}};\n")
