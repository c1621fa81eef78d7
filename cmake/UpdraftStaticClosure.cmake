# Linking a library so that nothing of LLVM stays shared.
#
# Debian's imported MLIR targets name the shared `LLVM` as a dependency. That suits tools, but a
# module that is loaded beside torch and triton must bring its own LLVM, hidden: two copies that see
# each other's symbols abort at start. The closure below is a target's static libraries as files,
# with the shared LLVM left out, so that one build directory can hold both kinds of binaries.

# updraft_static_closure(TARGET FILES SHARED): all static libraries that TARGET needs, and what else
# it links to, without the shared LLVM and fmt.
function(updraft_static_closure root files shared)
  set(pending "${root}")
  set(seen "")
  set(static_files "")
  set(other "")
  while(pending)
    list(POP_FRONT pending item)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" item "${item}")
    if(item IN_LIST seen OR item STREQUAL "LLVM")
      continue()
    endif()
    list(APPEND seen "${item}")
    if(NOT TARGET "${item}")
      list(APPEND other "${item}")
      continue()
    endif()
    get_target_property(type "${item}" TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND static_files "$<TARGET_FILE:${item}>")
      get_target_property(links "${item}" INTERFACE_LINK_LIBRARIES)
      if(links)
        list(APPEND pending ${links})
      endif()
    elseif(NOT item STREQUAL "fmt::fmt")
      list(APPEND other "${item}")
    endif()
  endwhile()
  set(${files} "${static_files}" PARENT_SCOPE)
  set(${shared} "${other}" PARENT_SCOPE)
endfunction()

# updraft_link_statically(MODULE LIBRARY EXPORTS [LLVM]): links MODULE to LIBRARY and all that it
# needs. Only the symbols in the version script EXPORTS can be seen from outside.
function(updraft_link_statically module library exports)
  updraft_static_closure("${library}" files shared)
  set(llvm_libraries "")
  if(ARGN STREQUAL "LLVM")
    llvm_map_components_to_libnames(llvm_libraries
      AArch64 Core ExecutionEngine NVPTX OrcJIT Passes Support Target TargetParser X86)
  endif()
  # lld finds symbols in archives whatever their order.
  target_link_libraries(${module} PRIVATE ${files} ${shared} ${llvm_libraries})
  target_sources(${module} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/static-fmt.cpp")
  add_dependencies(${module} ${library})
  target_link_options(${module} PRIVATE
    -Wl,--as-needed -Wl,--exclude-libs,ALL
    $<$<NOT:$<BOOL:${UPDRAFT_LINE_TABLES}>>:-Wl,--strip-all>
    "-Wl,--version-script,${exports}")
  set_property(TARGET ${module} APPEND PROPERTY LINK_DEPENDS "${exports}")
endfunction()
