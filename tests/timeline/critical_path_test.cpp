#include "core/timeline/critical_path.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "tests/support/non_empty.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

using std::chrono::milliseconds;
using testing::pipeline;
using testing::play;

// A length for each instruction would need a task of its own; tasks are told apart by stage, phase
// and kind, which is enough to make any stage the slow one.
struct Lengths {
  std::vector<int> of;  // in milliseconds, by a task's place in the program
  Duration operator()(const Program& p, const Task& task) const {
    return milliseconds(of[static_cast<std::size_t>(&task - p.tasks.data()) % of.size()]);
  }
};

Timeline run(const Program& p, const Lengths& lengths) {
  return play(p, [&](const Task& task) { return lengths(p, task); });
}

TEST(CriticalPath, OfAPipelineWithoutTransfersGoesForthAndBack) {
  const Program program = pipeline({.devices = 3, .microbatches = 1});
  const Timeline t = play(program, [](const Task& task) {
    return task.kind == TaskKind::Compute && task.phase != Phase::Update ? milliseconds(2)
                                                                         : milliseconds(0);
  });
  const CriticalPath path = critical_path(t, program);
  std::vector<std::string> computed;
  for (const CriticalStep& step : path.steps)
    if (t.spans[step.id.value].length() > Duration{})
      computed.push_back(describe(program, step.id));
  EXPECT_EQ(computed, (std::vector<std::string>{"stage 0 F0", "stage 1 F0", "stage 2 F0",
                                                "stage 2 B0", "stage 1 B0", "stage 0 B0"}));
  EXPECT_EQ(breakdown(path, t, program).forward, milliseconds(6));
  EXPECT_EQ(breakdown(path, t, program).backward, milliseconds(6));
}

TEST(CriticalPath, AStreamsDelayIsAWait) {
  Draft draft;
  Task task;
  task.stage = {0};
  const TaskId forward = draft.task(task);
  draft.add(draft.stream({0}, "wave 0", true, milliseconds(2)), forward, 0, {});
  const Program program = draft.finish();
  const Timeline t = play(program, [](const Task&) { return milliseconds(3); });
  const CriticalPath path = critical_path(t, program);
  ASSERT_EQ(path.steps.size(), 1u);
  EXPECT_EQ(path.steps[0].wait, milliseconds(2));
  EXPECT_EQ(breakdown(path, t, program).bubble, milliseconds(2));
  EXPECT_EQ(breakdown(path, t, program).sum(), makespan(t));
}

TEST(CriticalPath, OfNothingIsEmpty) {
  EXPECT_TRUE(critical_path({}, {}).steps.empty());
  EXPECT_FALSE(step_after({}, {}, Instant{}).has_value());
}

TEST(CriticalPath, StepsFollowEachOtherAndSumToTheRun) {
  EXPECT_TRUE(rc::check([] {
    const Program p =
        pipeline({.devices = *rc::gen::inRange(1, 5), .microbatches = *rc::gen::inRange(1, 6)});
    const Lengths lengths{
        *rc::gen::container<std::vector<int>>(p.tasks.size(), rc::gen::inRange(0, 9))};
    const Timeline t = run(p, lengths);
    const CriticalPath path = critical_path(t, p);
    RC_ASSERT(!path.steps.empty());
    Instant at{};
    std::set<std::uint32_t> seen;
    for (const CriticalStep& step : testing::non_empty(path.steps)) {
      const Span& span = t.spans[step.id.value];
      RC_ASSERT(step.wait == Duration{});  // the program has no delays
      RC_ASSERT(span.start == at + step.wait);
      RC_ASSERT(seen.insert(step.id.value).second);
      at = span.end;
    }
    RC_ASSERT(at == makespan(t));
    RC_ASSERT(breakdown(path, t, p).sum() == makespan(t));
  }));
}

// The law that makes the path critical: if everything else takes no time at all, the run is equally
// long.
TEST(CriticalPath, NothingElseMatters) {
  EXPECT_TRUE(rc::check([] {
    const Program p =
        pipeline({.devices = *rc::gen::inRange(1, 5), .microbatches = *rc::gen::inRange(1, 5)});
    const Lengths lengths{
        *rc::gen::container<std::vector<int>>(p.tasks.size(), rc::gen::inRange(0, 9))};
    const Timeline t = run(p, lengths);
    const CriticalPath path = critical_path(t, p);
    std::set<std::uint32_t> on;  // tasks of the path
    for (const CriticalStep& step : path.steps) on.insert(p.instructions[step.id.value].task.value);
    Lengths without = lengths;
    for (std::uint32_t task = 0; task < p.tasks.size(); ++task)
      if (on.count(task) == 0) without.of[task] = 0;
    RC_ASSERT(makespan(run(p, without)) == makespan(t));
  }));
}

TEST(CriticalPath, PlacesAreFoundByInstructionAndByInstant) {
  const Program p = pipeline({.devices = 3, .microbatches = 4});
  const Timeline t = run(p, {{3, 1, 4, 1, 5, 9, 2, 6}});
  const CriticalPath path = critical_path(t, p);
  std::set<std::uint32_t> on;
  for (std::size_t i = 0; i < path.steps.size(); ++i) {
    EXPECT_EQ(place_on(path, t, path.steps[i].id), i);
    on.insert(path.steps[i].id.value);
  }
  for (std::uint32_t id = 0; id < p.instructions.size(); ++id)
    EXPECT_EQ(place_on(path, t, {id}).has_value(), on.count(id) == 1) << id;
  for (Instant at{}; at <= makespan(t); at += milliseconds(1)) {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < path.steps.size() && !first; ++i)
      if (t.spans[path.steps[i].id.value].end > at) first = i;
    EXPECT_EQ(step_after(path, t, at), first) << at.count();
  }
}

}  // namespace
}  // namespace trainyard
