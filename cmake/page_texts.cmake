# Styles and scripts of pages are files; the libraries hold them as strings.
function(mawam_texts out folder texts into)
  string(REGEX REPLACE "[a-z_]*=([a-z.]*)" "${PROJECT_SOURCE_DIR}/${folder}/\\1" files "${texts}")
  separate_arguments(files)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/${out} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DOUT=${PROJECT_BINARY_DIR}/${out} -DFOLDER=${PROJECT_SOURCE_DIR}/${folder} "-DTEXTS=${texts}"
            -P ${PROJECT_SOURCE_DIR}/cmake/texts.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/texts.cmake)
  set(${into} ${${into}} ${PROJECT_BINARY_DIR}/${out} PARENT_SCOPE)
endfunction()

# The replay page's.
macro(mawam_replay_texts sources)
  mawam_texts(replay_page.c src/env/page "mw_replay_head=head.html mw_replay_scene=scene.js \
mw_replay_drawing=drawing.js mw_replay_panels=panels.js mw_replay_play=play.js" ${sources})
endmacro()
