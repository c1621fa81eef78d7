//===- DistributedWorks.cpp - Benchmarks of a step in another process -------------------------===//
// Compares updraft.distributed.optim with torch.distributed.optim: a client, and one worker with
// one compute thread. The worker may have threads that run Python all the time. The bounds are
// those of docs/performance.md.

#include "PythonPeer.h"
#include "Work.h"

#include <fmt/format.h>

#include <algorithm>

using namespace updraft::bench;

namespace {
struct DistributedWork {
  std::string name;
  std::string torchClass;
  int64_t tensors;
  int64_t elements;
  double shareOfTorch; ///< the longest time allowed for Updraft, as a fraction of torch's
};

/// The number of threads that run Python on the worker while a step waits there.
constexpr int spinning[] = {1, 3};
/// A step beside these threads may take this many times as long.
constexpr double mayGrow = 1.3;
/// Threads that wait for a core make the times vary, so the minimum needs many rounds.
constexpr int rounds = 81;

const Row &find(const std::vector<Row> &rows, const std::string &impl) {
  return *std::find_if(rows.begin(), rows.end(), [&](const Row &row) { return row.impl == impl; });
}

/// `transport` is one of TensorPipe's, or `any`: torch's own choice.
std::vector<Row> runOver(const std::string &transport, const BenchOptions &options,
                         const DistributedWork &work) {
  PythonPeer peer(options.python, options.pythonScripts + "/distributed_peer.py", 1, {transport});
  PeerSetup setup{work.torchClass, "{}", "f32", work.tensors, work.elements};
  if (options.quick) {
    setup.tensors = std::min<int64_t>(setup.tensors, 4);
    setup.elements = std::min<int64_t>(setup.elements, 2000);
  }
  const std::string suffix = transport == "any" ? "" : ", " + transport;
  auto contestant = [&](const std::string &name, const std::string &implementation) {
    return *peer.contestant(name + suffix, implementation, setup);
  };
  std::vector<Contestant> racing = {
      contestant("updraft", "updraft:0"), contestant("torch functional", "functional:0"),
      contestant("torch eager", "eager:0"), contestant("empty call", "empty:0")};
  for (int threads : spinning)
    for (const char *implementation : {"updraft", "empty"})
      racing.push_back(contestant(fmt::format("{}, {} spinning", implementation, threads),
                                  fmt::format("{}:{}", implementation, threads)));
  std::vector<Row> rows = race(work.name, std::move(racing), options.quick ? 3 : rounds, 1e-3);

  const Row ours = find(rows, "updraft" + suffix);
  for (Row &row : rows)
    if (row.impl.starts_with("torch"))
      row.figure = {timesUpdraft, timesAsLong(row, ours), 1 / work.shareOfTorch};
  for (int threads : spinning) {
    const std::string beside = fmt::format(", {} spinning{}", threads, suffix);
    const Row empty = find(rows, "empty" + beside);
    for (Row &row : rows)
      if (row.impl == "updraft" + beside)
        row.figure = {"x the quiet median and the empty call's",
                      row.medianMs / (ours.medianMs + empty.medianMs), mayGrow,
                      /*atLeast=*/false};
    Row best = rowOf(work.name, "best" + beside, "f32", {find(rows, "updraft" + beside).minMs});
    best.figure = {"x the quiet best", best.minMs / ours.minMs, mayGrow, /*atLeast=*/false};
    rows.push_back(std::move(best));
  }
  if (options.quick) // the bounds don't apply to other sizes
    for (Row &row : rows)
      if (row.figure)
        row.figure->bound.reset();
  return rows;
}

/// Runs over shared memory, for which TensorPipe has a polling thread in each process, and over
/// sockets, which don't occupy a core while idle.
std::vector<Row> run(const BenchOptions &options, const DistributedWork &work) {
  std::vector<Row> rows = runOver("any", options, work);
  for (Row &row : runOver("uv", options, work)) {
    // A step alone is compared over the transport that is the fastest for it.
    if (row.impl.starts_with("torch"))
      row.figure->bound.reset();
    rows.push_back(std::move(row));
  }
  return rows;
}
} // namespace

std::vector<Work> updraft::bench::distributedWorks() {
  static const DistributedWork all[] = {
      {"distributed-adagrad-50x10k", "Adagrad", 50, 10'000, 0.35},
      {"distributed-adamw-1x5M", "AdamW", 1, 5'000'000, 0.22},
  };
  std::vector<Work> works;
  for (const DistributedWork &work : all)
    works.push_back({work.name,
                     fmt::format("step({}) on a worker, {} x {} f32", work.torchClass, work.tensors,
                                 work.elements),
                     [work](const BenchOptions &options) { return run(options, work); },
                     /*group=*/"distributed"});
  return works;
}
