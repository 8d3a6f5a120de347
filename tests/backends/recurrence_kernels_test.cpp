// Tests the kernels of state spaces and of the delta rule against the reference.
#include <gtest/gtest.h>

#include "core/model/ops.h"
#include "tests/backends/kernel_agreement.h"

namespace trainyard {
namespace {

using testing::activation;
using testing::Draw;
using testing::expect_agreement;
using testing::KernelCase;
using testing::parameter;
using testing::sizes;

Dim heads_of(std::int64_t count, std::int64_t size) { return {count * size, Axis::None, count}; }

KernelCase causal_convolution_case(Draw& d) {
  const std::int64_t channels = d.between(1, 40);
  KernelCase c;
  c.inputs = {activation(sizes({d.between(1, 9), d.between(1, 3), channels})),
              parameter(sizes({channels, d.between(1, 5)}))};
  if (d.coin()) c.inputs.push_back(parameter(sizes({channels})));
  return c;
}

KernelCase state_space_case(Draw& d) {
  const std::int64_t sequence = d.between(1, 12), batch = d.between(1, 3), groups = d.between(1, 3),
                     heads = groups * d.between(1, 3);
  const auto tokens = [&](Dim last) { return activation({whole(sequence), whole(batch), last}); };
  const Tensor state = tokens(heads_of(groups, d.between(1, 20))), each = parameter(sizes({heads}));
  return {{tokens(heads_of(heads, d.between(1, 20))), tokens(whole(heads)), state, state, each,
           each, each},
          {{"heads", heads}, {"groups", groups}}};
}

KernelCase gated_delta_case(Draw& d) {
  const std::int64_t sequence = d.between(1, 12), batch = d.between(1, 3), keys = d.between(1, 3),
                     heads = keys * d.between(1, 3);
  const auto tokens = [&](Dim last) { return activation({whole(sequence), whole(batch), last}); };
  const Tensor key = tokens(heads_of(keys, d.between(1, 20))), each = parameter(sizes({heads})),
               per_head = tokens(whole(heads));
  return {{key, key, tokens(heads_of(heads, d.between(1, 20))), per_head, per_head, each, each},
          {{"heads", heads}, {"key_heads", keys}}};
}

KernelCase selective_scan_case(Draw& d) {
  const std::int64_t sequence = d.between(1, 12), batch = d.between(1, 3),
                     channels = d.between(1, 20), state = d.between(1, 20);
  const Tensor x = activation(sizes({sequence, batch, channels})),
               read = activation(sizes({sequence, batch, state}));
  return {{x, x, read, read, parameter(sizes({channels, state})), parameter(sizes({channels}))}};
}

TEST(RecurrenceKernels, SelectiveScan) { expect_agreement(selective_scan(), selective_scan_case); }
TEST(RecurrenceKernels, CausalConvolution) {
  expect_agreement(causal_convolution(), causal_convolution_case);
}
TEST(RecurrenceKernels, StateSpace) { expect_agreement(state_space(), state_space_case); }
TEST(RecurrenceKernels, GatedDelta) { expect_agreement(gated_delta(), gated_delta_case); }

}  // namespace
}  // namespace trainyard
