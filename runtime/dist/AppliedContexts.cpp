//===- AppliedContexts.cpp - The contexts that an optimizer has applied -----------------------===//

#include "runtime/dist/AppliedContexts.h"

using namespace updraft::dist;

/// More than one, because `set` may add an entry. So the entries of closed contexts get fewer.
static constexpr int looksPerSet = 4;

int64_t AppliedContexts::count(int64_t number, const std::shared_ptr<const void> &context) const {
  auto found = byNumber.find(number);
  return found == byNumber.end() || found->second->context.lock() != context ? 0
                                                                             : found->second->count;
}

void AppliedContexts::set(int64_t number, const std::shared_ptr<const void> &context,
                          int64_t count) {
  // Allocates memory before the first change.
  std::list<Entry> added{{number, context, count}};
  auto [found, isNew] = byNumber.try_emplace(number, added.begin());
  if (isNew)
    entries.splice(entries.end(), added);
  else
    *found->second = std::move(added.front());
  forgetSome();
}

void AppliedContexts::forgetSome() {
  for (int look = 0; look < looksPerSet && !entries.empty(); ++look) {
    if (next == entries.end())
      next = entries.begin();
    if (!next->context.expired()) {
      ++next;
      continue;
    }
    byNumber.erase(next->number);
    next = entries.erase(next);
  }
}
