// Tests ranks that fail in a run and what partial recovery makes of it: B-REL-02. A failed rank
// loses its memory, only its shard of the tables goes back, and never more is lost than is metered.
#include "core/training/partial_recovery.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backends/cpu/execution/evaluation.h"
#include "core/model/zoo/builders.h"
#include "core/quality/area_under_curve.h"
#include "core/timeline/metrics.h"
#include "core/training/data/data_sources.h"
#include "core/training/model_inputs.h"
#include "core/validation/rank_correlation.h"
#include "tests/support/cpu_training.h"
#include "tests/support/refusal.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::train_on_cpu;
using testing::with;

constexpr std::int64_t kShardRanks = 4, kTableWidth = 4, kShardBatch = 16;
constexpr std::int64_t kDenseNumbers = 3 * 6 + 6 + 6 * 4 + 4, kShardNumbers = 108;

// The first block has 432 numbers: no row is of two of four ranks.
Model three_tables() {
  return build_recommender({"three tables", {60, 26, 9}, kTableWidth, 3, {6, 4}, {6, 1}});
}

Settings divided_tables(const Settings& more) {
  return with({"dp=4", "zero=3", "global-batch=16", "micro-batch=4"}, more);
}

Training failing_training(std::int64_t steps, const std::vector<std::string>& words) {
  Training training;
  training.rate = 0.2;
  training.steps = steps;
  for (const std::string& word : words) apply_training(training, word);
  return training;
}

CpuRun failing_run(const Model& model, const Training& training, const Settings& settings,
                   const CpuOptions& options = {}) {
  static const std::unique_ptr<DataSource> clicks = click_data(3);
  return train_on_cpu(model, kShardRanks, settings, training, options, *clicks);
}

bool is_table(const TrainedTensor& t) { return t.name.starts_with("tables."); }

bool same_numbers(const CpuRun& a, const CpuRun& b) {
  if (a.parameters.size() != b.parameters.size()) return false;
  for (std::size_t t = 0; t < a.parameters.size(); ++t)
    if (a.parameters[t].values != b.parameters[t].values) return false;
  return a.run.losses == b.run.losses;
}

// Look-ups of each row of a table in an update, the first being 0.
std::vector<std::int64_t> lookups_in(const Model& model, const std::string& table,
                                     std::int64_t update) {
  for (const ModelInput& input : model_inputs(model)) {
    if (input.in_graph().name != table + ".ids") continue;
    std::vector<std::int64_t> ids(static_cast<std::size_t>(kShardBatch)),
        counts(static_cast<std::size_t>(input.limit), 0);
    const std::int64_t shape[] = {kShardBatch};
    click_data(3)->fill({model, input.block->graph, input.tensor, shape, update * kShardBatch},
                        ids);
    for (const std::int64_t id : ids) ++counts[static_cast<std::size_t>(id)];
    return counts;
  }
  ADD_FAILURE() << table << " has no ids";
  return {};
}

