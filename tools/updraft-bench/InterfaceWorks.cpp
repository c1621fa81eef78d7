//===- InterfaceWorks.cpp - Benchmarks of a step through the C++ API --------------------------===//
// The C and the C++ API step the same optimizer in turn, so that only the call differs.

#include "Work.h"

#include "updraft/Compiler.h"
#include "updraft/Optimizer.h"

#include <fmt/format.h>

#include <stdexcept>

using namespace updraft;
using namespace updraft::bench;

namespace {
std::vector<Row> run(const BenchOptions &options, const std::string &work, int64_t tensors,
                     int64_t elements, double bound) {
  CompileOptions compileOptions;
  compileOptions.cacheDir = "";
  compileOptions.numerics = options.numerics;
  const Rule rule = compileFile(options.rulesDir + "/adamw.upd", compileOptions).value();

  std::vector<float> values(tensors * elements, 0.5f), slopes(tensors * elements, 1e-2f);
  ParamGroup group;
  TensorList grads;
  for (int64_t i = 0; i < tensors; ++i) {
    group.params.add({values.data() + i * elements, {elements}});
    grads.add({slopes.data() + i * elements, {elements}});
  }
  Optimizer optimizer = Optimizer::create(rule, {group}).value();
  optimizer.step(grads).value();

  std::vector<Row> rows =
      race(options.labelled(work),
           {timed("C", "f32",
                  [&] {
                    if (upd_optimizer_step(optimizer.get(), grads.data(), grads.size()) != UPD_OK)
                      throw std::runtime_error(upd_last_error());
                  }),
            timed("C++", "f32", [&] { optimizer.step(grads).value(); })},
           options.quick ? 3 : 31, options.quick ? 1e-4 : 0.1);
  rows[1].figure = {"x as long as through C", timesAsLong(rows[1], rows[0]), bound, false};
  if (options.quick) // the bound doesn't apply to another size
    rows[1].figure->bound.reset();
  return rows;
}
} // namespace

std::vector<Work> updraft::bench::interfaceWorks() {
  const std::string large = "interfaces-1x50M", small = "interfaces-1000x1k";
  return {{large, "AdamW, one tensor of 50 M f32, through the C API and the C++ API",
           [large](const BenchOptions &options) {
             return run(options, large, 1, options.quick ? 100'000 : 50'000'000, 1.02);
           }},
          {small, "AdamW, 1000 tensors of 1000 f32, through the C API and the C++ API",
           [small](const BenchOptions &options) {
             return run(options, small, options.quick ? 16 : 1000, 1000, 1.05);
           }}};
}
