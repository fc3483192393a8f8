# zllm_embed(<target> <name> <header> [<function> <folder>]...)
#
# Adds to the target a generated <name>.cpp that defines each function of the header as a list of
# the folder's *.json, with what they hold: programs that travel alone carry them. Files are told
# apart by their names in the folder.
function(zllm_embed target name header)
  set(output ${PROJECT_BINARY_DIR}/embedded/${name}.cpp)
  set(inputs)
  set(folders ${ARGN})
  while(folders)
    list(POP_FRONT folders function folder)
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.json)
    list(APPEND inputs ${files})
  endwhile()
  string(REPLACE ";" "," lists "${ARGN}")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -D OUTPUT=${output} -D HEADER=${header} -D LISTS=${lists}
            -P ${PROJECT_SOURCE_DIR}/cmake/WriteEmbedded.cmake
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    DEPENDS ${inputs} ${PROJECT_SOURCE_DIR}/cmake/WriteEmbedded.cmake VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
