# Pinned dependencies. Each mismatch says which package to install.
set(UPDRAFT_LLVM_VERSION 22.1)
include("${CMAKE_CURRENT_LIST_DIR}/UpdraftFindDependency.cmake")

if(UPDRAFT_BUILD_COMPILER)
  find_package(MLIR CONFIG QUIET PATHS /usr/lib/llvm-22/lib/cmake/mlir)
  if(NOT MLIR_FOUND)
    message(FATAL_ERROR
      "MLIR ${UPDRAFT_LLVM_VERSION} not found; on Debian 12 install libmlir-22-dev and "
      "mlir-22-tools, or run tools/setup")
  endif()
  if(NOT LLVM_PACKAGE_VERSION VERSION_GREATER_EQUAL UPDRAFT_LLVM_VERSION
     OR NOT LLVM_PACKAGE_VERSION VERSION_LESS 22.2)
    message(FATAL_ERROR
      "Updraft is pinned to LLVM ${UPDRAFT_LLVM_VERSION}, found ${LLVM_PACKAGE_VERSION} in "
      "${LLVM_DIR}; install llvm-22-dev and point MLIR_DIR at its lib/cmake/mlir")
  endif()

  list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
  include(TableGen)
  include(AddLLVM)
  include(AddMLIR)
  include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  separate_arguments(updraft_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  add_definitions(${updraft_llvm_definitions})
  set(LLVM_RUNTIME_OUTPUT_INTDIR "${PROJECT_BINARY_DIR}/bin")
  set(LLVM_LIBRARY_OUTPUT_INTDIR "${PROJECT_BINARY_DIR}/lib")
endif()

# libupdraft.so, with LLVM in it, brings zstd: wheels go to systems that lack the library.
if(TARGET zstd::libzstd_shared AND zstd_STATIC_LIBRARY)
  set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION "${zstd_STATIC_LIBRARY}")
endif()

find_package(Threads REQUIRED)
updraft_require(fmt 9.1 libfmt-dev)
updraft_require(nlohmann_json 3.11 nlohmann-json3-dev)

# libmd, linked statically: it has no CMake package.
find_path(UPDRAFT_MD_INCLUDE_DIR sha256.h)
find_library(UPDRAFT_MD_LIBRARY libmd.a)
if(NOT UPDRAFT_MD_INCLUDE_DIR OR NOT UPDRAFT_MD_LIBRARY)
  message(FATAL_ERROR "libmd not found; install libmd-dev, or run tools/setup")
endif()
add_library(Md::Md STATIC IMPORTED)
set_target_properties(Md::Md PROPERTIES
  IMPORTED_LOCATION "${UPDRAFT_MD_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${UPDRAFT_MD_INCLUDE_DIR}")

if(UPDRAFT_BUILD_WORKER OR (UPDRAFT_BUILD_TOOLS AND UPDRAFT_BUILD_COMPILER))
  updraft_require(CLI11 2.1 libcli11-dev)
endif()
if(UPDRAFT_BUILD_TOOLS AND UPDRAFT_BUILD_COMPILER)
  updraft_require(benchmark 1.7 libbenchmark-dev)
endif()
if(UPDRAFT_BUILD_WORKER)
  find_package(Protobuf 3.21 QUIET)
  if(NOT Protobuf_FOUND)
    message(FATAL_ERROR "protobuf not found; install libprotobuf-dev and protobuf-compiler, or run tools/setup")
  endif()
  # Its package file cannot be loaded twice, as updraft_require would.
  updraft_find_dependency(gRPC 1.51 "libgrpc++-dev and protobuf-compiler-grpc")
  updraft_require(SQLite3 3.40 libsqlite3-dev)
  find_package(prometheus-cpp QUIET) # its package file tells no version
  if(NOT prometheus-cpp_FOUND)
    message(FATAL_ERROR "prometheus-cpp not found; install prometheus-cpp-dev, or run tools/setup")
  endif()
  updraft_find_dependency(spdlog 1.10 libspdlog-dev)
  find_path(UPDRAFT_XXHASH_INCLUDE_DIR xxhash.h)
  if(NOT UPDRAFT_XXHASH_INCLUDE_DIR)
    message(FATAL_ERROR "xxHash not found; install libxxhash-dev, or run tools/setup")
  endif()
endif()
if(UPDRAFT_BUILD_TESTS AND CMAKE_CROSSCOMPILING)
  # Debian's libraries are for the host. libgtest-dev has the sources, too.
  add_subdirectory(/usr/src/googletest googletest EXCLUDE_FROM_ALL)
elseif(UPDRAFT_BUILD_TESTS)
  updraft_require(GTest 1.12 libgtest-dev)
endif()
