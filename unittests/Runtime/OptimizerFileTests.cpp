//===- OptimizerFileTests.cpp - Saving and loading the state of an optimizer ------------------===//

#include "FakeRules.h"
#include "runtime/base/Safetensors.h"
#include "tools/harness/TemporaryFolder.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace updraft::runtime;
using namespace updraft::runtime::test;

namespace {

class OptimizerFile : public ::testing::Test {
protected:
  const updraft::harness::TemporaryFolder temporary;
  const std::string folder = temporary.path(), path = folder + "/state.safetensors";
};

/// A column-major matrix parameter, and one that never has a gradient.
struct Model {
  TestTensor<float> w{{3, 5}, 1}, g{{3, 5}}, unused{{2}, 1};
  std::vector<upd_tensor> grads;
  std::unique_ptr<Optimizer> optimizer;

  explicit Model(bool transposed, std::vector<const char *> names = {"net/w", "unused"}) {
    if (transposed)
      w.strides = g.strides = {1, 3};
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 5; ++j)
        g.data[static_cast<size_t>(transposed ? i + 3 * j : 5 * i + j)] =
            static_cast<float>(10 * i + j);
    grads = {g.view(), absentGradient()};
    const std::vector<upd_tensor> params = {w.view(), unused.view()};
    upd_group group = groupOf(params);
    group.names = names.data();
    Status status = CpuOptimizer::create(momentumRule(), &group, 1, nullptr, optimizer);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void step() { EXPECT_EQ(textOf(optimizer->step(grads.data(), grads.size())), "ok"); }
  float at(const TestTensor<float> &tensor, int64_t i, int64_t j) const {
    return tensor.data[static_cast<size_t>(w.strides.empty() ? 5 * i + j : i + 3 * j)];
  }
};

template <typename Value> SafetensorsWriter::Source valuesOf(std::vector<Value> values) {
  return [values](SafetensorsSink &sink) {
    return sink.write(values.data(), values.size() * sizeof(Value));
  };
}

} // namespace

TEST_F(OptimizerFile, TrainingGoesOnAsIfNothingHappened) {
  for (bool savedTransposed : {false, true})
    for (bool loadedTransposed : {false, true}) {
      Model first(savedTransposed), second(loadedTransposed);
      first.step();
      first.step();
      ASSERT_EQ(textOf(first.optimizer->setHyper(0, "lr", 0.375)), "ok");
      ASSERT_EQ(textOf(first.optimizer->save(path)), "ok");
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 5; ++j)
          second.w.data[static_cast<size_t>(loadedTransposed ? i + 3 * j : 5 * i + j)] =
              first.at(first.w, i, j);
      ASSERT_EQ(textOf(second.optimizer->load(path)), "ok");
      int64_t step = 0;
      double lr = 0;
      ASSERT_TRUE(second.optimizer->getStep(0, step).ok());
      EXPECT_EQ(step, 2);
      ASSERT_TRUE(second.optimizer->getHyper(0, "lr", lr).ok());
      EXPECT_EQ(lr, 0.375);
      upd_tensor state;
      EXPECT_EQ(second.optimizer->state(1, "buf", state).code(), UPD_NOT_FOUND);
      first.step();
      second.step();
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 5; ++j)
          EXPECT_EQ(second.at(second.w, i, j), first.at(first.w, i, j)) << i << ", " << j;
    }
}