// The rows alone tell what was lost: sgd changes a row only where it is looked up, so that
// the newest state of an unbroken run which a row equals says how many look-ups it has.
TEST(PartialRecoveryRun, AHundredKillsNeverLoseMoreThanIsMetered) {
  constexpr std::int64_t kMostSteps = 12;
  const Model model = three_tables();
  const Settings plan = divided_tables({"optimizer=sgd"});
  std::vector<std::vector<TrainedTensor>> history;
  for (std::int64_t steps = 1; steps <= kMostSteps; ++steps) {
    const CpuRun unbroken = failing_run(model, failing_training(steps, {}), plan);
    if (history.empty()) history.push_back(unbroken.initial);
    history.push_back(unbroken.parameters);
  }
  std::map<std::string, std::vector<std::vector<std::int64_t>>> lookups;
  for (const char* table : {"tables.0", "tables.1", "tables.2"})
    for (std::int64_t update = 0; update < kMostSteps; ++update)
      lookups[table + std::string(".weight")].push_back(lookups_in(model, table, update));
  const Random random(11);
  std::int64_t all_lost = 0, all_metered = 0;
  for (std::uint64_t k = 0; k < 100; ++k) {
    const std::int64_t step = random.between(4 * k, 1, kMostSteps),
                       rank = random.between(4 * k + 1, 0, kShardRanks - 1);
    const std::string_view how =
        kShardSavings[static_cast<std::size_t>(random.between(4 * k + 2, 2, 5))];
    const std::int64_t save = random.between(4 * k + 3, 1, 3) * 4;
    SCOPED_TRACE(fmt::format("{} every {}: rank {} after {}", how, save, rank, step));
    const CpuRun run = failing_run(
        model,
        failing_training(step, {fmt::format("cpr={}", how), fmt::format("cpr-save={}", save),
                                "cpr-part=0.25", fmt::format("cpr-kill={}:{}", step, rank)}),
        plan);
    ASSERT_EQ(run.run.recovery->losses.size(), 1u);
    const auto now = static_cast<std::size_t>(step);
    std::int64_t lost = 0, rows_lost = 0, first = kDenseNumbers;
    for (std::size_t t = 0; t < run.parameters.size(); ++t) {
      const TrainedTensor& tensor = run.parameters[t];
      if (!is_table(tensor)) {
        ASSERT_EQ(tensor.values, history[now][t].values) << tensor.name;
        continue;
      }
      const std::int64_t rows = tensor.shape[0];
      for (std::int64_t row = 0; row < rows; ++row) {
        const auto equals = [&](std::size_t version) {
          const auto at = tensor.values.begin() + row * kTableWidth;
          return std::equal(at, at + kTableWidth,
                            history[version][t].values.begin() + row * kTableWidth);
        };
        if (equals(now)) continue;
        ASSERT_EQ((first + row * kTableWidth) / kShardNumbers, rank) << tensor.name << " " << row;
        std::size_t version = now;
        while (version > 0 && !equals(version)) --version;
        ASSERT_TRUE(equals(version)) << tensor.name << " row " << row << " is of no update";
        for (std::size_t update = version; update < now; ++update)
          lost += lookups[tensor.name][update][static_cast<std::size_t>(row)];
        ++rows_lost;
      }
      first += rows * kTableWidth;
    }
    const ShardLoss& metered = run.run.recovery->losses.front();
    EXPECT_LE(lost, metered.lookups);
    EXPECT_LE(rows_lost, metered.rows);
    EXPECT_EQ(metered.samples, ((step - 1) % save + 1) * kShardBatch);
    EXPECT_DOUBLE_EQ(run.run.recovery->lost_samples(),
                     static_cast<double>(metered.samples) /
                         static_cast<double>(step * kShardBatch * kShardRanks));
    all_lost += lost, all_metered += metered.lookups;
  }
  // The meter is no bound that anything would keep: nearly all of it is lost.
  EXPECT_GT(all_lost, 0.9 * static_cast<double>(all_metered));
}

TEST(PartialRecoveryRun, WithoutAFailureHasTheSameBits) {
  for (const char* optimizer : {"optimizer=sgd", "optimizer=adamw"}) {
    const Settings plan = divided_tables({optimizer});
    const CpuRun plain = failing_run(three_tables(), failing_training(9, {}), plan);
    EXPECT_FALSE(plain.run.recovery);
    for (const char* how : {"cpr=full", "cpr=plain", "cpr=mfu", "cpr=ssu", "cpr=scar"}) {
      const CpuRun run =
          failing_run(three_tables(), failing_training(9, {how, "cpr-save=8"}), plan);
      EXPECT_TRUE(same_numbers(run, plain)) << how;
      EXPECT_TRUE(run.run.recovery->losses.empty());
      EXPECT_GT(run.run.recovery->saved.value, 0);
    }
  }
}

TEST(PartialRecoveryRun, FullRecoveryRepeatsStepsAndEndsAsTheUnbrokenRun) {
  for (const char* precision : {"precision=fp32", "precision=bf16"}) {
    const Settings plan = divided_tables({"optimizer=adamw", precision});
    const CpuRun plain = failing_run(three_tables(), failing_training(10, {}), plan),
                 full = failing_run(
                     three_tables(),
                     failing_training(10, {"cpr=full", "cpr-save=4", "cpr-kill=3:0,6:2,8:1"}),
                     plan);
    EXPECT_TRUE(same_numbers(full, plain)) << precision;
    EXPECT_EQ(full.run.recovery->losses.size(), 3u);
    EXPECT_EQ(full.run.recovery->steps_repeated, 3 + 2 + 4);
    EXPECT_EQ(full.run.recovery->lost_lookups(), 0);
  }
}

// With the moments of its parameters, which the neighbour has. Here rank 0 has no row of a table.
TEST(PartialRecoveryRun, ARankWithoutTablesLosesNothing) {
  const Model model = build_recommender({"wide bottom", {20, 10}, kTableWidth, 3, {60, 4}, {6, 1}});
  for (const char* precision : {"precision=fp32", "precision=bf16"}) {
    const Settings plan = divided_tables({"optimizer=adamw", precision});
    const CpuRun plain = failing_run(model, failing_training(8, {}), plan),
                 failed = failing_run(
                     model, failing_training(8, {"cpr=plain", "cpr-save=4", "cpr-kill=3:0,7:0"}),
                     plan);
    EXPECT_TRUE(same_numbers(failed, plain)) << precision;
    EXPECT_EQ(failed.run.recovery->lost_lookups(), 0);
    EXPECT_GT(failed.run.recovery->mirrored.value, 0);
  }
}

