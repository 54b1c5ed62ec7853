# The files of the live view's page as arrays of the program, and those of the page that plans where there is clang for
# WebAssembly: its modules are built by a build of their own in the folder web.
set(src ${PROJECT_SOURCE_DIR}/src)
set(live_files "${src}/live/page.html|/|text/html,${src}/live/live.css|/live.css|text/css,${src}/live/live.js|/live.js|text/javascript,${src}/live/draw.js|/draw.js|text/javascript,${src}/live/link.js|/link.js|text/javascript")
file(GLOB live_inputs CONFIGURE_DEPENDS ${src}/live/*.html ${src}/live/*.css ${src}/live/*.js)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/live_assets.c VERBATIM
  COMMAND ${CMAKE_COMMAND} -DOUT=${PROJECT_BINARY_DIR}/live_assets.c -DTABLE=mw_live_assets "-DFILES=${live_files}"
          -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${live_inputs} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)

find_program(MAWAM_CLANG clang)
find_program(MAWAM_NODE node)
set(MAWAM_HAVE_WEB FALSE)
if(MAWAM_CLANG AND MAWAM_NODE AND NOT CMAKE_CROSSCOMPILING AND NOT MAWAM_FUZZ)
  file(WRITE ${PROJECT_BINARY_DIR}/CMakeFiles/web.c "int main(void) { return 0; }\n")
  execute_process(COMMAND ${MAWAM_CLANG} --target=wasm32-wasi -mrelaxed-simd web.c -o web.wasm
                  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/CMakeFiles RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(result EQUAL 0)
    set(MAWAM_HAVE_WEB TRUE)
  endif()
endif()
set(web_files "")
set(modules "")
if(MAWAM_HAVE_WEB)
  set(web ${PROJECT_BINARY_DIR}/web)
  set(modules ${web}/mawam.wasm ${web}/mawam-relaxed.wasm)
  file(GLOB_RECURSE web_inputs CONFIGURE_DEPENDS ${src}/*.c ${src}/*.h ${src}/*.js ${src}/*.mjs ${src}/*.html ${src}/*.css ${PROJECT_SOURCE_DIR}/include/*.h)
  list(FILTER web_inputs EXCLUDE REGEX "/src/(behavior|train|report|study|cli)/")
  add_custom_command(OUTPUT ${modules} ${web}/decisions.wasm ${web}/decisions-relaxed.wasm VERBATIM
    COMMAND ${CMAKE_COMMAND} -G Ninja -S ${PROJECT_SOURCE_DIR} -B ${web} -DMAWAM_ONLY=web
            -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/wasm.cmake > ${web}.log
    COMMAND ${CMAKE_COMMAND} --build ${web} > ${web}.log
    DEPENDS ${web_inputs} ${PROJECT_SOURCE_DIR}/cmake/web.cmake ${PROJECT_SOURCE_DIR}/tests/web/decisions.c
    COMMENT "Building the page that plans")
  set(web_files "${src}/web/link.js|link.js|text/javascript,${src}/web/worker.js|worker.js|text/javascript,${web}/mawam.wasm|mawam.wasm|application/wasm,${web}/mawam-relaxed.wasm|mawam-relaxed.wasm|application/wasm")
else()
  message(STATUS "No clang for WebAssembly: no page that plans (Debian packages clang, lld, wasi-libc, libclang-rt-14-dev-wasm32 and nodejs)")
endif()
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/web_assets.c VERBATIM
  COMMAND ${CMAKE_COMMAND} -DOUT=${PROJECT_BINARY_DIR}/web_assets.c -DTABLE=mw_web_assets "-DFILES=${web_files}"
          -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${modules} ${src}/web/link.js ${src}/web/worker.js ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
