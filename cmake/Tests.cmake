# zllm_test(<name> SOURCES <file>... LIBRARIES <target>...): one GoogleTest program; each of its
# tests becomes a ctest test, found when ctest runs so that cross builds need not start it.
# Tests run in the source root, so fixtures are opened by their path in the repository.
if(ZLLM_WITH_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

function(zllm_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  # What is tested is optimised; the tests themselves run for milliseconds, and optimising them takes
  # a third of their compile time with GCC, two thirds with clang's sanitizers.
  target_compile_options(${name} PRIVATE -O0)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}."
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES TIMEOUT 120)
endfunction()
