//===- AppliedContexts.h - Which contexts an optimizer has applied ------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_DIST_APPLIEDCONTEXTS_H
#define UPDRAFT_RUNTIME_DIST_APPLIEDCONTEXTS_H

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>

namespace updraft::dist {

/// Remembers which contexts were applied, so that each is applied once however often the request
/// arrives. An entry goes with its context. One thread at a time.
class AppliedContexts {
public:
  /// How often the context with this number was applied. `context` is the context itself: the
  /// number may have belonged to an earlier one.
  int64_t count(int64_t number, const std::shared_ptr<const void> &context) const;
  /// Remembers how often it was applied. Forgets a few contexts that are gone.
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
  std::list<Entry>::iterator next = entries.end(); ///< to be looked at
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_DIST_APPLIEDCONTEXTS_H
