# zllm_cargo(<target> <crate folder> [FEATURES <feature>...]): an imported static library that cargo
# builds from the crate, with the system libraries that a Rust static library needs. The crate is
# built once for every kind of build of the C++ side; ZLLM_CARGO_TARGET_DIR in the environment at
# configure time lets several build trees share cargo's folder.
find_program(ZLLM_CARGO cargo HINTS $ENV{CARGO_HOME}/bin $ENV{HOME}/.cargo/bin)

function(zllm_cargo name crate)
  cmake_parse_arguments(ARG "" "" "FEATURES" ${ARGN})
  if(NOT ZLLM_CARGO)
    message(FATAL_ERROR "rust/edge needs cargo (1.88 or newer), which was not found; "
      "-DZLLM_WITH_EDGE=OFF builds without it")
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/${crate})
  if(DEFINED ENV{ZLLM_CARGO_TARGET_DIR})
    set(target_dir $ENV{ZLLM_CARGO_TARGET_DIR})
  else()
    set(target_dir ${PROJECT_SOURCE_DIR}/build/cargo)
  endif()
  list(JOIN ARG_FEATURES "," features)
  set(library ${PROJECT_BINARY_DIR}/lib${name}.a)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/src/*.rs)
  add_custom_command(
    OUTPUT ${library}
    COMMAND ${CMAKE_COMMAND} -E env CARGO_TARGET_DIR=${target_dir}
      ${ZLLM_CARGO} build --release --locked --manifest-path ${folder}/Cargo.toml
      --no-default-features --features "${features}"
    COMMAND ${CMAKE_COMMAND} -E copy ${target_dir}/release/libedge.a ${library}
    DEPENDS ${sources} ${folder}/Cargo.toml ${folder}/Cargo.lock
    COMMENT "cargo: ${crate} (${features})"
    USES_TERMINAL VERBATIM)
  add_custom_target(${name}_cargo DEPENDS ${library})
  add_library(${name} STATIC IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${library}
    INTERFACE_LINK_LIBRARIES "gcc_s;util;rt;pthread;m;dl;c")
  add_dependencies(${name} ${name}_cargo)
endfunction()
