//===- TrustedPath.h - Opening a folder that nobody else can exchange ---------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_FILES_TRUSTEDPATH_H
#define UPDRAFT_RUNTIME_FILES_TRUSTEDPATH_H

#include <string>

namespace updraft::files {

enum class IfMissing { Fail, Create };

/// Opens a folder (O_RDONLY) that only the process's user can have put files into, and returns its
/// descriptor. What is checked is what is opened, component by component from the root on:
///
/// - the folder itself belongs to the user, and nobody else may write to it;
/// - every folder and symbolic link on the way belongs to the user or to root. `/` itself may
/// belong
///   to anyone: its owner could exchange any program as well. In a container whose user namespace
///   lacks the owner of `/`, that owner appears as the overflow uid (65534). All unknown users
///   share this uid, so below `/` it is not trusted;
/// - nobody else may rename what is in them: they are not writable for others, or are sticky.
///   Writable for a group is taken as the user's alone if its number is the user's own, as on
///   systems that give every user a group.
///
/// -1 if it cannot be opened, with the reason and what to do; the reason is empty where there is no
/// such folder. `Create` makes missing folders, with mode 0700.
int openTrusted(const std::string &path, IfMissing ifMissing, std::string &reason);

/// Whether a file, or a folder, of this owner and mode is the process's user's alone to write.
bool isOwn(unsigned owner, unsigned mode);

} // namespace updraft::files

#endif // UPDRAFT_RUNTIME_FILES_TRUSTEDPATH_H
