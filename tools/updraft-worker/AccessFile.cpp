//===- AccessFile.cpp - A file of clients and their roles -------------------------------------===//

#include "AccessFile.h"

#include "InputFile.h"
#include "Log.h"
#include "runtime/server/Refusal.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

using namespace updraft;
using namespace updraft::worker;
using package::Digest;
using server::Reason;
using server::Refusal;

AccessFile::AccessFile(std::string given)
    : path(std::move(given)), known(readInput(path)), entries(parseAccess(known, path)) {}

void AccessFile::refresh() {
  // The content is compared, because a file may be replaced by one with the same time.
  std::string content, error;
  try {
    content = readInput(path);
  } catch (const std::runtime_error &thrown) {
    error = content = thrown.what();
  }
  if (content == known)
    return;
  known = std::move(content); // an error is logged once
  std::vector<AccessEntry> found;
  if (error.empty())
    try {
      found = parseAccess(known, path);
    } catch (const std::runtime_error &thrown) {
      error = thrown.what();
    }
  if (!error.empty()) {
    log(Severity::Error, "the access file is unchanged, because it has an error",
        {{"error", error}});
    return;
  }
  const std::lock_guard guard(mutex);
  entries = std::move(found);
  log(Severity::Info, "access file read", {{"entries", std::to_string(entries.size())}});
}

namespace {

/// The sender of a request.
struct Sender {
  std::optional<Digest> token;
  std::string commonName;
};

Sender senderOf(const grpc::ServerContext &context) {
  Sender result;
  const auto &metadata = context.client_metadata();
  constexpr std::string_view scheme = "Bearer ";
  if (const auto found = metadata.find("authorization"); found != metadata.end()) {
    const std::string_view value(found->second.data(), found->second.size());
    if (value.starts_with(scheme) && value.size() > scheme.size())
      result.token = package::digestOf(value.substr(scheme.size()));
  }
  const auto names = context.auth_context()->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  if (context.auth_context()->IsPeerAuthenticated() && names.size() == 1)
    result.commonName.assign(names.front().data(), names.front().size());
  return result;
}

/// Takes as long for every pair of digests.
bool isEqual(const Digest &one, const Digest &other) {
  unsigned difference = 0;
  for (size_t i = 0; i < one.size(); ++i)
    difference |= static_cast<unsigned>(one[i] ^ other[i]);
  return difference == 0;
}

bool includes(Role has, Role needed) {
  return has == needed || (has != Role::Peer && needed != Role::Peer && has > needed);
}

bool mayName(const AccessEntry &entry, Named named) {
  // The client libraries add "/" and a number, so that names are unique.
  const auto hasName = [&](const std::string &name) {
    return named.client.starts_with(name) &&
           (named.client.size() == name.size() || named.client[name.size()] == '/');
  };
  return (entry.optimizers.empty() ||
          (!named.needsAll &&
           (named.optimizer.empty() || entry.optimizers.contains(std::string(named.optimizer))))) &&
         (named.client.empty() || entry.clients.empty() ||
          std::any_of(entry.clients.begin(), entry.clients.end(), hasName));
}

} // namespace

void AccessFile::require(const grpc::ServerContext &context, Role role, Named named) const {
  const Sender sender = senderOf(context);
  bool isKnown = false, hasExpired = false, hasRole = false;
  {
    const std::shared_lock guard(mutex);
    const std::time_t now = std::time(nullptr);
    for (const AccessEntry &entry : entries) {
      const bool isSame = entry.token ? sender.token && isEqual(*entry.token, *sender.token)
                                      : entry.commonName == sender.commonName;
      if (!isSame)
        continue;
      isKnown = true;
      if (entry.until && *entry.until <= now)
        hasExpired = true;
      else if (includes(entry.role, role) && mayName(entry, named))
        hasRole = true;
    }
  }
  if (hasRole)
    return;
  const char *reason =
      !isKnown     ? (sender.token || !sender.commonName.empty() ? "unknown token or certificate"
                                                                 : "neither token nor certificate")
      : hasExpired ? "expired"
                   : "wrong role, optimizer or client";
  log(Severity::Warning, "request refused",
      {{"reason", reason},
       {"peer", context.peer()},
       {"certificate", sender.commonName},
       {"optimizer", std::string(named.optimizer)},
       {"client", std::string(named.client)}});
  if (!isKnown || hasExpired)
    throw Refusal(Reason::Unauthenticated, "the request has no valid credentials");
  throw Refusal(Reason::PermissionDenied, "the client may not do this");
}
