//===- DumpFolder.h - Where UPDRAFT_DUMP_IR wants dumps -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_DUMPFOLDER_H
#define UPDRAFT_DRIVER_DUMPFOLDER_H

#include <string>

namespace updraft {

/// The folder that UPDRAFT_DUMP_IR names, where every compilation of the process gets a folder of
/// its own; empty if it names none. Rules are then not taken from the disk cache.
std::string dumpFolderOfEnvironment();

} // namespace updraft

#endif // UPDRAFT_DRIVER_DUMPFOLDER_H
