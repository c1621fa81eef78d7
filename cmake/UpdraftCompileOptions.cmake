# Compiler settings shared by every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 22)
  message(FATAL_ERROR
    "Updraft builds with Clang 22 or later, found ${CMAKE_CXX_COMPILER_ID} "
    "${CMAKE_CXX_COMPILER_VERSION}; install clang-22 and use a preset: cmake --preset release")
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffunction-sections -fdata-sections)
add_link_options(-fuse-ld=lld -Wl,--gc-sections)

if(CMAKE_BUILD_TYPE STREQUAL "MinSizeRel")
  # Fat objects also have machine code, so that any linker can use the static library.
  add_compile_options(-flto -ffat-lto-objects)
  add_link_options(-flto -Wl,--fat-lto-objects,--icf=all)
endif()

foreach(sanitizer IN LISTS UPDRAFT_SANITIZE)
  add_compile_options(-fsanitize=${sanitizer} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizer})
endforeach()
if("undefined" IN_LIST UPDRAFT_SANITIZE)
  # It would read what lies before a function, and compiled rules have nothing there.
  add_compile_options(-fno-sanitize=function)
endif()

if(UPDRAFT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(UPDRAFT_CCACHE ccache)
if(UPDRAFT_CCACHE)
  # Precompiled headers are reusable only when ccache compares their contents.
  set(launcher "${CMAKE_COMMAND}" -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    "${UPDRAFT_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
