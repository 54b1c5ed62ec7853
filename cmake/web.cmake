# The modules of the page that plans: mawam.wasm runs in every browser of today, mawam-relaxed.wasm where relaxed SIMD
# has a fused multiply-add. The library is what src/ has, as far as a page can use it; the linker leaves out the rest.
find_path(MAWAM_JANSSON jansson.h PATHS /usr/include REQUIRED) # its interface alone: src/web/json.c is what stands behind it
find_path(MAWAM_JANSSON_CONFIG jansson_config.h PATHS /usr/include PATH_SUFFIXES ${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu REQUIRED)
find_program(MAWAM_NODE node REQUIRED)
configure_file(${MAWAM_JANSSON}/jansson.h ${PROJECT_BINARY_DIR}/include/jansson.h COPYONLY)
configure_file(${MAWAM_JANSSON_CONFIG}/jansson_config.h ${PROJECT_BINARY_DIR}/include/jansson_config.h COPYONLY)

file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
list(FILTER sources INCLUDE REGEX "/src/(core|nn|env|data|model|plan|web)/|/src/eval/arms[.]c|/src/live/(commands|duel|frame|moment|recording|stage|tally)[.]c")
list(FILTER sources EXCLUDE REGEX
  "/src/web/web[.]c|/src/(env/ant|data/exchange)/|/src/data/(prefetch|report|writer)[.]c|/src/core/(file|log|pool|turns)[.]c|/src/nn/(kernels|level)[.]c|/src/core/machine/(child|guard|loaded|memory|place)[.]c")
set(hot ${sources})
list(FILTER hot INCLUDE REGEX "/src/nn/(adam_update|attention|dense_run|gemm|ops)[.]c$")
list(REMOVE_ITEM sources ${hot})
include(cmake/page_texts.cmake)
mawam_replay_texts(sources)
set_source_files_properties(src/plan/provenance.c PROPERTIES COMPILE_DEFINITIONS "MAWAM_REVISION=\"${MAWAM_REVISION}\"")

add_library(web_flags INTERFACE)
target_include_directories(web_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                           ${PROJECT_SOURCE_DIR}/src/web/alone ${PROJECT_BINARY_DIR}/include)
target_compile_definitions(web_flags INTERFACE _GNU_SOURCE MAWAM_ONE_LEVEL=1 MAWAM_ONLY_LEVEL="wasm" MAWAM_NO_TRAINING=1 NDEBUG)
target_compile_options(web_flags INTERFACE -nostdlibinc -isystem /usr/include/wasm32-wasi -msimd128 -ffunction-sections
                       -fdata-sections -fno-math-errno -fno-trapping-math -ffp-contract=off -Wall -Wextra
                       -Wno-missing-field-initializers)

# Small where it does not matter, fast where it does.
add_library(web_objects OBJECT ${sources})
target_link_libraries(web_objects PRIVATE web_flags)
target_compile_options(web_objects PRIVATE -Oz -g0)

# usage: web_module(NAME OBJECTS LINK-OPTIONS...): NAME.wasm of the objects, and NAME-relaxed.wasm, whose instructions of
# relaxed SIMD get today's codes: clang 14 writes those of the proposal.
function(web_module name objects)
  foreach(level simd relaxed)
    set(module ${name})
    if(level STREQUAL relaxed)
      set(module ${name}-relaxed)
    endif()
    add_executable(${module} ${objects} $<TARGET_OBJECTS:web_objects> $<TARGET_OBJECTS:web_hot_${level}>)
    set_target_properties(${module} PROPERTIES SUFFIX .wasm)
    target_link_libraries(${module} PRIVATE web_flags)
    target_link_options(${module} PRIVATE -Wl,--gc-sections,--strip-all,--stack-first -z stack-size=1048576 ${ARGN})
    if(level STREQUAL relaxed)
      add_custom_command(TARGET ${module} POST_BUILD VERBATIM
        COMMAND ${MAWAM_NODE} ${PROJECT_SOURCE_DIR}/src/web/mend.mjs $<TARGET_FILE:${module}>)
    endif()
  endforeach()
endfunction()

set(flags_simd "")
set(flags_relaxed -mrelaxed-simd)
foreach(level simd relaxed)
  add_library(web_hot_${level} OBJECT ${hot})
  target_link_libraries(web_hot_${level} PRIVATE web_flags)
  target_compile_definitions(web_hot_${level} PRIVATE MW_LEVEL=only)
  target_compile_options(web_hot_${level} PRIVATE -O3 -g0 ${flags_${level}})
endforeach()

add_library(web_page OBJECT src/web/web.c)
target_link_libraries(web_page PRIVATE web_flags)
target_compile_options(web_page PRIVATE -Oz -g0)
web_module(mawam $<TARGET_OBJECTS:web_page> -mexec-model=reactor)

# The page with everything that it fetches, for any server of files: `make web`.
set(site ${PROJECT_BINARY_DIR}/site)
file(GLOB bundles CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bundles/*.safetensors)
list(FILTER bundles EXCLUDE REGEX "ant-[a-z]*[.]safetensors$") # Ant needs MuJoCo
list(TRANSFORM bundles REPLACE ".*/(.*)" "\"\\1\"" OUTPUT_VARIABLE names)
list(JOIN names ", " names)
file(WRITE ${PROJECT_BINARY_DIR}/bundles.json "{\"bundles\": [${names}], \"first\": \"spread-medium.safetensors\", \"seed\": 0}\n")
set(page ${PROJECT_SOURCE_DIR}/src/live/live.css ${PROJECT_SOURCE_DIR}/src/live/live.js ${PROJECT_SOURCE_DIR}/src/live/draw.js
    ${PROJECT_SOURCE_DIR}/src/web/link.js ${PROJECT_SOURCE_DIR}/src/web/worker.js)
add_custom_target(site ALL VERBATIM
  COMMAND ${CMAKE_COMMAND} -E make_directory ${site}/bundles
  COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/src/live/page.html ${site}/index.html
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${page} ${PROJECT_BINARY_DIR}/bundles.json
          $<TARGET_FILE:mawam> $<TARGET_FILE:mawam-relaxed> ${site}
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${bundles} ${site}/bundles)

# For tests/web/decisions.mjs.
add_library(web_decisions OBJECT tests/web/decisions.c)
target_link_libraries(web_decisions PRIVATE web_flags)
target_compile_options(web_decisions PRIVATE -Os)
web_module(decisions $<TARGET_OBJECTS:web_decisions>)
