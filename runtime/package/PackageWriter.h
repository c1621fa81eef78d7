//===- PackageWriter.h - Writes a package -------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_PACKAGE_PACKAGEWRITER_H
#define UPDRAFT_RUNTIME_PACKAGE_PACKAGEWRITER_H

#include "runtime/base/Status.h"
#include "updraft-c/package_format.h"

#include <string>
#include <string_view>
#include <vector>

namespace updraft::package {

/// The content of a package. As in updraft-c/package_format.h, with contents in place of numbers
/// and slices.
struct PackageParts {
  struct Variant {
    std::string name;
    std::string sample;
  };
  struct Image {
    uint32_t variant;
    std::string target;
    upd_architecture architecture;
    uint32_t level;
    std::string descriptor;
    std::string code; ///< PTX has its null character
    uint32_t executable = 0;
    std::vector<uint32_t> functions = {};
    std::vector<upd_package_import> imports = {};
  };

  std::string info;
  std::vector<std::string> sources;
  std::vector<Variant> variants;
  std::vector<Image> images;
};

/// Writes equal bytes for equal parts. Equal descriptors, samples or code are written once. Signs
/// the package if `privateKey`, the text of a PEM file, isn't empty; UPD_INVALID_ARGUMENT if it
/// isn't a key.
runtime::Status writePackage(const PackageParts &parts, std::string_view privateKey,
                             std::string &bytes);

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_PACKAGEWRITER_H
