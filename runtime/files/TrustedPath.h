//===- TrustedPath.h - Opens a folder that nobody else can replace ------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_FILES_TRUSTEDPATH_H
#define UPDRAFT_RUNTIME_FILES_TRUSTEDPATH_H

#include <string>

namespace updraft::files {

enum class IfMissing { Fail, Create };

/// Opens a folder (O_RDONLY) that only the process's user can have written to, and returns its
/// descriptor. Checks the opened folders themselves, component by component from the root on:
///
/// - the folder itself belongs to the user, and nobody else may write to it;
/// - every folder and symbolic link on the way belongs to the user or to root. `/` may belong to
///   anyone, because its owner could replace any program anyway. In a container whose user
///   namespace lacks the owner of `/`, that owner appears as the overflow uid (65534). All unknown
///   users share this uid, so it is not trusted below `/`;
/// - nobody else may rename their entries: they are not writable for others, or are sticky. A
///   folder that is writable for a group counts as the user's alone if the group has the same
///   number as the user, as on systems that give every user a group.
///
/// Returns -1 if the folder can't be opened, with the reason and a hint. `reason` is empty if the
/// folder doesn't exist. `Create` creates missing folders, with mode 0700.
int openTrusted(const std::string &path, IfMissing ifMissing, std::string &reason);

/// Whether only the process's user may write to a file or folder with this owner and mode.
bool isOwn(unsigned owner, unsigned mode);

} // namespace updraft::files

#endif // UPDRAFT_RUNTIME_FILES_TRUSTEDPATH_H
