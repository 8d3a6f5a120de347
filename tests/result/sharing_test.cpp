#include <gtest/gtest.h>

#include "core/lowering/draft.h"
#include "core/result/verdict.h"

namespace trainyard {
namespace {

struct Made {
  Program program;
  TaskPrices prices;
};

// A forward of 1 and a backward of 2, in one lane per wave on one device.
Made made(int waves, double forward, double backward) {
  Draft draft;
  Task task;
  task.stage = {0};
  const TaskId f = draft.task(task);
  task.phase = Phase::Backward;
  const TaskId b = draft.task(task);
  for (int w = 0; w < waves; ++w) {
    const std::uint32_t lane = draft.stream({0}, "wave " + std::to_string(w), true);
    draft.add(lane, f, w, {}, static_cast<std::int16_t>(w));
    draft.add(lane, b, w, {}, static_cast<std::int16_t>(w));
  }
  Made all{draft.finish(), {}};
  all.prices.time = {Duration{1000}, Duration{2000}};
  all.prices.fill = {forward, backward};
  return all;
}

std::string sentence(const Made& m) { return sharing_sentence(m.program, m.prices); }

TEST(Sharing, NoGainIsPromisedWhereOneWaveFillsTheDevice) {
  EXPECT_EQ(sentence(made(2, 1, 1)),
            "one wave already fills the device, so 2 promise no gain in time, only waves of memory "
            "that do not meet");
  EXPECT_EQ(sentence(made(3, 0.96, 0.97)).find("at most"), std::string::npos);
}

// 1 / (0.4 + 2 * 0.6) * 3 = 1.875; three waves of a tenth gain at most three times.
TEST(Sharing, TheGainIsBoundedByWhatOneWaveLeaves) {
  EXPECT_EQ(sentence(made(2, 0.4, 0.6)),
            "one wave fills 53 % of the device, so 2 gain at most 1.88 times");
  EXPECT_EQ(sentence(made(3, 0.1, 0.1)),
            "one wave fills 10 % of the device, so 3 gain at most 3.00 times");
}

TEST(Sharing, OneWaveHasNothingToShare) { EXPECT_EQ(sentence(made(1, 0.5, 0.5)), ""); }

}  // namespace
}  // namespace trainyard
