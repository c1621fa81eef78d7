# updraft_add_rule(TARGET FILE.upd [NAME name] [RULE rule] [STORAGE name=type ...]
#                  [SETTINGS name=value ...] [NUMERICS mode] [TARGETS cpu ...])
#
# Compiles a rule when TARGET is built, and links its code into TARGET. The header NAME.h declares
# typed functions for the rule. TARGET must also link to Updraft::Runtime, Updraft::RuntimeStatic or
# Updraft::Compiler. docs/build-time.md has an example.
#
#   NAME      starts the names of the functions (default: the name of the file)
#   RULE      the rule to use if the file has several, or a chain: "clip_by_global_norm(1) |> AdamW"
#   STORAGE   storage types, as in `updraftc --storage`
#   SETTINGS  static flags, and defaults of hyperparameters, as in `updraftc --set`
#   NUMERICS  ieee (default), torch or fast
#   TARGETS   CPUs, of which the program chooses the newest that the machine runs (default: x86-64-v2,
#             x86-64-v3 and x86-64-v4; or aarch64)
#
# Several rules may be linked into one TARGET. The compiler runs on the machine that builds:
# find_package(Updraft) sets UPDRAFTC, its path.
function(updraft_add_rule target file)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "NAME;RULE;NUMERICS" "STORAGE;SETTINGS;TARGETS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "updraft_add_rule: unknown argument `${arg_UNPARSED_ARGUMENTS}`; after the "
      "rule's file come NAME, RULE, STORAGE, SETTINGS, NUMERICS or TARGETS")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "updraft_add_rule: unknown target `${target}`; create it before")
  endif()
  get_target_property(home ${target} SOURCE_DIR)
  if(NOT home STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "updraft_add_rule: `${target}` is from ${home}; call the function there")
  endif()
  set(compiler "${UPDRAFTC}")
  if(TARGET updraftc)
    set(compiler "$<TARGET_FILE:updraftc>")
  elseif(NOT UPDRAFTC)
    message(FATAL_ERROR "updraft_add_rule: updraftc was not found; install Updraft's component "
      "`tools`, or set UPDRAFTC to its path")
  endif()
  get_filename_component(file "${file}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT arg_NAME)
    get_filename_component(arg_NAME "${file}" NAME_WE)
    string(REGEX REPLACE "[^A-Za-z0-9_]" "_" arg_NAME "${arg_NAME}")
  endif()
  if(NOT arg_TARGETS)
    set(arg_TARGETS x86-64-v2 x86-64-v3 x86-64-v4)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
      set(arg_TARGETS aarch64)
    endif()
  endif()

  set(options --name "${arg_NAME}")
  if(arg_RULE)
    list(APPEND options --rule "${arg_RULE}")
  endif()
  if(arg_NUMERICS)
    list(APPEND options --numerics "${arg_NUMERICS}")
  endif()
  foreach(setting IN LISTS arg_SETTINGS)
    list(APPEND options --set "${setting}")
  endforeach()
  foreach(storage IN LISTS arg_STORAGE)
    list(APPEND options --storage "${storage}")
  endforeach()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/updraft-rules/${target}")
  file(MAKE_DIRECTORY "${folder}")
  string(JOIN "," targets ${arg_TARGETS})
  _updraft_run_compiler("${folder}/${arg_NAME}.h" --emit=header "--target=${targets}")
  set(objects)
  foreach(cpu IN LISTS arg_TARGETS)
    _updraft_run_compiler("${folder}/${arg_NAME}-${cpu}.o" --emit=obj "--target=${cpu}")
    list(APPEND objects "${folder}/${arg_NAME}-${cpu}.o")
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_sources(${target} PRIVATE "${folder}/${arg_NAME}.h" ${objects})
  target_include_directories(${target} PRIVATE "${folder}")
  target_link_libraries(${target} PRIVATE m)
endfunction()

# Runs `compiler` with the `file` and `options` of updraft_add_rule. `output` also depends on the
# files that the rule imports.
function(_updraft_run_compiler output)
  add_custom_command(OUTPUT "${output}"
    COMMAND "${compiler}" "${file}" ${options} ${ARGN} -o "${output}" --depfile "${output}.d"
    DEPENDS "${file}" "${compiler}"
    DEPFILE "${output}.d"
    COMMENT "Compiling the rule ${arg_NAME} to ${output}"
    VERBATIM)
endfunction()
