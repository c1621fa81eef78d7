//===- DumpFolder.h - The folder of UPDRAFT_DUMP_IR ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_DUMPFOLDER_H
#define UPDRAFT_DRIVER_DUMPFOLDER_H

#include <string>

namespace updraft {

/// Returns the folder that UPDRAFT_DUMP_IR names, or "". Every compilation of the process creates a
/// subfolder there, and rules are not taken from the disk cache.
std::string dumpFolderOfEnvironment();

} // namespace updraft

#endif // UPDRAFT_DRIVER_DUMPFOLDER_H
