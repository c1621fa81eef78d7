//===- RuleFile.cpp - The rule that updraft-run applies ---------------------------------------===//

#include "RuleFile.h"

#include "runtime/files/FileContent.h"
#include "runtime/package/Package.h"
#include "runtime/package/Signature.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>

using namespace updraft::run;
using namespace updraft::runtime;

static Status readInto(const std::string &path, const char *what, std::string &content) {
  const int error = updraft::files::readFile(path == "-" ? "/dev/stdin" : path,
                                             updraft::package::maxPackageBytes, content);
  if (!error)
    return {};
  return {error == ENOENT ? UPD_NOT_FOUND : UPD_IO_ERROR,
          fmt::format("cannot read {}`{}`: {}", what, path, std::strerror(error))};
}

Status updraft::run::readRule(RunOptions &options) {
  if (Status status = readInto(options.ruleFile, "", options.source); !status.ok())
    return status;
  if (options.requiredKeyFile.empty())
    return {};
  if (!updraft::package::isPackage(options.source))
    return invalidArgument(
        fmt::format("`{}` is not a package, so it has no signature", options.ruleFile));
  std::string key;
  if (Status status = readInto(options.requiredKeyFile, "the key ", key); !status.ok())
    return status;
  updraft::package::PublicKey expected;
  if (Status status = updraft::package::readPublicKey(key, expected); !status.ok())
    return status;
  std::shared_ptr<const updraft::package::Package> package;
  if (Status status = updraft::package::Package::open(options.source, options.ruleFile, package);
      !status.ok())
    return status;
  return updraft::package::checkSigned(*package, expected);
}
