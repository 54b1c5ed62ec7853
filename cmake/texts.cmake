# Turns files that a page is made of into C strings: cmake -DOUT=page.c -DFOLDER=src/env/page -DTEXTS="symbol=file ..."
# -P texts.cmake. A header of the folder's users declares them.
set(text "/* Made by cmake/texts.cmake. */\n")
separate_arguments(TEXTS)
foreach(row ${TEXTS})
  string(REGEX MATCH "^(.*)=(.*)$" row "${row}")
  set(symbol ${CMAKE_MATCH_1})
  file(READ ${FOLDER}/${CMAKE_MATCH_2} content)
  string(REPLACE "\\" "\\\\" content "${content}")
  string(REPLACE "\"" "\\\"" content "${content}")
  string(REPLACE "\n" "\\n\"\n\"" content "${content}")
  string(APPEND text "extern const char ${symbol}[];\nconst char ${symbol}[] =\n\"${content}\";\n")
endforeach()
file(WRITE ${OUT} "${text}")
