//===- Stepper.cpp - An optimizer to be timed -------------------------------------------------===//

#include "Stepper.h"

#include "Recorder.h"

#include <algorithm>
#include <fmt/format.h>

using namespace updraft::harness;
using namespace updraft::suite;

Stepper::Stepper(Device &device, const RuleRequest &request, std::vector<TensorShape> shapesOf)
    : device(device), shapes(std::move(shapesOf)), rule(compile(request, device.target())),
      optimizer(nullptr, upd_optimizer_release) {
  for (const TensorShape &shape : shapes)
    total += shape.elements();
  // Written streams exist only once.
  const int64_t held = (bytesPerElement() + sizeOf(upd_rule_grad_dtype(rule.get()))) / 2;
  const auto needed = static_cast<size_t>(held * total);
  if (const size_t free = device.freeBytes(); needed + needed / 20 > free)
    throw Skipped(
        fmt::format("needs {} MiB of memory, but only {} are free", needed >> 20, free >> 20));
  params = makeTensors(upd_rule_param_dtype(rule.get()), 0.5);
  grads = makeTensors(upd_rule_grad_dtype(rule.get()), 1e-2);
  optimizer = makeOptimizer(rule.get(), {params});
  device.wait();
  if (device.stream())
    check(upd_optimizer_set_stream(optimizer.get(), device.stream()));
  step();
  device.wait();
}

/// Puts all tensors into one allocation, each at an aligned address.
std::vector<upd_tensor> Stepper::makeTensors(upd_dtype dtype, double scale) {
  const int64_t size = sizeOf(dtype);
  int64_t bytes = 0;
  std::vector<int64_t> starts;
  for (const TensorShape &shape : shapes) {
    starts.push_back(bytes);
    bytes += (shape.elements() * size + 255) / 256 * 256;
  }
  memory.push_back(std::make_unique<Buffer>(device, static_cast<size_t>(bytes)));
  char *data = memory.back()->data();
  const std::vector<char> pattern =
      uniformValues(dtype, std::min<int64_t>(bytes / size, int64_t(1) << 24), scale, 1);
  for (int64_t done = 0; done < bytes; done += static_cast<int64_t>(pattern.size()))
    device.write(data + done, pattern.data(),
                 static_cast<size_t>(std::min<int64_t>(bytes - done, pattern.size())));
  std::vector<upd_tensor> tensors;
  for (size_t i = 0; i < shapes.size(); ++i)
    tensors.push_back({data + starts[i], shapes[i].sizes.data(), nullptr,
                       static_cast<int32_t>(shapes[i].sizes.size()), dtype, device.kind(), 0, 0});
  return tensors;
}

int64_t Stepper::bytesPerElement() const {
  int64_t bytes =
      2 * sizeOf(upd_rule_param_dtype(rule.get())) + sizeOf(upd_rule_grad_dtype(rule.get()));
  for (size_t i = 0; i < upd_rule_state_count(rule.get()); ++i)
    bytes += 2 * sizeOf(upd_rule_state_dtype(rule.get(), i));
  return bytes;
}

std::vector<TouchedStream> Stepper::streams() const {
  auto streamOf = [](const upd_tensor &tensor, bool written) {
    return TouchedStream{tensor.data, static_cast<int>(sizeOf(tensor.dtype)), written};
  };
  std::vector<TouchedStream> streams{streamOf(grads[0], false), streamOf(params[0], true)};
  for (size_t i = 0; i < upd_rule_state_count(rule.get()); ++i) {
    upd_tensor state{};
    check(upd_optimizer_state(optimizer.get(), 0, upd_rule_state_name(rule.get(), i), &state));
    streams.push_back(streamOf(state, true));
  }
  return streams;
}

std::vector<TensorShape> updraft::suite::resnet50() {
  std::vector<TensorShape> shapes;
  auto convolution = [&](int64_t out, int64_t in, int64_t size) {
    shapes.push_back({{out, in, size, size}});
    shapes.push_back({{out}}); // weight and bias of the batch normalization
    shapes.push_back({{out}});
  };
  convolution(64, 3, 7);
  int64_t in = 64;
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t width = int64_t(64) << stage, out = 4 * width;
    for (int block = 0; block < blocks[stage]; ++block) {
      convolution(width, in, 1);
      convolution(width, width, 3);
      convolution(out, width, 1);
      if (block == 0)
        convolution(out, in, 1);
      in = out;
    }
  }
  shapes.push_back({{1000, 2048}});
  shapes.push_back({{1000}});
  return shapes;
}

std::vector<TensorShape> updraft::suite::smallTensors(int64_t count) {
  return std::vector<TensorShape>(static_cast<size_t>(count), TensorShape{{64}});
}
