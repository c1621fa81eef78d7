# Script: writes OUTPUT with a hash over VERSION and over the names and contents of the files below
# ROOT that the file LIST names.
#   cmake -DLIST=… -DROOT=… -DOUTPUT=… -DVERSION=… -P HashSources.cmake
file(STRINGS "${LIST}" files)
set(all "${VERSION}")
foreach(file IN LISTS files)
  file(SHA256 "${ROOT}/${file}" hash)
  string(APPEND all "\n${file} ${hash}")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING "${hash}" 0 16 hash)
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT
"#define UPDRAFT_VERSION_STRING \"${VERSION}\"
#define UPDRAFT_SOURCE_HASH \"${hash}\"
")
