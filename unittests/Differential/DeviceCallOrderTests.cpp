//===- DeviceCallOrderTests.cpp - Calls of an optimizer on a device, in any order -------------===//

#include "WatchedSteps.h"

#include "runtime/base/DType.h"

#include <cstdio>
#include <deque>
#include <random>

using namespace updraft;
using namespace updraft::differential;

namespace {
class DeviceStepOrders : public WatchedRuleSteps {};

INSTANTIATE_TEST_SUITE_P(All, DeviceStepOrders, watchedRules());
} // namespace

TEST_P(DeviceStepOrders, AreThoseOfTheCPU) {
  const std::string path = testing::TempDir() + "calls-" + GetParam() + ".safetensors";
  const std::string unread = path + ".unread"; // of the other side
  constexpr size_t count = 3;
  for (unsigned seed = 0; seed < 15; ++seed) {
    SCOPED_TRACE(seed);
    make(count);
    std::mt19937 random(seed);
    auto below = [&](int bound) { return static_cast<int>(random() % bound); };
    float found[2] = {};
    const upd_tensor founds[] = {number(&found[0], UPD_CPU),
                                 number(&found[1], runtime::emulatorDevice)};
    ASSERT_TRUE(ok(cpu->bindFoundInf(&founds[0])));
    ASSERT_TRUE(ok(onDevice->bindFoundInf(&founds[1])));
    std::deque<std::vector<float>> bound; // needs stable addresses
    std::vector<float> counts(count);
    std::vector<bool> isCountBound(count);
    std::string calls;
    for (int call = 0; call < 20; ++call) {
      const int what = below(10);
      const auto param = static_cast<size_t>(below(count));
      calls += std::to_string(what) + "/" + std::to_string(param) + " ";
      SCOPED_TRACE(calls);
      // Both sides have the same result or the same error.
      auto both = [&](auto body) {
        const Status here = body(*cpu, 0), there = body(*onDevice, 1);
        EXPECT_EQ(here.code(), there.code()) << here.message() << there.message();
        EXPECT_EQ(here.message(), there.message());
      };
      if (what < 4) {
        found[0] = found[1] = below(4) == 0;
        for (std::vector<float> &grad : grads)
          for (float &element : grad)
            element = static_cast<float>(below(64) - 32) / 16;
        const int absent = below(6);
        const bool isApplied = below(4) != 0, isWhole = below(2) != 0;
        both([&](runtime::Optimizer &optimizer, int side) {
          std::vector<upd_tensor> all = views(grads, side ? runtime::emulatorDevice : UPD_CPU);
          if (absent < 3) {
            all[absent] = {};
            all[absent].rank = UPD_ABSENT;
          }
          if (isWhole)
            return optimizer.step(all.data(), all.size());
          Status status = optimizer.prepare({.tensors = all.data(), .count = all.size()});
          return status.ok() && isApplied ? optimizer.apply(nullptr) : status;
        });
      } else if (what == 4) {
        const double value = (below(8) - 1) / 16.0;
        both(
            [&](runtime::Optimizer &optimizer, int) { return optimizer.setHyper(0, "lr", value); });
      } else if (what == 5) {
        const int64_t step = below(5);
        both([&](runtime::Optimizer &optimizer, int) { return optimizer.setStep(param, step); });
      } else if (what == 6) {
        const auto &states = cpu->interface().states;
        if (states.empty())
          continue;
        const runtime::StateInterface &state = states[below(static_cast<int>(states.size()))];
        bound.emplace_back(elements, 0.75f);
        bound.emplace_back(elements, 0.75f);
        both([&](runtime::Optimizer &optimizer, int side) {
          upd_tensor view = number(bound[bound.size() - 1 - side].data(),
                                   side ? runtime::emulatorDevice : UPD_CPU);
          view.dtype = state.dtype;
          if (state.over == runtime::Extent::Element) {
            view.shape = &elements;
            view.rank = 1;
          }
          return optimizer.bindState(param, state.name.c_str(), view);
        });
      } else if (what == 7) {
        const bool fromCpu = below(2) != 0;
        bool isSaved = false; // not if only some states of a parameter are bound
        both([&](runtime::Optimizer &optimizer, int side) {
          const Status status = optimizer.save((side == 0) == fromCpu ? path : unread);
          isSaved = status.ok();
          return status;
        });
        if (below(2) && isSaved)
          both([&](runtime::Optimizer &optimizer, int) { return optimizer.load(path); });
      } else if (what == 8) {
        int64_t step;
        ASSERT_TRUE(ok(cpu->getStep(param, step)));
        if (!isCountBound[param]) {
          counts[param] = static_cast<float>(step);
          isCountBound[param] = true;
          ASSERT_TRUE(
              ok(onDevice->bindStep(param, number(&counts[param], runtime::emulatorDevice))));
        }
      } else {
        for (const runtime::StateInterface &state : cpu->interface().states)
          both([&](runtime::Optimizer &optimizer, int) {
            upd_tensor view;
            return optimizer.state(param, state.name.c_str(), view);
          });
      }
    }
    compare();
    for (size_t i = 0; i < count; ++i)
      for (const runtime::StateInterface &state : cpu->interface().states) {
        upd_tensor views[2];
        if (!cpu->state(i, state.name.c_str(), views[0]).ok())
          continue;
        ASSERT_TRUE(ok(onDevice->state(i, state.name.c_str(), views[1]))) << state.name;
        const size_t bytes = runtime::sizeOf(state.dtype) * (views[0].rank ? elements : 1);
        EXPECT_EQ(std::memcmp(views[0].data, views[1].data, bytes), 0) << state.name << calls;
      }
    if (HasFailure())
      return;
  }
  std::remove(path.c_str());
  std::remove(unread.c_str());
}
