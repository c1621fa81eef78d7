//===- check-products.cpp - Multiplies with the code of a package -----------------------------===//
// usage: check-products PACKAGE [TARGET]
// The package has a rule with bf16 products. Compares them with their bounds, for sizes around the
// tiles and blocks of every target, and the other products of the rule with their bits. Without
// TARGET, takes the code that loading takes. Exit code: 0 all are right, 1 some are wrong or the
// package has no such code for this CPU, 2 wrong usage.

#include "../Target/ProductCheck.h"
#include "runtime/base/Kernels.h"
#include "runtime/package/Machine.h"
#include "runtime/package/PackagedRule.h"

#include <fmt/format.h>

using namespace updraft;
using namespace updraft::test;
using runtime::Status;

namespace {

class Check {
public:
  Check(upd_product_function product, bool roundsOperands) {
    products.product = product;
    products.roundsOperands = roundsOperands;
  }

  void run() {
    size_t next = 0;
    for (const int64_t rows : {1, 3, 4, 5, 7, 8, 9, 19, 27})
      for (const int64_t columns : {1, 11, 12, 13, 16, 29, 33, 67})
        for (const int64_t depth : {0, 1, 2, 3, 5, 16, 17, 41}) {
          products.fill({rows, columns, depth});
          const size_t layouts = next++;
          compare(allLayouts[layouts % 6], allLayouts[layouts / 6 % 6]);
          compare(Layout::Rows, Layout::Columns, /*below=*/2);
        }
    // Around blocks of the depth, of lhs and of rhs.
    for (const Sizes sizes : {Sizes{17, 35, 383}, Sizes{17, 35, 384}, Sizes{17, 35, 385},
                              Sizes{9, 14, 801}, Sizes{180, 7, 21}, Sizes{5, 800, 21}}) {
      products.fill(sizes);
      compare(Layout::Columns, Layout::Columns);
      compare(Layout::Rows, Layout::Rows);
    }
    // The lower triangle of a symmetric product.
    products.fill({70, 70, 19});
    for (Layout layout : allLayouts)
      compare(layout, layout, /*below=*/0);
  }

  size_t compared = 0, failed = 0;

private:
  void compare(Layout lhs, Layout rhs, int64_t below = std::numeric_limits<int64_t>::max()) {
    const std::string text = products.differences(lhs, rhs, below);
    ++compared;
    if (text.empty())
      return;
    ++failed;
    fmt::print("{}\n", text);
  }

  ProductCheck<float> products;
};

Status checkAll(const char *path, const char *target, bool &isRight) {
  std::shared_ptr<const package::Package> opened;
  if (Status status = package::Package::openFile(path, opened); !status.ok())
    return status;
  const package::Image *image = nullptr;
  Status status = target ? package::findTarget(*opened, 0, target, image)
                         : package::findForHost(*opened, 0, image);
  if (!status.ok())
    return status;
  std::shared_ptr<const runtime::Kernels> kernels;
  if (status = package::loadKernels(*opened, *image, kernels); !status.ok())
    return status;
  if (!kernels->bf16Product)
    return {UPD_INVALID_ARGUMENT, "the rule has no bf16 products"};
  const bool rounds = package::Machine::multipliesBF16(image->architecture, image->level);
  Check bf16(kernels->bf16Product, rounds), exact(kernels->product, /*roundsOperands=*/false);
  bf16.run();
  exact.run();
  fmt::print("{}: {} of {} bf16 products wrong, operands {}; {} of {} other products wrong\n",
             image->target, bf16.failed, bf16.compared, rounds ? "rounded" : "not rounded",
             exact.failed, exact.compared);
  isRight = bf16.failed + exact.failed == 0;
  return {};
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: check-products PACKAGE [TARGET]\n");
    return 2;
  }
  bool isRight = false;
  const Status status = checkAll(argv[1], argc == 3 ? argv[2] : nullptr, isRight);
  if (!status.ok())
    fmt::print(stderr, "check-products: {}\n", status.message());
  return isRight ? 0 : 1;
}
