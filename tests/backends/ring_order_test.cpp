// Keys and values travel beside the attention that reads them, and their gradients beside the one
// that makes them. Whoever drives, attention begins once its ranks have passed them, and gradients
// are taken once all ranks of the ring have made theirs.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "backends/cpu/time/virtual_time.h"
#include "core/methods/catalogue.h"
#include "tests/support/cases.h"
#include "tests/support/fake_execution.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/scenarios.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::FakeExecution;

class RingExecution final : public FakeExecution {
 public:
  RingExecution(const Program& program, int replicas) : FakeExecution(program, 1, replicas) {
    for (std::uint32_t i = 0; i < program.instructions.size(); ++i)
      if (program.name(program.task(InstructionId{i}).name) == "attention") attentions_.insert({i});
    work = [this](InstructionId id, int peer) {
      if (!attentions_.contains(id)) return;
      const std::lock_guard lock(own_);
      if (!passed_.contains(key(id, peer))) ++early_;
      ++attended_;
    };
  }
  TravelPtr exchange(InstructionId id, std::span<const int> members) override {
    FakeExecution::exchange(id, members);
    const Task& task = program().task(id);
    if (task.kind != TaskKind::Collective || task.group != Group::Context) return nullptr;
    const std::lock_guard lock(own_);
    const bool takes = task.collective == CollectiveKind::ReduceScatter;
    for (int peer : members) {
      if (!takes) {
        passed_.insert(key(id, peer));
        continue;
      }
      for (InstructionId attention : attentions_)
        if (key(attention, peer) == key(id, peer) && !ended(attention, peer)) ++early_;
    }
    taken_ += takes ? 1 : 0;
    return nullptr;
  }
  void begin_repetition(int repetition) override {
    FakeExecution::begin_repetition(repetition);
    passed_.clear();
  }

  int early() const { return early_; }
  int attended() const { return attended_; }
  int taken() const { return taken_; }

 private:
  using Key = std::tuple<std::int32_t, std::int32_t, BodyList, int>;
  Key key(InstructionId id, int peer) const {
    const Task& task = program().task(id);
    return {program().instructions[id.value].microbatch, task.layer, task.list, peer};
  }

  std::mutex own_;
  std::set<InstructionId> attentions_;
  std::set<Key> passed_;
  int early_ = 0, attended_ = 0, taken_ = 0;
};

TEST(RingOrder, IsKeptByEveryDriver) {
  std::uint64_t ran = 0;
  for (const Method& m : testing::non_empty(testing::sampled(methods(), 3))) {
    if (!m.order) continue;
    for (const char* extra : {"recompute=none", "recompute=full", "overlap=off"}) {
      const std::string schedule = "schedule=" + std::string(m.name);
      const Scenario s = testing::scenario(
          testing::tiny_transformer(), 4,
          {"cp=2", "pp=2", "seq=4", "global-batch=4", "micro-batch=1", schedule, extra},
          "h100-sxm");
      if (has_errors(check(s))) continue;
      SCOPED_TRACE(schedule + " " + extra);
      LowerOptions options;
      options.grain = Grain::Op;
      const Program p = lower(prepare(s), options);
      const TaskPrices prices =
          testing::fixed_prices(p, std::chrono::microseconds{2}, std::chrono::microseconds{3});
      std::vector<std::unique_ptr<Driver>> drivers;
      drivers.push_back(
          virtual_time_driver(prices, [now = Duration{}]() mutable { return now += Duration{7}; }));
      for (const int threads : {1, 3}) drivers.push_back(wall_clock_driver(threads, 0));
      drivers.push_back(wall_clock_driver(3, 1e9));
      for (const std::unique_ptr<Driver>& driver : drivers) {
        RingExecution execution(p, 2);
        for (int repetition = 0; repetition < 2; ++repetition) {
          execution.begin_repetition(repetition);
          driver->run(execution, repetition, nullptr, {});
          execution.end_repetition(repetition);
        }
        for (const std::string& wrong : execution.wrong()) ADD_FAILURE() << wrong;
        EXPECT_EQ(execution.early(), 0);
        EXPECT_GT(execution.attended(), 0);
        EXPECT_GT(execution.taken(), 0);
      }
      ++ran;
    }
  }
  EXPECT_GE(ran, testing::cases(20, 6));
}

}  // namespace
}  // namespace trainyard
