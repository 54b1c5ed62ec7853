# Writes the header of a library that is loaded when it is asked for: a table with a pointer for every name in LIST, and
# macros that send each use of a name through it. The names themselves are MW_<KIND>_NAMES, for mw_loaded.
#   mawam_loaded(KIND HEADER LIST OUT)
function(mawam_loaded kind header list out)
  file(STRINGS ${list} names)
  string(TOUPPER ${kind} upper)
  set(members "")
  set(texts "")
  set(macros "")
  foreach(name ${names})
    string(APPEND members "    __typeof__(${name}) *${name};\n")
    string(APPEND texts " \"${name}\",")
    string(APPEND macros "#define ${name} (*mw_${kind}_table.${name})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT "/* Written by cmake/loaded.cmake. */
#ifndef MW_LOADED_@upper@_H
#define MW_LOADED_@upper@_H

#include <@header@>

typedef struct mw_@kind@_names {
@members@} mw_@kind@_names;
extern mw_@kind@_names mw_@kind@_table;

#define MW_@upper@_NAMES@texts@ NULL

@macros@
#endif
")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
endfunction()
