//===- AccessFile.cpp - A file of clients and their roles -------------------------------------===//

#include "AccessFile.h"

#include "Log.h"
#include "runtime/server/Refusal.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <utility>

using namespace updraft;
using namespace updraft::worker;
using package::Digest;
using server::Reason;
using server::Refusal;

static Role roleOf(const std::string &name) {
  if (name == "reader")
    return Role::Reader;
  if (name == "trainer")
    return Role::Trainer;
  if (name == "admin")
    return Role::Admin;
  if (name == "peer")
    return Role::Peer;
  throw std::runtime_error(
      fmt::format("unknown role `{}`; the roles are reader, trainer, admin and peer", name));
}

static Digest digestFrom(const std::string &hex) {
  Digest result;
  const auto digit = [&](char one) {
    const std::string_view digits = "0123456789abcdef";
    const size_t value = digits.find(one);
    if (value == std::string_view::npos)
      throw std::runtime_error(fmt::format("`{}` is not a SHA-256 digest in lower-case hex", hex));
    return value;
  };
  if (hex.size() != 2 * result.size())
    throw std::runtime_error(
        fmt::format("`{}` is not a SHA-256 digest, which has {} digits", hex, 2 * result.size()));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<uint8_t>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  return result;
}

static std::time_t timeFrom(const std::string &text) {
  std::tm parsed{};
  const char *const end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parsed);
  if (!end || *end != '\0')
    throw std::runtime_error(fmt::format("`{}` is not a time such as 2027-01-31T00:00:00Z", text));
  return timegm(&parsed);
}

AccessFile::Entry AccessFile::parse(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string kind, identity, role, word;
  words >> kind >> identity >> role;
  Entry entry;
  if (kind == "token")
    entry.token = digestFrom(identity);
  else if (kind == "certificate" && !identity.empty())
    entry.commonName = identity;
  else
    throw std::runtime_error(
        "expected `token SHA256 ROLE` or `certificate COMMON-NAME ROLE`, and then `optimizer=NAME` "
        "and `until=TIME`");
  entry.role = roleOf(role);
  while (words >> word) {
    if (word.starts_with("optimizer=") && word.size() > 10)
      entry.optimizers.insert(word.substr(10));
    else if (word.starts_with("until="))
      entry.until = timeFrom(word.substr(6));
    else
      throw std::runtime_error(
          fmt::format("unknown word `{}`; expected `optimizer=NAME` or `until=TIME`", word));
  }
  return entry;
}

std::vector<AccessFile::Entry> AccessFile::read(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error(fmt::format("cannot read the access file `{}`", path));
  std::vector<Entry> result;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#')
      continue;
    try {
      result.push_back(parse(line));
    } catch (const std::runtime_error &error) {
      throw std::runtime_error(fmt::format("{}:{}:1: error: {}", path, number, error.what()));
    }
  }
  return result;
}

AccessFile::AccessFile(std::string given)
    : path(std::move(given)), entries(read(path)), changed(std::filesystem::last_write_time(path)) {
}

void AccessFile::refresh() {
  try {
    const auto time = std::filesystem::last_write_time(path);
    {
      const std::shared_lock guard(mutex);
      if (time == changed)
        return;
    }
    std::vector<Entry> found;
    std::string error;
    try {
      found = read(path);
    } catch (const std::runtime_error &thrown) {
      error = thrown.what();
    }
    const std::lock_guard guard(mutex);
    changed = time; // an error is logged once
    if (!error.empty()) {
      log(Severity::Error, "the access file is unchanged, because it has an error",
          {{"error", error}});
      return;
    }
    entries = std::move(found);
    log(Severity::Info, "access file read", {{"entries", std::to_string(entries.size())}});
  } catch (const std::filesystem::filesystem_error &error) {
    log(Severity::Error, "cannot read the access file", {{"error", error.what()}});
  }
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
    if (value.starts_with(scheme))
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

} // namespace

void AccessFile::require(const grpc::ServerContext &context, Role role,
                         const std::string &optimizer) const {
  const Sender sender = senderOf(context);
  bool isKnown = false, hasExpired = false, hasRole = false;
  {
    const std::shared_lock guard(mutex);
    const std::time_t now = std::time(nullptr);
    for (const Entry &entry : entries) {
      const bool isSame = entry.token ? sender.token && isEqual(*entry.token, *sender.token)
                                      : entry.commonName == sender.commonName;
      if (!isSame)
        continue;
      isKnown = true;
      if (entry.until != 0 && entry.until <= now)
        hasExpired = true;
      else if (includes(entry.role, role) && (optimizer.empty() || entry.optimizers.empty() ||
                                              entry.optimizers.contains(optimizer)))
        hasRole = true;
    }
  }
  if (hasRole)
    return;
  const char *reason =
      !isKnown     ? (sender.token || !sender.commonName.empty() ? "unknown token or certificate"
                                                                 : "neither token nor certificate")
      : hasExpired ? "expired"
                   : "wrong role or optimizer";
  log(Severity::Warning, "request refused",
      {{"reason", reason},
       {"peer", context.peer()},
       {"certificate", sender.commonName},
       {"optimizer", optimizer}});
  if (!isKnown || hasExpired)
    throw Refusal(Reason::Unauthenticated, "the request has no valid credentials");
  throw Refusal(Reason::PermissionDenied, "the client may not do this");
}
