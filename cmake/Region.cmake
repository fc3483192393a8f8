# Whether a header's own source begins with it: then it compiles alone once that source compiles.
function(zllm_begins_its_source result header include)
  string(REGEX REPLACE "\\.h$" ".cpp" source ${header})
  set(first)
  if(EXISTS ${source})
    file(STRINGS ${source} first REGEX "^#include" LIMIT_COUNT 1)
  endif()
  string(COMPARE EQUAL "${first}" "#include <${include}>" same)
  set(${result} ${same} PARENT_SCOPE)
endfunction()

# zllm_region(<folder under src> [PUBLIC <region>...] [PRIVATE <region>...] [LIBRARIES <target>...]
#             [SOURCES <file>...] [FLAGS <flag>...])
#
# Makes one static library of the .cpp files of a folder (not of its subfolders) and gives it a
# private include root that holds links to that folder's headers alone. A region sees its own root
# and those of the regions it lists, so an include over an edge that is not listed stops the build
# with "No such file or directory". PUBLIC edges are those that the region's headers need.
# The region's target is its folder with "/" turned into "_". Files *_test.cpp become its tests.
function(zllm_region folder)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE;LIBRARIES;SOURCES;FLAGS" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  set(source_root ${PROJECT_SOURCE_DIR}/src/${folder})
  set(include_root ${PROJECT_BINARY_DIR}/include/${name})

  file(GLOB headers CONFIGURE_DEPENDS ${source_root}/*.h)
  if(ARG_SOURCES)
    list(TRANSFORM ARG_SOURCES PREPEND ${source_root}/)
    set(sources ${ARG_SOURCES})
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${source_root}/*.cpp)
  endif()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")

  file(REMOVE_RECURSE ${include_root})
  file(MAKE_DIRECTORY ${include_root}/zllm/${folder})
  set(lone_headers)
  foreach(header IN LISTS headers)
    get_filename_component(file ${header} NAME)
    file(CREATE_LINK ${header} ${include_root}/zllm/${folder}/${file} SYMBOLIC)
    zllm_begins_its_source(begins ${header} zllm/${folder}/${file})
    # With private regions or flags a source sees more than who includes the header.
    if(NOT file MATCHES "-inl\\.h$" AND (ARG_PRIVATE OR ARG_FLAGS OR NOT begins))
      list(APPEND lone_headers ${include_root}/zllm/${folder}/${file})
    endif()
  endforeach()

  list(TRANSFORM ARG_PUBLIC REPLACE "/" "_")
  list(TRANSFORM ARG_PRIVATE REPLACE "/" "_")
  if(sources)
    add_library(${name} STATIC ${sources})
    set(scope PUBLIC)
    target_compile_options(${name} PRIVATE ${ARG_FLAGS})
    target_link_libraries(${name} PRIVATE ${ARG_PRIVATE})
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope} ${include_root})
  target_link_libraries(${name} ${scope} ${ARG_PUBLIC} ${ARG_LIBRARIES})
  if(lone_headers)
    target_sources(${name} ${scope} FILE_SET HEADERS BASE_DIRS ${include_root} FILES ${lone_headers})
    set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
  set_property(GLOBAL APPEND PROPERTY ZLLM_REGIONS ${name})

  if(ZLLM_WITH_TESTS AND tests)
    zllm_test(${name}_test SOURCES ${tests} LIBRARIES ${name} ${ARG_PUBLIC} ${ARG_PRIVATE})
  endif()
endfunction()
