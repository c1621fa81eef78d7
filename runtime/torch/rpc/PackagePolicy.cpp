//===- PackagePolicy.cpp - Packages that this process takes from clients ----------------------===//

#include "runtime/torch/rpc/PackagePolicy.h"

#include "runtime/torch/Library.h"

#include <c10/util/Exception.h>

using namespace updraft::torch_adapter;

PackagePolicy &PackagePolicy::process() {
  static PackagePolicy policy;
  return policy;
}

void PackagePolicy::limitTo(std::string publicKey) {
  const std::lock_guard lock(mutex);
  key = std::move(publicKey);
}

void PackagePolicy::require(const std::string &package, const std::string &name) const {
  const std::lock_guard lock(mutex);
  if (!key)
    return;
  TORCH_CHECK_VALUE(!key->empty(), "this worker takes no packages, but got `", name,
                    "`; send the rule's text, or start the worker with `--require-signature`");
  upd_package_options options{};
  options.struct_size = sizeof(options);
  options.required_key = key->c_str();
  options.name = name.c_str();
  upd_package *opened = nullptr;
  check(Library::get().upd_package_open_buffer(package.data(), package.size(), &options, &opened));
  Library::get().upd_package_release(opened);
}
