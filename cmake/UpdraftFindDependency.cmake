# updraft_find_dependency(NAME VERSION PACKAGE): a config package, with what to install where it is
# missing or has another version.
function(updraft_find_dependency name version package)
  find_package(${name} ${version} QUIET)
  if(NOT ${name}_FOUND)
    set(found "not found")
    if(${name}_CONSIDERED_VERSIONS)
      list(JOIN ${name}_CONSIDERED_VERSIONS ", " versions)
      list(JOIN ${name}_CONSIDERED_CONFIGS ", " configs)
      set(found "not found, but ${versions} in ${configs}")
    endif()
    message(FATAL_ERROR "${name} ${version} or later ${found}; install ${package}, or run tools/setup")
  endif()
endfunction()

macro(updraft_require name version package)
  updraft_find_dependency(${name} ${version} ${package})
  find_package(${name} ${version} REQUIRED)
endmacro()
