# Script: writes OUTPUT with a hash over the contents of the files listed in the file LIST.
#   cmake -DLIST=… -DOUTPUT=… -DVERSION=… -P HashSources.cmake
file(STRINGS "${LIST}" files)
set(all "")
foreach(file IN LISTS files)
  file(SHA256 "${file}" hash)
  string(APPEND all "${hash}")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING "${hash}" 0 16 hash)
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT
"#define UPDRAFT_VERSION_STRING \"${VERSION}\"
#define UPDRAFT_SOURCE_HASH \"${hash}\"
")
