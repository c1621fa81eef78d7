//===- SignedPackage.cpp - The packages that clients send -------------------------------------===//

#include "SignedPackage.h"

#include "InputFile.h"
#include "runtime/package/Signature.h"
#include "runtime/server/Refusal.h"
#include "updraft-c/package.h"

#include <fmt/format.h>
#include <stdexcept>

using namespace updraft;
using server::Reason;
using server::Refusal;

std::string worker::readPublicKey(const std::string &path) {
  std::string text = readInput(path);
  package::PublicKey key;
  if (const runtime::Status status = package::readPublicKey(text, key); !status.ok())
    throw std::runtime_error(fmt::format("the key `{}`: {}", path, status.message()));
  return text;
}

std::string worker::checkPackage(const v1::Rule &rule, const std::string &publicKey) {
  if (!rule.name().empty() || !rule.settings().empty() || !rule.numerics().empty() ||
      !rule.storage().empty())
    throw Refusal(
        Reason::InvalidArgument,
        "a package has its rule, flags, numerics and storage types; set none of them, and "
        "pack one variant for each worker");
  upd_package_options options{};
  options.struct_size = sizeof(options);
  options.required_key = publicKey.c_str();
  options.name = "package";
  upd_package *opened = nullptr;
  if (upd_package_open_buffer(rule.source().data(), rule.source().size(), &options, &opened) !=
      UPD_OK)
    throw Refusal(Reason::InvalidArgument, upd_last_error());
  upd_package_release(opened);
  return rule.source();
}
