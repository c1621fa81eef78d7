//===- AppliedContexts.h - The contexts that an optimizer has applied ---------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_APPLIEDCONTEXTS_H
#define UPDRAFT_RUNTIME_DIST_APPLIEDCONTEXTS_H

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>

namespace updraft::dist {

/// Remembers the applied contexts, so that each is applied once even if the request is repeated. An
/// entry exists as long as its context. Only one thread at a time.
class AppliedContexts {
public:
  /// Returns how many times the context with this number was applied. `context` identifies it,
  /// because the number may have belonged to an earlier context.
  int64_t count(int64_t number, const std::shared_ptr<const void> &context) const;
  /// Stores how many times it was applied. Forgets a few closed contexts.
  void set(int64_t number, const std::shared_ptr<const void> &context, int64_t count);

  size_t size() const { return entries.size(); }

private:
  struct Entry {
    int64_t number;
    std::weak_ptr<const void> context;
    int64_t count;
  };

  void forgetSome();

  std::list<Entry> entries;
  std::unordered_map<int64_t, std::list<Entry>::iterator> byNumber;
  std::list<Entry>::iterator next = entries.end(); ///< next entry to check
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_APPLIEDCONTEXTS_H
