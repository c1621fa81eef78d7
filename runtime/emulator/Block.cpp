//===- Block.cpp - The threads of one block ---------------------------------------------------===//

#include "runtime/emulator/Block.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace updraft::emulator;

constexpr size_t stackBytes = size_t(64) * 1024;

static thread_local Block *currentBlock = nullptr;

Block::Block()
    : fibres(UPD_GPU_THREADS), warps(UPD_GPU_THREADS / UPD_GPU_WARP_THREADS),
      stacks(new char[fibres.size() * stackBytes]) {}

Block &Block::current() { return *currentBlock; }

void Block::enter() {
  Block &block = current();
  (*block.function)();
  block.fibres[static_cast<size_t>(block.running)].ended = true;
  ++block.progress;
}

void Block::yield() { swapcontext(&fibres[static_cast<size_t>(running)].context, &scheduler); }

bool Block::run(const std::function<void()> &thread, uint64_t seed) {
  function = &thread;
  currentBlock = this;
  warps.assign(warps.size(), Warp());
  arrived = 0;
  for (size_t i = 0; i < fibres.size(); ++i) {
    Fibre &fibre = fibres[i];
    fibre.ended = false;
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = stacks.get() + i * stackBytes;
    fibre.context.uc_stack.ss_size = stackBytes;
    fibre.context.uc_link = &scheduler;
    makecontext(&fibre.context, &Block::enter, 0);
  }
  std::vector<size_t> order(fibres.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  while (!order.empty()) {
    const uint64_t before = progress;
    for (size_t number : order) {
      running = static_cast<int64_t>(number);
      swapcontext(&scheduler, &fibres[number].context);
    }
    if (progress == before)
      return false;
    std::erase_if(order, [&](size_t number) { return fibres[number].ended; });
  }
  return true;
}

int32_t Block::exchange(int32_t value, int32_t distance) {
  const auto number = static_cast<size_t>(running);
  Warp &warp = warps[number / UPD_GPU_WARP_THREADS];
  const size_t lane = number % UPD_GPU_WARP_THREADS;
  const uint64_t exchange = warp.exchanges;
  int32_t (&values)[UPD_GPU_WARP_THREADS] = warp.values[exchange % 2];
  values[lane] = value;
  if (++warp.arrived == UPD_GPU_WARP_THREADS) {
    warp.arrived = 0;
    ++warp.exchanges;
    ++progress;
  }
  while (warp.exchanges == exchange)
    yield();
  return values[lane ^ static_cast<size_t>(distance)];
}

void Block::barrier() {
  const uint64_t passed = barriers;
  if (++arrived == fibres.size()) {
    arrived = 0;
    ++barriers;
    ++progress;
  }
  while (barriers == passed)
    yield();
}