// Adagrad leaves rows and their state as they are where nobody looks them up, so that a failure
// right after a save takes nothing from rows that were not looked up since. Their state must have
// come back for the rest of the training to have the same bits.
TEST(PartialRecoveryRun, RowsComeBackWithTheirOptimizerState) {
  const Model model = build_recommender({"few rows", {40, 20}, kTableWidth, 3, {6, 4}, {6, 1}});
  const Settings plan = {"dp=4", "zero=3", "global-batch=4", "micro-batch=1", "optimizer=adagrad"};
  const CpuRun plain = failing_run(model, failing_training(24, {}), plan);
  int compared = 0;
  for (std::int64_t step = 8; step < 24; ++step) {
    const CpuRun failed = failing_run(
        model,
        failing_training(24, {"cpr=plain", "cpr-save=1", fmt::format("cpr-kill={}:1", step)}),
        plan);
    const ShardLoss& loss = failed.run.recovery->losses.front();
    if (loss.lookups > 0) continue;
    ++compared;
    EXPECT_TRUE(same_numbers(failed, plain)) << step;
  }
  EXPECT_GT(compared, 0);
}

struct JudgedClicks {
  double area = 0, portion = 0;
};

// All ranks fail two updates before the end, so that little of what they lose is learnt again.
JudgedClicks judged_clicks(std::uint64_t seed, std::int64_t steps,
                           const std::vector<std::string>& words) {
  const Model model = build_recommender({"many rows", {2000, 2000}, 8, 4, {8}, {8, 1}});
  const std::unique_ptr<DataSource> clicks = click_data(seed);
  Training training = failing_training(steps, words);
  training.rate = 1;
  for (std::int64_t rank = 0; rank < kShardRanks && training.recovery.on(); ++rank)
    training.recovery.kills.push_back({steps - 2, rank});
  const CpuRun run = train_on_cpu(
      model, kShardRanks, {"dp=4", "zero=3", "global-batch=128", "micro-batch=32", "optimizer=sgd"},
      training, {}, *clicks);
  const ModelAnswers said = answers(run.workload, run.parameters, *clicks, 0);
  return {area_under_curve(said.scores, said.labels),
          run.run.recovery ? run.run.recovery->lost_samples() : 0};
}

// B-REL-02: what is lost grows with the portion of lost samples.
TEST(PartialRecoveryRun, AreaUnderTheCurveFallsWithThePortionOfLostSamples) {
  constexpr std::int64_t kSteps = 256;
  const std::vector<std::int64_t> saves = {8, 32, 64, 128, 256};
  std::vector<double> lost(saves.size(), 0), portions(saves.size(), 0);
  for (const std::uint64_t seed : {3u, 4u, 5u}) {
    const double unbroken = judged_clicks(seed, kSteps, {}).area;
    EXPECT_GT(unbroken, 0.7);
    for (std::size_t i = 0; i < saves.size(); ++i) {
      const JudgedClicks failed =
          judged_clicks(seed, kSteps, {"cpr=plain", fmt::format("cpr-save={}", saves[i])});
      lost[i] += unbroken - failed.area;
      portions[i] = failed.portion;
    }
  }
  for (std::size_t i = 0; i < saves.size(); ++i)
    EXPECT_DOUBLE_EQ(portions[i], static_cast<double>((kSteps - 3) % saves[i] + 1) / kSteps);
  EXPECT_GT(lost.front(), 0);
  EXPECT_GE(rank_correlation(portions, lost), 0.9) << fmt::format("{}", fmt::join(lost, " "));
}

// B-REL-02: saving the rows that are used most loses at most 60 % of what saving all rows does, and
// writes no more bytes. Failures come early and late in the interval between two saves of all rows.
// This is of sgd, by which recommenders are trained: after an update by adagrad, rare rows are what
// has learnt most.
TEST(PartialRecoveryRun, SavingUsedRowsKeepsMoreOfTheAreaUnderTheCurve) {
  double lost_by_plain = 0, lost_by_mfu = 0;
  for (const std::uint64_t seed : {3u, 4u})
    for (const std::int64_t steps : {152, 184, 216, 248}) {
      const double unbroken = judged_clicks(seed, steps, {}).area;
      lost_by_plain += unbroken - judged_clicks(seed, steps, {"cpr=plain", "cpr-save=128"}).area;
      lost_by_mfu += unbroken - judged_clicks(seed, steps, {"cpr=mfu", "cpr-save=128"}).area;
    }
  EXPECT_GT(lost_by_mfu, 0);
  EXPECT_LE(lost_by_mfu, 0.6 * lost_by_plain) << lost_by_mfu / lost_by_plain;
}

