# How Updraft's own libraries, tools and unit tests are declared.
#
# Targets share precompiled headers, which take the compile time of a file with MLIR from about 8 s to
# about 1.5 s: one for files with LLVM or MLIR, one for others, and the same with GoogleTest.

# updraft_add_precompiled_header(NAME HEADER [LINK ...]): what other targets can reuse.
function(updraft_add_precompiled_header name header)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_library(${name} OBJECT "${PROJECT_SOURCE_DIR}/cmake/pch/anchor.cpp")
  target_precompile_headers(${name} PRIVATE "${header}")
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  target_compile_options(${name} PRIVATE -fpch-instantiate-templates)
endfunction()

# updraft_reuse_precompiled_header(TARGET OWNER)
function(updraft_reuse_precompiled_header target owner)
  # Executables too are compiled as PIC: Clang refuses a precompiled header made for another mode.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC -fpch-instantiate-templates)
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

if(UPDRAFT_BUILD_COMPILER)
  updraft_add_precompiled_header(updraft_mlir_pch "${PROJECT_SOURCE_DIR}/cmake/pch/mlir.h")
endif()
updraft_add_precompiled_header(updraft_text_pch "${PROJECT_SOURCE_DIR}/cmake/pch/text.h"
  LINK fmt::fmt nlohmann_json::nlohmann_json)

# updraft_add_library(NAME [MLIR] SOURCES ... [LINK ...] [DEPENDS ...])
# A static library. MLIR: its sources include MLIR headers.
function(updraft_add_library name)
  cmake_parse_arguments(arg "MLIR" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  # For a project that has this one as a subdirectory.
  target_include_directories(${name} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
  if(arg_MLIR)
    updraft_reuse_precompiled_header(${name} updraft_mlir_pch)
  endif()
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
endfunction()

# updraft_add_tool(NAME [MLIR] SOURCES ... LINK ...): an executable in <build>/bin.
function(updraft_add_tool name)
  cmake_parse_arguments(arg "MLIR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  if(arg_MLIR)
    updraft_reuse_precompiled_header(${name} updraft_mlir_pch)
  endif()
endfunction()

# Tests spend their time in the libraries. Without optimization they compile in less than half the time.
set(updraft_test_options $<$<CONFIG:Release>:-O0>)
if(UPDRAFT_BUILD_TESTS)
  updraft_add_precompiled_header(updraft_test_pch "${PROJECT_SOURCE_DIR}/cmake/pch/test.h"
    LINK fmt::fmt nlohmann_json::nlohmann_json GTest::gmock)
  target_compile_options(updraft_test_pch PRIVATE ${updraft_test_options})
  if(UPDRAFT_BUILD_COMPILER)
    updraft_add_precompiled_header(updraft_mlir_test_pch "${PROJECT_SOURCE_DIR}/cmake/pch/mlir-test.h"
      LINK GTest::gmock)
    target_compile_options(updraft_mlir_test_pch PRIVATE ${updraft_test_options})
  endif()
endif()

# updraft_add_unittest(NAME [MLIR] [OWN_PCH] SOURCES ... LINK ...)
# A GoogleTest program known to ctest. OWN_PCH: the caller declares its options and its precompiled
# headers, if any.
function(updraft_add_unittest name)
  cmake_parse_arguments(arg "MLIR;OWN_PCH" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest_main GTest::gmock)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/unittests")
  if(arg_MLIR)
    updraft_reuse_precompiled_header(${name} updraft_mlir_test_pch)
  elseif(NOT arg_OWN_PCH)
    updraft_reuse_precompiled_header(${name} updraft_test_pch)
  endif()
  if(NOT arg_OWN_PCH)
    target_compile_options(${name} PRIVATE ${updraft_test_options})
  endif()
  add_test(NAME ${name} COMMAND ${name})
endfunction()
