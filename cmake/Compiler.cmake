# Flags of every target: warnings are errors, no contraction of a*b+c outside kernels, sanitizers by option.
find_program(ZLLM_CCACHE ccache)
if(ZLLM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${ZLLM_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ZLLM_CCACHE})
endif()
find_program(ZLLM_MOLD mold)
if(ZLLM_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# -Wpsabi only repeats that GCC changed how it passes vectors; nothing here crosses such a border.
add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wold-style-cast -Wimplicit-fallthrough -Wextra-semi -Werror -Wno-psabi
  -ffp-contract=off -fno-plt -ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fconcepts-diagnostics-depth=2)
endif()
add_link_options(-Wl,--gc-sections)

if(ZLLM_SANITIZER)
  add_compile_options(-fsanitize=${ZLLM_SANITIZER} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ZLLM_SANITIZER})
endif()
