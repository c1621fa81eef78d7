//===- OutOfMemory.h - An allocation that failed, and what it was for ---------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_OUTOFMEMORY_H
#define UPDRAFT_RUNTIME_BASE_OUTOFMEMORY_H

#include <fmt/format.h>

#include <memory>
#include <new>
#include <string>

namespace updraft::runtime {

class OutOfMemory : public std::bad_alloc {
public:
  /// `purpose` completes "no memory for … bytes of".
  OutOfMemory(size_t bytes, const std::string &purpose)
      : text(std::make_shared<std::string>(
            fmt::format("no memory for {} bytes of {}", bytes, purpose))) {}

  const char *what() const noexcept override { return text->c_str(); }

private:
  std::shared_ptr<const std::string> text;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_OUTOFMEMORY_H
