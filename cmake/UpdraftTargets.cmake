# How Updraft's own libraries, tools and unit tests are declared.
#
# A library that includes LLVM or MLIR headers shares one precompiled header, which takes the
# compile time of such a file from about 8 s to about 1.5 s.

add_library(updraft_mlir_pch OBJECT "${PROJECT_SOURCE_DIR}/cmake/pch/anchor.cpp")
target_precompile_headers(updraft_mlir_pch PRIVATE "${PROJECT_SOURCE_DIR}/cmake/pch/mlir.h")
target_compile_options(updraft_mlir_pch PRIVATE -fpch-instantiate-templates)

function(updraft_use_mlir_pch target)
  # Executables too are compiled as PIC: Clang refuses a precompiled header made for another mode.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM updraft_mlir_pch)
  target_compile_options(${target} PRIVATE -fpch-instantiate-templates)
endfunction()

# updraft_add_library(NAME [MLIR] SOURCES ... [LINK ...] [DEPENDS ...])
# A static library. MLIR: its sources include MLIR headers.
function(updraft_add_library name)
  cmake_parse_arguments(arg "MLIR" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  # For a project that has this one as a subdirectory.
  target_include_directories(${name} INTERFACE "${PROJECT_SOURCE_DIR}/include")
  if(arg_MLIR)
    updraft_use_mlir_pch(${name})
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
    updraft_use_mlir_pch(${name})
  endif()
endfunction()

# updraft_add_unittest(NAME [MLIR] SOURCES ... LINK ...): a GoogleTest program known to ctest.
function(updraft_add_unittest name)
  cmake_parse_arguments(arg "MLIR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest_main GTest::gmock)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/unittests")
  if(arg_MLIR)
    updraft_use_mlir_pch(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
endfunction()
