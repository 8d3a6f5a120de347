// Tests where most of a difference lies: in one span, one name, many, or a part of the waiting.
#include "core/timeline/residual_origin.h"

#include <gtest/gtest.h>

#include "core/timeline/compare.h"
#include "tests/support/non_empty.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

using std::chrono::milliseconds;
using testing::pipeline;
using testing::play;

Timeline paced(const Program& program, Duration forward, Duration backward) {
  return play(program, [=](const Task& task) {
    if (task.kind != TaskKind::Compute) return Duration{};
    return task.phase == Phase::Forward ? forward : backward;
  });
}

InstructionId compute_of(const Program& program, std::uint32_t device, Phase phase, int nth) {
  for (const Stream& stream : program.streams)
    if (stream.device.value == device && stream.compute)
      for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i)
        if (program.task(InstructionId{i}).phase == phase && nth-- == 0) return {i};
  return {};
}

TEST(ResidualOrigin, NothingDiffers) {
  const Program program = pipeline();
  const Timeline run = paced(program, milliseconds(1), milliseconds(2));
  for (const NamedPart& part : testing::non_empty(breakdown_parts()))
    EXPECT_EQ(residual_origin(part.part, {}, program, {0}, run, run).kind, OriginKind::None);
}

TEST(ResidualOrigin, OneSpanThatTookHalfOfItIsNamed) {
  const Program program = pipeline({.devices = 1, .microbatches = 4});
  const Timeline predicted = paced(program, milliseconds(1), milliseconds(2));
  Timeline measured = predicted;
  const InstructionId slow = compute_of(program, 0, Phase::Backward, 2);
  measured.spans[slow.value].end += milliseconds(5);
  const auto of = [&](Duration difference) {
    return residual_origin(&Breakdown::backward, difference, program, {0}, predicted, measured);
  };
  EXPECT_EQ(of(milliseconds(10)).kind, OriginKind::Span);
  EXPECT_EQ(of(milliseconds(10)).span, slow);
  EXPECT_EQ(of(milliseconds(10)).predicted, milliseconds(2));
  EXPECT_EQ(of(milliseconds(10)).measured, milliseconds(7));
  // A nanosecond more, and it has less than half: all of that name are told.
  EXPECT_NE(of(milliseconds(10) + Duration{1}).kind, OriginKind::Span);
  // The only one of its cause is not one among others.
  measured.spans[compute_of(program, 0, Phase::Update, 0).value].end += milliseconds(5);
  EXPECT_EQ(
      residual_origin(&Breakdown::optimizer, milliseconds(5), program, {0}, predicted, measured)
          .kind,
      OriginKind::Work);
}

TEST(ResidualOrigin, ANameThatHasHalfOfItIsNamed) {
  const Program program = pipeline({.devices = 1, .microbatches = 4});
  const ResidualOrigin origin = residual_origin(&Breakdown::forward, milliseconds(4), program, {0},
                                                paced(program, milliseconds(1), milliseconds(2)),
                                                paced(program, milliseconds(2), milliseconds(2)));
  EXPECT_EQ(origin.kind, OriginKind::Work);
  EXPECT_EQ(program.name(program.task(origin.span).name), "forward");
  EXPECT_EQ(origin.predicted, milliseconds(4));
  EXPECT_EQ(origin.measured, milliseconds(8));
}

TEST(ResidualOrigin, WithoutOneNameThatHasHalfTheMostIsNamed) {
  Draft draft;
  const std::uint32_t stream = draft.stream({0}, "compute", true);
  for (const char* name : {"query", "key", "value"}) {
    Task task;
    task.name = draft.name(name), task.pass = draft.name("test");
    const TaskId id = draft.task(task);
    for (int m = 0; m < 4; ++m) draft.add(stream, id, m, {});
  }
  const Program program = draft.finish();
  const auto run = [&](Duration query, Duration key, Duration value) {
    return play(program, [&, query, key, value](const Task& task) {
      const std::string_view name = program.name(task.name);
      return name == "query" ? query : name == "key" ? key : value;
    });
  };
  const ResidualOrigin origin =
      residual_origin(&Breakdown::forward, milliseconds(4 * 7), program, {0},
                      run(milliseconds(1), milliseconds(1), milliseconds(1)),
                      run(milliseconds(3), milliseconds(4), milliseconds(3)));
  EXPECT_EQ(origin.kind, OriginKind::Spread);
  EXPECT_EQ(program.name(program.task(origin.span).name), "key");
  EXPECT_EQ(origin.kinds, 3);
}

// The second device waits for the first forward and, at the end, for the first device's backward.
TEST(ResidualOrigin, WaitingIsOfFillOrDrain) {
  const Program program = pipeline({.devices = 2, .microbatches = 4});
  const Timeline predicted = paced(program, milliseconds(1), milliseconds(2));
  const auto of = [&](const Timeline& measured, Duration difference) {
    return residual_origin(&Breakdown::bubble, difference, program, {1}, predicted, measured);
  };
  const ResidualOrigin fill = of(paced(program, milliseconds(2), milliseconds(2)), milliseconds(1));
  EXPECT_EQ(fill.kind, OriginKind::Fill);
  EXPECT_EQ(fill.predicted, milliseconds(1));
  EXPECT_EQ(fill.measured, milliseconds(2));
  const ResidualOrigin drain =
      of(paced(program, milliseconds(1), milliseconds(4)), milliseconds(2));
  EXPECT_EQ(drain.kind, OriginKind::Drain);
  EXPECT_EQ(drain.predicted, milliseconds(2));
  EXPECT_EQ(drain.measured, milliseconds(4));
}

TEST(ResidualOrigin, TransfersThatTookAsLongWereHiddenOtherwise) {
  const Program program = pipeline({.devices = 2, .microbatches = 4});
  const auto run = play(program, [](const Task& task) {
    return task.kind == TaskKind::Compute ? milliseconds(2) : milliseconds(1);
  });
  const ResidualOrigin origin =
      residual_origin(&Breakdown::pipeline, milliseconds(3), program, {1}, run, run);
  EXPECT_EQ(origin.kind, OriginKind::Hidden);
  EXPECT_EQ(origin.predicted, milliseconds(8));  // four messages came and four went
  EXPECT_EQ(origin.measured, milliseconds(8));
}

// compare() explains a cause for the device to which the cause belongs.
TEST(ResidualOrigin, AComparisonSaysItOfEveryCause) {
  const Program program = pipeline({.devices = 2, .microbatches = 4});
  const auto run = [&](Duration forward) {
    std::pair<Timeline, std::vector<MemoryWave>> made{paced(program, forward, milliseconds(2)), {}};
    for (std::uint32_t d = 0; d < 2; ++d)
      made.second.push_back(memory_wave(made.first, program, {d}));
    return made;
  };
  const auto predicted = run(milliseconds(1)), measured = run(milliseconds(3));
  const TimelineComparison c =
      compare(program, {predicted.first, predicted.second}, {measured.first, measured.second});
  for (const CauseResidual& cause : testing::non_empty(c.causes))
    EXPECT_EQ(cause.origin.kind == OriginKind::None, cause.difference() == Duration{})
        << cause.name;
  EXPECT_EQ(c.causes[0].origin.kind, OriginKind::Work);
  EXPECT_EQ(c.causes[0].origin.measured, milliseconds(12));
}

}  // namespace
}  // namespace trainyard
