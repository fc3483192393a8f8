# The C library as others use it: libzllm.so and libzllm.a, which show the symbols of abi.txt and
# nothing else, with the header, a CMake package and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(abi_version 1)
file(STRINGS ${PROJECT_SOURCE_DIR}/src/embedded/c/abi.txt abi_symbols)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${PROJECT_SOURCE_DIR}/src/embedded/c/abi.txt)
list(JOIN abi_symbols ";\n    " abi_list)
set(version_script ${PROJECT_BINARY_DIR}/zllm.map)
file(CONFIGURE OUTPUT ${version_script} @ONLY
     CONTENT "ZLLM_@abi_version@ {\n  global:\n    @abi_list@;\n  local:\n    *;\n};\n")

add_library(zllm_shared SHARED $<TARGET_OBJECTS:embedded_c>)
target_link_libraries(zllm_shared PRIVATE embedded_c)
target_link_options(zllm_shared PRIVATE -Wl,--version-script=${version_script})
set_target_properties(zllm_shared PROPERTIES OUTPUT_NAME zllm VERSION ${PROJECT_VERSION}
  SOVERSION ${abi_version} LINKER_LANGUAGE CXX LINK_DEPENDS ${version_script}
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
install(TARGETS zllm_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT zllm)

# One object of everything that the library reaches, whose other symbols then become local; so two
# libraries that carry the same code can be linked into one program. GNU ld alone can do it.
find_program(ZLLM_LD NAMES ld.bfd ld)
if(ZLLM_LD AND CMAKE_OBJCOPY AND NOT ZLLM_SANITIZER)
  zllm_link_closure(embedded_c closure)
  set(archives)
  foreach(library IN LISTS closure)
    if(TARGET ${library})
      get_target_property(type ${library} TYPE)
      if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND archives $<TARGET_FILE:${library}>)
        list(APPEND archive_targets ${library})
      endif()
    endif()
  endforeach()
  list(TRANSFORM abi_symbols PREPEND "--undefined=" OUTPUT_VARIABLE roots)
  set(ZLLM_STATIC_LIBRARY ${PROJECT_BINARY_DIR}/lib/libzllm.a)
  set(object ${PROJECT_BINARY_DIR}/lib/zllm.o)
  add_custom_command(
    OUTPUT ${ZLLM_STATIC_LIBRARY}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/lib
    COMMAND ${ZLLM_LD} -r --force-group-allocation --gc-sections ${roots} -o ${object}
            --start-group ${archives} --end-group
    # Rust's own library carries LLVM's code beside the machine's, which tools choke on once joined.
    COMMAND ${CMAKE_OBJCOPY} --remove-section=.llvmbc --remove-section=.llvmcmd
            --keep-global-symbols=${PROJECT_SOURCE_DIR}/src/embedded/c/abi.txt ${object}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${ZLLM_STATIC_LIBRARY}
    COMMAND ${CMAKE_AR} rcs ${ZLLM_STATIC_LIBRARY} ${object}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${object}
    DEPENDS ${archive_targets} ${archives} ${PROJECT_SOURCE_DIR}/src/embedded/c/abi.txt
    COMMENT "libzllm.a" VERBATIM)
  add_custom_target(zllm_static ALL DEPENDS ${ZLLM_STATIC_LIBRARY})
  install(FILES ${ZLLM_STATIC_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT zllm)
endif()

install(FILES ${PROJECT_SOURCE_DIR}/src/embedded/c/zllm.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT zllm)
# What the static library still asks of the system.
set(zllm_private_libraries simdjson stdc++ gcc_s m dl pthread)
list(TRANSFORM zllm_private_libraries PREPEND "-l" OUTPUT_VARIABLE private_flags)
list(JOIN private_flags " " private_flags)
configure_file(cmake/zllm.pc.in ${PROJECT_BINARY_DIR}/zllm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/zllm.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT zllm)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/zllm)
configure_package_config_file(cmake/zllmConfig.cmake.in ${PROJECT_BINARY_DIR}/zllmConfig.cmake
  INSTALL_DESTINATION ${config_folder} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/zllmConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/zllmConfig.cmake ${PROJECT_BINARY_DIR}/zllmConfigVersion.cmake
        DESTINATION ${config_folder} COMPONENT zllm)