TEST_F(OptimizerFile, MatchesTheDocumentedFormat) {
  Model model(true);
  model.step();
  ASSERT_EQ(textOf(model.optimizer->save(path)), "ok");
  SafetensorsFile file;
  ASSERT_EQ(textOf(SafetensorsFile::open(path, file)), "ok");
  ASSERT_EQ(file.tensors().size(), 2u);
  const SafetensorsEntry *buf = file.find("state/net/w/buf"), *step = file.find("state/net/w/step");
  ASSERT_TRUE(buf && step);
  EXPECT_EQ(buf->shape, (std::vector<int64_t>{3, 5}));
  float values[15];
  ASSERT_TRUE(file.read(*buf, 0, values, sizeof(values)).ok());
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[6], 11); // row-major in the file
  EXPECT_EQ(step->type, SafetensorsType::F32);
  EXPECT_TRUE(step->shape.empty());
  float count = 0;
  ASSERT_TRUE(file.read(*step, 0, &count, sizeof(count)).ok());
  EXPECT_EQ(count, 1);
  EXPECT_EQ(file.metadata().at("updraft.rule"), "Momentum");
  EXPECT_EQ(file.metadata().at("updraft.group.0.lr"), "0.1");

  ASSERT_TRUE(model.optimizer->setStep(0, (int64_t(1) << 24) + 1).ok());
  ASSERT_EQ(textOf(model.optimizer->save(path)), "ok");
  ASSERT_EQ(textOf(SafetensorsFile::open(path, file)), "ok");
  EXPECT_EQ(file.find("state/net/w/step")->type, SafetensorsType::I64);
  Model again(true);
  ASSERT_EQ(textOf(again.optimizer->load(path)), "ok");
  int64_t large = 0;
  ASSERT_TRUE(again.optimizer->getStep(0, large).ok());
  EXPECT_EQ(large, (int64_t(1) << 24) + 1);
}

TEST_F(OptimizerFile, LoadsIntoTheMemoryThatIsThere) {
  Model source(false);
  source.step();
  ASSERT_EQ(textOf(source.optimizer->save(path)), "ok");

  Model own(true), bound(false);
  own.step();
  own.step();
  upd_tensor view;
  ASSERT_EQ(textOf(own.optimizer->state(0, "buf", view)), "ok");
  ASSERT_EQ(textOf(own.optimizer->load(path)), "ok");
  EXPECT_EQ(static_cast<float *>(view.data)[1], 10); // element (1, 0)
  TestTensor<float> buf({3, 5}, -1);
  ASSERT_EQ(textOf(bound.optimizer->bindState(0, "buf", buf.view())), "ok");
  ASSERT_EQ(textOf(bound.optimizer->load(path)), "ok");
  EXPECT_EQ(buf.data[6], 11);
}

TEST_F(OptimizerFile, ParametersThatAreNotInTheFileHaveNoStates) {
  Model empty(false), model(false);
  ASSERT_EQ(textOf(empty.optimizer->save(path)), "ok");
  model.step();
  ASSERT_EQ(textOf(model.optimizer->load(path)), "ok");
  upd_tensor state;
  EXPECT_EQ(model.optimizer->state(0, "buf", state).code(), UPD_NOT_FOUND);
  int64_t step = -1;
  ASSERT_TRUE(model.optimizer->getStep(0, step).ok());
  EXPECT_EQ(step, 0);
  model.w.data.assign(15, 1);
  model.step();
  EXPECT_EQ(model.w.data[6], 1 - 0.1f * 11); // a first step
}

