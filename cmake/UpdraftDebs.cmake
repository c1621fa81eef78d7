# The .deb packages that `cpack -G DEB` makes in the build directory: one for each install component.

include(UpdraftLibraries)
set(UPDRAFT_RUNTIME_DEB "libupdraft-runtime${UPDRAFT_SOVERSION}")
set(UPDRAFT_COMPILER_DEB libupdraft-compiler)
set(UPDRAFT_DEV_DEB libupdraft-dev)
set(UPDRAFT_DIALECT_DEB libupdraft-dialect-dev)
set(UPDRAFT_TOOLS_DEB updraft-tools)
set(UPDRAFT_WORKER_DEB updraft-worker)
set(UPDRAFT_CLIENT_DEB libupdraft-client-dev)

# updraft_deb(COMPONENT SECTION DEPENDS SUMMARY TEXT): the package of a component, with the licence.
# DEPENDS is added to what dpkg-shlibdeps finds.
function(updraft_deb component section depends summary text)
  string(TOUPPER ${component} upper)
  set(name "${UPDRAFT_${upper}_DEB}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
  if(component MATCHES "runtime|compiler|tools")
    # Signatures need it, and dpkg-shlibdeps doesn't see libraries that are opened at run time.
    set(CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS libsodium23 PARENT_SCOPE)
  elseif(component STREQUAL "dev")
    set(CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS updraft-tools PARENT_SCOPE)
  endif()
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright
    DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${name}" COMPONENT ${component})
endfunction()

set(this_version "(= ${PROJECT_VERSION})")
updraft_deb(runtime libs ""
  "optimizer update rules as compiled kernels: runtime library"
  "The library loads packages of compiled rules and steps tensors with them. It has no compiler.")
updraft_deb(compiler libdevel "${UPDRAFT_DEV_DEB} ${this_version}"
  "optimizer update rules as compiled kernels: library with the compiler"
  "The library compiles rules in the process. LLVM is part of it. The package also has the files for building with it.")
updraft_deb(dev libdevel "${UPDRAFT_RUNTIME_DEB} ${this_version}"
  "optimizer update rules as compiled kernels: development files"
  "Headers, the static runtime library, and packages for CMake and pkg-config.")
updraft_deb(dialect libdevel "${UPDRAFT_DEV_DEB} ${this_version}, libmlir-22-dev, mlir-22-tools, llvm-22-dev"
  "optimizer update rules as compiled kernels: MLIR dialect"
  "Headers, TableGen files, static libraries and the reference of the dialect, for passes that are built elsewhere.")
updraft_deb(tools devel ""
  "optimizer update rules as compiled kernels: tools"
  "updraftc compiles and packs rules, updraft-run applies them to files, updraft-opt runs compiler passes, updraft-format formats rules, and updraft-lsp serves editors.")

set(CPACK_COMPONENTS_ALL runtime compiler dev dialect tools)
if(UPDRAFT_BUILD_WORKER)
  updraft_deb(worker net ""
    "optimizer update rules as compiled kernels: parameter server"
    "updraft-worker holds parameters and steps them for clients on gRPC.")
  updraft_deb(client libdevel "${UPDRAFT_DEV_DEB} ${this_version}, libgrpc++-dev, libprotobuf-dev, protobuf-compiler-grpc"
    "optimizer update rules as compiled kernels: client of parameter servers"
    "A static library and its header, for programs that train parameters on updraft-worker.")
  list(APPEND CPACK_COMPONENTS_ALL worker client)
  # systemd's folder is the same on every architecture.
  install(FILES "${PROJECT_SOURCE_DIR}/deploy/systemd/updraft-worker.service"
    DESTINATION lib/systemd/system COMPONENT worker)
  install(FILES "${PROJECT_SOURCE_DIR}/deploy/systemd/updraft-worker.toml"
    DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${UPDRAFT_WORKER_DEB}" COMPONENT worker)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_OUTPUT_FILE_PREFIX "${PROJECT_BINARY_DIR}/debs")
set(CPACK_PACKAGE_VENDOR "the Updraft developers")
set(CPACK_PACKAGE_CONTACT "the Updraft developers")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# It packs what is built instead of building the tests too.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
include(CPack)
