# The install component `dialect`: what a pass over the dialect needs that is built elsewhere. It is
# loaded by find_package(Updraft COMPONENTS Dialect).
include(UpdraftLibraries)

# updraft_install_dialect_library(TARGET NAME): a static library, as Updraft::<NAME>.
function(updraft_install_dialect_library target name)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(${target} INTERFACE
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  install(TARGETS ${target} EXPORT UpdraftDialectTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dialect)
endfunction()

updraft_install_dialect_library(UpdraftDialect Dialect)
updraft_install_dialect_library(UpdraftTransforms Transforms)
install(EXPORT UpdraftDialectTargets NAMESPACE Updraft::
  DESTINATION "${UPDRAFT_CMAKE_DESTINATION}" COMPONENT dialect)
foreach(root "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
  install(DIRECTORY "${root}/dialects/Updraft" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    COMPONENT dialect FILES_MATCHING PATTERN "*.h" PATTERN "*.inc" PATTERN "*.td" PATTERN CMakeFiles EXCLUDE)
endforeach()

# updraft_add_docs(NAME TD ARGUMENTS ...): a page from a TableGen file, as part of updraft-docs.
function(updraft_add_docs name td)
  set(LLVM_TARGET_DEFINITIONS "${PROJECT_SOURCE_DIR}/${td}")
  mlir_tablegen("docs/${name}.md" ${ARGN})
  add_custom_target(Updraft${name}Docs DEPENDS ${TABLEGEN_OUTPUT})
  add_dependencies(updraft-docs Updraft${name}Docs)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/docs/${name}.md"
    DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/updraft" COMPONENT dialect)
endfunction()

file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/docs")
add_custom_target(updraft-docs ALL)
updraft_add_docs(Dialect dialects/Updraft/IR/UpdraftOps.td -gen-dialect-doc -dialect=updraft)
updraft_add_docs(Transforms dialects/Updraft/Transforms/Passes.td -gen-pass-doc)
updraft_add_docs(Conversion include/updraft/Conversion/Passes.td -gen-pass-doc)
