//===- updraft/Package.h - Rules that were compiled ahead of time -------------------*- C++ -*-===//
// A package is machine code, which can do anything that the program can. Open only packages that
// you trust, or require a signature.

#ifndef UPDRAFT_PACKAGE_H
#define UPDRAFT_PACKAGE_H

#include "updraft-c/package.h"
#include "updraft/Rule.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace updraft {
inline namespace v1 {

struct PackageOptions {
  /// The text of a PEM file with a public Ed25519 key. A package without a valid signature by this
  /// key is refused.
  std::optional<std::string> requiredKey;
  /// The name of a package in memory, for messages.
  std::string name = "<buffer>";
};

/// A file of `updraftc pack`, or the same in memory. It never changes. Errors are those of the
/// functions in updraft-c/package.h.
class Package {
public:
  /// Takes ownership of a package of the C API.
  explicit Package(upd_package *owned = nullptr) : package(owned) {}

  /// Opens a file, and checks all of its bytes.
  static Result<Package> open(const std::string &path, const PackageOptions &options = {}) {
    upd_package *opened = nullptr;
    const upd_package_options c = get(options);
    if (const upd_status status = upd_package_open(path.c_str(), &c, &opened))
      return Error::last(status);
    return Package(opened);
  }

  /// The same for `size` bytes in memory, which are copied.
  static Result<Package> openBuffer(const void *data, size_t size,
                                    const PackageOptions &options = {}) {
    upd_package *opened = nullptr;
    const upd_package_options c = get(options);
    if (const upd_status status = upd_package_open_buffer(data, size, &c, &opened))
      return Error::last(status);
    return Package(opened);
  }

  upd_package *get() const { return package.get(); }

  /// The description as JSON: the rule, its options, targets, variants and interfaces.
  std::string_view info() const { return detail::viewOf(upd_package_info(get())); }

  /// The text of the rule's file (`index` 0) and of the files that it imports; empty behind the
  /// last.
  std::string_view source(size_t index = 0) const {
    return detail::viewOf(upd_package_source(get(), index));
  }

  /// The names of the variants, as in `updraftc pack --storage`.
  std::vector<std::string_view> variants() const {
    std::vector<std::string_view> result;
    for (size_t i = 0, count = upd_package_variant_count(get()); i < count; ++i)
      result.push_back(detail::viewOf(upd_package_variant_name(get(), i)));
    return result;
  }

  /// Loads a variant (null: the first) for a target: this CPU (null), a GPU ("cuda", "cuda:1"), or
  /// a target that the package names. The rule doesn't need the package any more.
  Result<Rule> load(const char *variant = nullptr, const char *target = nullptr) const {
    upd_rule *loaded = nullptr;
    if (const upd_status status = upd_package_load(get(), variant, target, &loaded))
      return Error::last(status);
    return Rule(loaded);
  }

  /// Runs the sample of a variant, and compares the bits of the results.
  Result<void> verify(const char *variant = nullptr, const char *target = nullptr) const {
    return Result<void>(upd_package_verify(get(), variant, target));
  }

private:
  static upd_package_options get(const PackageOptions &options) {
    upd_package_options result{};
    result.struct_size = sizeof(result);
    result.name = options.name.c_str();
    result.required_key = options.requiredKey ? options.requiredKey->c_str() : nullptr;
    return result;
  }

  struct Release {
    void operator()(upd_package *owned) const { upd_package_release(owned); }
  };
  std::unique_ptr<upd_package, Release> package;
};

} // namespace v1
} // namespace updraft

#endif // UPDRAFT_PACKAGE_H
