//===- RowsRun.h - One plan of a rule, applied to some rows of a parameter ----------*- C++ -*-===//
// Kernels process consecutive rows as a tensor. The streams point into the parameter and its
// states, so nothing is copied, and time and memory traffic depend only on the listed rows.

#ifndef UPDRAFT_RUNTIME_CPU_ROWSRUN_H
#define UPDRAFT_RUNTIME_CPU_ROWSRUN_H

#include "runtime/base/Kernels.h"
#include "runtime/cpu/PrologueRows.h"
#include "runtime/cpu/SweepDomain.h"
#include "runtime/optimizer/StateArena.h"

#include <memory>
#include <vector>

namespace updraft::runtime {

class RowsRun {
public:
  /// `gradient` has one row for each of the `count` indices, which are ascending. Both must outlive
  /// the run. `shape` is that of the whole parameter, which has `rows` rows. `groupSizes` has, for
  /// each group, the number of elements that take part in the step.
  RowsRun(std::shared_ptr<const Kernels> kernels, size_t plan, uint32_t param,
          const PrologueRows::Key &key, const TensorShape &shape,
          const std::vector<int64_t> &groupSizes, int64_t rows, const int64_t *indices,
          int64_t count, void *gradient);

  uint32_t param() const { return parameter; }
  PrologueRows &scalars() { return prologueRows; }
  bool isFirst() const { return prologueRows[0].first; }
  bool isSkipped() const { return prologueRows.isSkipped(0); }
  const std::vector<StreamInterface> &streamInterfaces() const { return plan.streams; }
  /// Sets the start of the parameter or of a state.
  void setStream(size_t index, void *data) { streams[index].data = static_cast<char *>(data); }

  /// Evaluates all prologues, none of which depends on a sweep. Allocates the memory for `run`.
  /// Throws std::bad_alloc.
  void start(const InitialValues &initial, const GroupHypers &hypers, const upd_pool &pool);
  /// Runs the sweeps over the rows. Not allowed if the step is skipped.
  void run(const upd_pool &pool);

private:
  struct Stream {
    char *data;
    size_t rowBytes;
  };
  /// A chunk of rows, as arguments of kernels. Rows with consecutive indices are one tensor.
  struct Scratch {
    std::vector<void *> streams;
    std::vector<upd_range> elements, rows, blocks;
    std::vector<upd_site> sites;
    StateArena temporaries;
    size_t tensors = 0;
  };

  int64_t boundary(size_t part, size_t parts) const;
  void runPart(Scratch &scratch, int64_t begin, int64_t end) const;
  int64_t gather(Scratch &scratch, int64_t row, int64_t end) const;
  void append(Scratch &scratch, int64_t row, int64_t rows, size_t inChunk) const;
  void call(Scratch &scratch) const;

  std::shared_ptr<const Kernels> kernels;
  const PlanInterface &plan;
  const PlanFunctions &functions;
  uint32_t parameter;
  const int64_t *indices;
  int64_t count;
  int64_t rowElements;
  int64_t chunkRows;
  bool isFlat = true; // all sweeps are flat over elements, so a row may be cut
  std::vector<Stream> streams;
  PrologueRows prologueRows;
  std::vector<Scratch> scratches; // one for each part
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_ROWSRUN_H