TEST_F(OptimizerFile, RefusesMismatches) {
  Model model(false);
  model.step();
  auto refusal = [&](auto fill) {
    SafetensorsWriter writer;
    fill(writer);
    EXPECT_EQ(textOf(writer.save(path)), "ok");
    Status status = model.optimizer->load(path);
    EXPECT_EQ(status.code(), UPD_INVALID_ARGUMENT);
    // Nothing has changed.
    int64_t step = 0;
    upd_tensor state;
    EXPECT_TRUE(model.optimizer->getStep(0, step).ok() && step == 1);
    EXPECT_TRUE(model.optimizer->state(0, "buf", state).ok());
    EXPECT_EQ(static_cast<float *>(state.data)[6], 11);
    const std::string start = "`" + path + "` does not fit the optimizer: ";
    EXPECT_EQ(status.message().substr(0, start.size()), start);
    return status.message().substr(std::min(start.size(), status.message().size()));
  };
  using Type = SafetensorsType;
  const auto fifteen = valuesOf(std::vector<float>(15, 3));
  const auto one = valuesOf<float>({1});
  EXPECT_EQ(
      refusal([&](SafetensorsWriter &w) { w.add("state/net/v/buf", Type::F32, {3, 5}, fifteen); }),
      "it has parameter `net/v`, which the optimizer has not; did you mean `net/w`?");
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) { w.add("state/w", Type::F32, {}, one); }),
            "`state/w` is not of the form `state/NAME/STATE`");
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) { w.add("state/net/w/exp", Type::F32, {}, one); }),
            "unknown state `state/net/w/exp` for rule `Momentum`");
  EXPECT_EQ(
      refusal([&](SafetensorsWriter &w) { w.add("state/net/w/buf", Type::F32, {5, 3}, fifteen); }),
      "`state/net/w/buf` has another shape than its parameter");
  EXPECT_EQ(
      refusal([&](SafetensorsWriter &w) {
        w.add("state/net/w/buf", Type::F64, {3, 5}, valuesOf(std::vector<double>(15)));
      }),
      "`state/net/w/buf` is F64, but the rule is compiled for F32; compile it with the storage "
      "type that the state was saved with");
  EXPECT_EQ(
      refusal([&](SafetensorsWriter &w) { w.add("state/net/w/buf", Type::F32, {3, 5}, fifteen); }),
      "parameter `net/w` lacks its step count");
  const std::string unrelated = "it has neither states nor metadata of one; give a file that an "
                                "optimizer has saved";
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) { w.add("net.w", Type::F32, {3, 5}, fifteen); }),
            unrelated);
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) { w.setMetadata("format", "pt"); }), unrelated);
  for (float bad : {-1.0f, 0.5f, 1e30f})
    EXPECT_EQ(refusal([&](SafetensorsWriter &w) {
                w.add("state/net/w/step", Type::F32, {}, valuesOf<float>({bad}));
              }),
              "`state/net/w/step` is not a step count; expected a whole number from 0 to 2^53, as "
              "one F32, F64 or I64");
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) { w.setMetadata("updraft.rule", "Adam"); }),
            "it is of rule `Adam`, not `Momentum`");
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) { w.setMetadata("updraft.group.0.lr", "-1.0"); }),
            "Invalid learning rate: -1.0");
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) { w.setMetadata("updraft.group.0.lr", "fast"); }),
            "expected a number for hyperparameter `lr` of group 0, got `fast`");
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) { w.setMetadata("updraft.group.1.lr", "1.0"); }),
            "it has 2 groups, but the optimizer has 1");
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) { w.setMetadata("updraft.group.0.beta", "1.0"); }),
            "it has hyperparameter `beta`, which rule `Momentum` has not");
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) {
              w.setMetadata("updraft.group.18446744073709551615.lr", "1.0");
              w.setMetadata("updraft.group.0.lr", "1.0");
            }),
            "its metadata has the unknown entry `updraft.group.18446744073709551615.lr`");
  // The rule is checked first, then the number of groups, then the hyperparameters.
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) {
              w.setMetadata("updraft.group.0.beta", "fast");
              w.setMetadata("updraft.group.1.beta", "fast");
              w.setMetadata("updraft.rule", "Adam");
            }),
            "it is of rule `Adam`, not `Momentum`");
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) {
              w.setMetadata("updraft.group.0.beta", "fast");
              w.setMetadata("updraft.group.1.beta", "fast");
            }),
            "it has 2 groups, but the optimizer has 1");
  EXPECT_EQ(refusal([&](SafetensorsWriter &w) { w.setMetadata("updraft.group.x", "1.0"); }),
            "its metadata has the unknown entry `updraft.group.x`");
}

TEST_F(OptimizerFile, LoadsAllStatesOfAParameterOrNone) {
  TestTensor<float> w({2}, 1);
  auto optimizer = makeOptimizer(initialRule(), {w.view()});
  SafetensorsWriter writer;
  writer.add("state/0/size", SafetensorsType::F32, {2}, valuesOf<float>({1, 2}));
  writer.add("state/0/step", SafetensorsType::I64, {}, valuesOf<int64_t>({3}));
  ASSERT_EQ(textOf(writer.save(path)), "ok");
  EXPECT_EQ(textOf(optimizer->load(path)),
            "`" + path + "` does not fit the optimizer: parameter `0` lacks state `last`");
}

TEST_F(OptimizerFile, OtherTensorsAreIgnored) {
  Model model(false);
  SafetensorsWriter writer;
  writer.add("param/net/w", SafetensorsType::F32, {1}, valuesOf<float>({1}));
  writer.add("state/net/w/step", SafetensorsType::F64, {}, valuesOf<double>({7}));
  ASSERT_EQ(textOf(writer.save(path)), "ok");
  ASSERT_EQ(textOf(model.optimizer->load(path)), "ok");
  int64_t step = 0;
  ASSERT_TRUE(model.optimizer->getStep(0, step).ok());
  EXPECT_EQ(step, 7);
}
