# The libraries that are installed for C and C++ programs, and their CMake and pkg-config packages.
#
# Install components: `runtime` is libupdraft-runtime.so; `dev` the headers, the static library, and
# what CMake and pkg-config need; `compiler` is libupdraft.so; `client` is libupdraft-client.a with its
# header; `tools` and `dialect` are declared elsewhere.
include(UpdraftStaticClosure)
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Before 1.0 a minor version may change an interface.
set(UPDRAFT_SOVERSION ${PROJECT_VERSION_MAJOR})
if(UPDRAFT_SOVERSION EQUAL 0)
  set(UPDRAFT_SOVERSION 0.${PROJECT_VERSION_MINOR})
endif()
set(UPDRAFT_CMAKE_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/Updraft")

# updraft_add_shared_library(TARGET OUTPUT EXPORTED COMPONENTS LIBRARY [LLVM] OBJECTS ...):
# lib<OUTPUT>.so with these object libraries whole, and what the static library LIBRARY needs. It
# exports the C API only. Installs it for the imported target Updraft::<EXPORTED>. COMPONENTS are that
# of the library and that of the files for building with it.
function(updraft_add_shared_library target output exported components library)
  cmake_parse_arguments(arg "LLVM" "" "OBJECTS" ${ARGN})
  add_library(${target} SHARED)
  foreach(objects IN LISTS arg_OBJECTS)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${output} EXPORT_NAME ${exported}
    VERSION ${PROJECT_VERSION} SOVERSION ${UPDRAFT_SOVERSION}
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  target_include_directories(${target} INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  set(llvm "")
  if(arg_LLVM)
    set(llvm LLVM)
  endif()
  updraft_link_statically(${target} ${library} "${PROJECT_SOURCE_DIR}/runtime/capi/exports.txt" ${llvm})
  target_link_options(${target} PRIVATE -Wl,-z,defs)

  list(GET components 0 component)
  list(GET components 1 dev)
  install(TARGETS ${target} EXPORT Updraft${exported}Targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component} NAMELINK_COMPONENT ${dev})
  install(EXPORT Updraft${exported}Targets NAMESPACE Updraft::
    DESTINATION "${UPDRAFT_CMAKE_DESTINATION}" COMPONENT ${dev})
  set(UPDRAFT_OUTPUT ${output})
  # A package manager may choose another prefix than the one of the build.
  file(RELATIVE_PATH UPDRAFT_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/updraft.pc.in" ${output}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${output}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT ${dev})
endfunction()

# updraft_add_static_library(TARGET OUTPUT COMPONENT LIBRARY): lib<OUTPUT>.a with LIBRARY and all
# static libraries that it needs. Installs it with COMPONENT.
function(updraft_add_static_library target output component library)
  find_program(UPDRAFT_LLVM_AR llvm-ar-22 llvm-ar REQUIRED)
  updraft_static_closure(${library} files shared)
  add_library(${target}_fmt OBJECT "${PROJECT_SOURCE_DIR}/cmake/static-fmt.cpp")
  set(archive "${PROJECT_BINARY_DIR}/lib/lib${output}.a")
  add_custom_command(OUTPUT "${archive}"
    COMMAND "${CMAKE_COMMAND}" -E rm -f "${archive}"
    COMMAND "${UPDRAFT_LLVM_AR}" qcLS "${archive}" ${files} "$<TARGET_OBJECTS:${target}_fmt>"
    COMMAND "${UPDRAFT_LLVM_AR}" s "${archive}"
    DEPENDS ${files} ${library} "$<TARGET_OBJECTS:${target}_fmt>"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${target} ALL DEPENDS "${archive}")
  install(FILES "${archive}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component})
endfunction()

# updraft_install_package(): the headers and the CMake package Updraft.
function(updraft_install_package)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/updraft-c"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
  # The C++ API. The folders beside these files hold the compiler's internal headers.
  file(GLOB cxx_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/updraft/*.h")
  install(FILES ${cxx_headers}
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/updraft" COMPONENT dev)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/updraft/torch"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/updraft" COMPONENT dev)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/UpdraftConfig.cmake.in"
    UpdraftConfig.cmake INSTALL_DESTINATION "${UPDRAFT_CMAKE_DESTINATION}"
    PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
  write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/UpdraftConfigVersion.cmake"
    VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/UpdraftConfig.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/UpdraftConfigVersion.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/UpdraftAddRule.cmake"
    DESTINATION "${UPDRAFT_CMAKE_DESTINATION}" COMPONENT dev)
endfunction()
