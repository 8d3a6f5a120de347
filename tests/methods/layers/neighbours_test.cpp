// Tests what each kernel of a layer is told of the kernel before it.
#include <gtest/gtest.h>

#include "core/methods/layers/body.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::Settings;

TEST(NeighboursOfKernels, EachKnowsWhatTheKernelBeforeItTouches) {
  for (const Settings& settings : {Settings{"pp=2"}, Settings{"tp=4", "sp=on", "recompute=full"},
                                   Settings{"zero=3", "dp=4"}}) {
    const Workload w = prepare(testing::scenario(testing::gpt(), 4, settings));
    for (const Body& body : testing::non_empty(w.bodies))
      for (const std::vector<BodyOp>* ops : {&body.forward, &body.backward}) {
        const BodyOp* before = nullptr;
        for (const BodyOp& op : *ops) {
          if (op.communication) continue;
          const Bytes expected =
              before == nullptr ? Bytes{} : before->work.read + before->work.written;
          EXPECT_EQ(op.work.before, expected) << op.name;
          before = &op;
        }
      }
  }
}

// The two residual sums of a layer are one shape behind different kernels.
TEST(NeighboursOfKernels, OneShapeHasSeveralPlaces) {
  const Workload w = prepare(testing::scenario(testing::gpt(), 1, {}));
  const Body& layer = testing::layer(w);
  std::vector<Work> sums;
  for (const BodyOp& op : layer.forward)
    if (op.work.kind == WorkKind::Elementwise) sums.push_back(op.work);
  const bool any = std::any_of(sums.begin(), sums.end(), [&](const Work& a) {
    return std::any_of(sums.begin(), sums.end(), [&](const Work& b) {
      Work moved = b;
      moved.before = a.before;
      return a.before != b.before && moved == a;
    });
  });
  EXPECT_TRUE(any);
}

}  // namespace
}  // namespace trainyard
