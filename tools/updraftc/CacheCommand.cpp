//===- CacheCommand.cpp - updraftc cache ------------------------------------------------------===//

#include "CacheCommand.h"

#include "updraft/Driver/DiskCache.h"
#include "updraft/Driver/StatusError.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <ctime>

using namespace updraft;

CacheCommand::CacheCommand(CLI::App &app)
    : command(app.add_subcommand("cache", "List or clear the compiled rules in the disk cache")),
      clear(nullptr) {
  command->require_subcommand(1);
  command->add_subcommand("list", "Print each entry: key, rule, size, last use");
  clear = command->add_subcommand("clear", "Remove all entries");
}

static std::string localTime(time_t time) {
  char text[32];
  tm parts;
  if (!::localtime_r(&time, &parts))
    return "?";
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &parts));
}

static llvm::Error list(const DiskCache &cache, llvm::raw_ostream &os) {
  auto entries = cache.entries();
  if (!entries)
    return entries.takeError();
  uint64_t total = 0;
  for (const DiskCache::Entry &entry : *entries) {
    total += entry.bytes;
    os << llvm::formatv("{0}  {1,-16} {2,7} bytes  {3}\n",
                        llvm::StringRef(entry.key).take_front(16), entry.ruleName, entry.bytes,
                        localTime(entry.lastUsed));
  }
  os << llvm::formatv("{0} entries, {1} bytes of at most {2}, in {3}\n", entries->size(), total,
                      cache.getMaxBytes(),
                      cache.getFolder().empty() ? "no folder" : cache.getFolder());
  if (std::string reason = cache.whyUnused(); !reason.empty())
    os << "not used: " << reason << '\n';
  return llvm::Error::success();
}

llvm::Error CacheCommand::check(const CLI::App &app) const {
  for (const CLI::Option *option : app.get_options())
    if (option->count())
      return makeError(UPD_INVALID_ARGUMENT, "`cache` takes no `" + option->get_name() +
                                                 "`; `updraftc cache list` lists all compiled "
                                                 "rules, `updraftc cache clear` removes them");
  return llvm::Error::success();
}

llvm::Error CacheCommand::run(llvm::raw_ostream &os) const {
  DiskCache cache = DiskCache::fromEnvironment();
  if (!clear->parsed())
    return list(cache, os);
  auto removed = cache.clear();
  if (!removed)
    return removed.takeError();
  os << llvm::formatv("removed {0} entries from {1}\n", *removed, cache.getFolder());
  return llvm::Error::success();
}
