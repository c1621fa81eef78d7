//===- Launch.cpp - A kernel and the memory that it may access --------------------------------===//

#include "runtime/emulator/Launch.h"

#include "runtime/emulator/Block.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

using namespace updraft::emulator;

static thread_local Launch *currentLaunch = nullptr;

Launch &Launch::current() { return *currentLaunch; }

void Launch::allow(const void *data, int64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  if (data && bytes > 0)
    memory.push_back({begin, begin + static_cast<uintptr_t>(bytes)});
}

/// Streams may be the same tensor. Adjacent ranges stay separate, because an access across the
/// border would be a bug.
void Launch::mergeOverlaps() {
  std::sort(memory.begin(), memory.end(),
            [](const Memory &a, const Memory &b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (size_t i = 1; i < memory.size(); ++i) {
    if (memory[i].begin < memory[kept].end)
      memory[kept].end = std::max(memory[kept].end, memory[i].end);
    else
      memory[++kept] = memory[i];
  }
  memory.resize(std::min(memory.size(), kept + 1));
}

void Launch::run(runtime::EmulatedKernel kernel, void **arguments, int64_t blocks) {
  mergeOverlaps();
  count = blocks;
  static thread_local Block block;
  Launch *const before = std::exchange(currentLaunch, this);
  for (number = 0; number < count; ++number)
    if (!block.run([&] { kernel(arguments); }, static_cast<uint64_t>(number)))
      fail("threads wait for others that have ended");
  currentLaunch = before;
}

void Launch::check(const void *address, int64_t bytes) const {
  if (bytes == 0)
    return; // a masked-off lane
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const auto next =
      std::upper_bound(memory.begin(), memory.end(), begin,
                       [](uintptr_t value, const Memory &some) { return value < some.begin; });
  if (next == memory.begin() || begin + static_cast<uintptr_t>(bytes) > std::prev(next)->end)
    fail("an access is outside of the memory that the kernel was given");
}

void Launch::fail(const char *what) const {
  std::fprintf(stderr, "updraft emulator: %s, in thread %lld of block %lld\n", what,
               static_cast<long long>(Block::current().thread()), static_cast<long long>(number));
  std::abort();
}