TEST(PartialRecoveryRun, TrainsOnAfterManyFailures) {
  for (const char* how : {"cpr=plain", "cpr=mfu", "cpr=ssu", "cpr=scar"})
    for (const char* optimizer : {"optimizer=momentum", "optimizer=adamw", "optimizer=lamb"}) {
      const CpuRun run = failing_run(
          three_tables(),
          failing_training(
              40, {how, "cpr-save=8", "rate=0.01", "cpr-kill=3:0,3:1,9:3,16:2,17:2,30:1,40:0"}),
          divided_tables({optimizer}));
      EXPECT_EQ(run.run.recovery->losses.size(), 7u);
      EXPECT_LE(run.run.recovery->lost_lookups(), run.run.recovery->lookups);
      for (const TrainedTensor& t : testing::non_empty(run.parameters))
        for (const float number : t.values)
          ASSERT_TRUE(std::isfinite(number)) << how << " " << optimizer << " " << t.name;
      EXPECT_LT(run.run.losses.back(), 2) << how << " " << optimizer;
    }
}

TEST(PartialRecoveryRun, LosesTheSameWhoeverDrives) {
  CpuOptions as_fast_as_possible;
  as_fast_as_possible.mode = RunMode::WallClock;
  for (const char* how : {"cpr=full", "cpr=plain", "cpr=mfu"}) {
    const Training training =
        failing_training(12, {how, "cpr-save=8", "cpr-kill=3:0,5:1,8:3,12:2"});
    const Settings plan = divided_tables({"optimizer=adamw"});
    EXPECT_TRUE(same_numbers(failing_run(three_tables(), training, plan, as_fast_as_possible),
                             failing_run(three_tables(), training, plan)))
        << how;
  }
}

// A rank that fails after the last update leaves no device that has held a microbatch in its place.
TEST(PartialRecoveryRun, SaysWhatTheLostDeviceHeldToo) {
  const Settings plan = divided_tables({"optimizer=adamw"});
  const CpuRun plain = failing_run(three_tables(), failing_training(6, {}), plan),
               failed = failing_run(three_tables(),
                                    failing_training(6, {"cpr=plain", "cpr-kill=6:0,6:2"}), plan);
  ASSERT_EQ(failed.run.memory.size(), plain.run.memory.size());
  for (std::size_t d = 0; d < plain.run.memory.size(); ++d)
    EXPECT_EQ(failed.run.memory[d].most.value, plain.run.memory[d].most.value) << d;
  EXPECT_EQ(failed.run.prepared->asked, plain.run.prepared->asked);
  EXPECT_EQ(peak_of(failed.run.waves[0]).value, peak_of(plain.run.waves[0]).value);
}

TEST(PartialRecoveryRun, RefusesPlansWithoutDividedTables) {
  const auto refused = [](const Model& model, const Settings& plan,
                          const std::vector<std::string>& words) {
    return testing::refusal([&] { failing_run(model, failing_training(4, words), plan); });
  };
  const std::vector<std::string> plain = {"cpr=plain"};
  EXPECT_NE(refused(three_tables(), {"dp=4", "global-batch=16", "micro-batch=4"}, plain)
                .find("found 4 ranks and tables in 1 part"),
            std::string::npos);
  EXPECT_NE(refused(testing::tiny_mlp(4), {"dp=4", "zero=3", "global-batch=16"}, plain)
                .find("does not have"),
            std::string::npos);
  EXPECT_NE(
      refused(three_tables(), {"dp=2", "pp=2", "zero=3", "global-batch=16", "micro-batch=4"}, plain)
          .find("pp=2"),
      std::string::npos);
  EXPECT_NE(refused(three_tables(), divided_tables({}), {"cpr=plain", "cpr-kill=2:4"})
                .find("expected ranks from 0 to 3 to fail, found rank 4"),
            std::string::npos);
  EXPECT_NE(
      refused(three_tables(), divided_tables({"optimizer=adamw-8bit"}), plain).find("of no row"),
      std::string::npos);
}

}  // namespace
}  // namespace trainyard
