//===- Package.h - The content of a package -----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_PACKAGE_PACKAGE_H
#define UPDRAFT_RUNTIME_PACKAGE_PACKAGE_H

#include "runtime/base/Status.h"
#include "runtime/package/Digest.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::package {

/// The largest file that is read as a package.
constexpr size_t maxPackageBytes = size_t{1} << 30;

/// Whether the bytes begin like a package, which no rule's text does.
inline bool isPackage(std::string_view bytes) {
  return bytes.starts_with(std::string_view(UPD_PACKAGE_MAGIC, sizeof(UPD_PACKAGE_MAGIC)));
}

/// As upd_package_section; `content` may be empty.
struct Section {
  upd_package_kind kind;
  std::string_view content;
  uint64_t offset;
  Digest digest;
};

/// As upd_package_variant.
struct Variant {
  std::string name;
  std::string_view sample;
};

/// As upd_package_image.
struct Image {
  uint32_t variant;
  std::string target;
  upd_architecture architecture;
  uint32_t level;
  std::string_view descriptor;
  std::string_view code;
  uint32_t executable;
  std::vector<uint32_t> functions; ///< offsets in the code, all below `executable`
  std::vector<upd_package_import> imports;
};

/// A package whose bytes have all been checked: digests, bounds and the order of records. The
/// descriptors have not. Immutable, so threads may share it.
class Package {
public:
  /// Messages call the package `name`. UPD_INVALID_ARGUMENT: the bytes are damaged or not a
  /// package. UPD_UNSUPPORTED: a newer Updraft wrote it.
  static runtime::Status open(std::string bytes, std::string name,
                              std::shared_ptr<const Package> &result);
  /// UPD_NOT_FOUND: the file doesn't exist. UPD_IO_ERROR: it can't be read.
  static runtime::Status openFile(const std::string &path, std::shared_ptr<const Package> &result);

  const std::string &name() const { return fileName; }
  std::string_view info() const { return infoText; }
  const std::vector<Section> &sections() const { return allSections; }
  /// Never empty.
  const std::vector<Variant> &variants() const { return allVariants; }
  /// Never empty. In the order of the file.
  const std::vector<Image> &images() const { return allImages; }
  const Digest &digest() const { return headerDigest; }
  uint16_t extends() const { return minorVersion; }
  size_t size() const { return bytes.size(); }
  /// Empty if the package is not signed. Opening doesn't check it; see Signature.h.
  const std::optional<upd_package_signature> &signature() const { return fileSignature; }
  /// The digest that a signature of this package signs.
  const Digest &signedDigest() const { return toSign; }

private:
  friend class PackageReader;
  Package() = default;

  std::string bytes;
  std::string fileName;
  std::string_view infoText;
  std::vector<Section> allSections;
  std::vector<Variant> allVariants;
  std::vector<Image> allImages;
  Digest headerDigest = {};
  Digest toSign = {};
  uint16_t minorVersion = 0;
  std::optional<upd_package_signature> fileSignature;
};

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_PACKAGE_H
