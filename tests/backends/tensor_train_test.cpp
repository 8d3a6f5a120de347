// Tests that backends train tables as tensor trains: with the gradients of the reference however a
// plan divides the work, with and without a cache of hot rows, and to the quality of whole tables.
#include "core/model/tensor_train.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backends/cpu/execution/evaluation.h"
#include "core/model/hot_rows.h"
#include "core/model/trained_tables.h"
#include "core/model/zoo/builders.h"
#include "core/quality/area_under_curve.h"
#include "core/timeline/metrics.h"
#include "core/training/data/data_sources.h"
#include "core/training/model_inputs.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::train_on_cpu;

Model few_tables() { return build_recommender({"few tables", {50, 7, 30}, 4, 3, {6, 4}, {6, 1}}); }

Training momentum_steps(std::int64_t steps) {
  Training t;
  t.rate = 0.05;
  t.momentum = 0.5;
  t.steps = steps;
  return t;
}

Settings train_settings(const Settings& more) {
  Settings all = {"global-batch=16", "micro-batch=4", "optimizer=momentum", "tt-rank=3",
                  "tt-tables=20"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(TensorTrainRun, GradientsAreThoseOfTheReference) {
  for (const Settings& more : std::vector<Settings>{{}, {"tt-cache=5"}}) {
    const CpuRun fast = train_on_cpu(few_tables(), 1, train_settings(more), momentum_steps(4));
    LowerOptions lowering;
    lowering.grain = Grain::Op;
    lowering.steps = 4;
    ReferenceOptions options;
    options.rules[0].rate = 0.05;
    options.rules[0].momentum = 0.5;
    testing::start_as(fast, options);
    const ReferenceRun exact =
        ReferenceMachine(fast.workload, lower(fast.workload, lowering)).run(options);
    ASSERT_EQ(fast.run.losses.size(), exact.step_losses.size());
    for (std::size_t i = 0; i < exact.step_losses.size(); ++i)
      EXPECT_NEAR(fast.run.losses[i], exact.step_losses[i], 1e-5 * exact.step_losses[i]) << i;
    std::map<std::pair<int, std::string>, const ReferenceParameter*> of_reference;
    for (const ReferenceParameter& p : exact.parameters) of_reference[{p.layer, p.name}] = &p;
    int cores = 0;
    for (const TrainedTensor& t : testing::non_empty(fast.parameters)) {
      const std::vector<double>& wanted = of_reference.at({t.layer, t.name})->weights.values;
      ASSERT_EQ(wanted.size(), t.values.size()) << t.name;
      cores += t.name.find(".core_") != std::string::npos ? 1 : 0;
      for (std::size_t e = 0; e < wanted.size(); ++e)
        ASSERT_NEAR(t.values[e], wanted[e], 1e-5) << t.layer << " " << t.name << " " << e;
    }
    EXPECT_EQ(cores, 2 * static_cast<int>(kCores));
  }
}

TEST(TensorTrainRun, PlansTrainTheSameCores) {
  const CpuRun alone = train_on_cpu(few_tables(), 1, train_settings({}), momentum_steps(4));
  const std::vector<std::pair<std::int64_t, Settings>> plans = {
      {2, {}},
      {4, {"zero=1"}},
      {2, {"zero=2"}},
      {2, {"zero=3", "recompute=full"}},
      {2, {"pp=2"}},
      {2, {"tp=2"}},
      {2, {"zero=1", "offload=optimizer"}},
      {2, {"tt-cache=6"}},
      {2, {"tt-cache=6", "zero=3", "recompute=full"}},
      {2, {"tt-cache=6", "pp=2"}},
      {4, {"tt-cache=6", "pp=2", "zero=1"}},
  };
  for (const auto& [devices, plan] : testing::non_empty(plans)) {
    SCOPED_TRACE(plan.empty() ? "dp=2" : std::string(plan.front()));
    testing::expect_same_training(
        train_on_cpu(few_tables(), devices, train_settings(plan), momentum_steps(4)), alone, 1e-5);
  }
}

// The first loss is of a forward alone, and a cache gives that the same bits.
TEST(TensorTrainRun, ACacheLeavesTrainingAsItIs) {
  const CpuRun plain = train_on_cpu(few_tables(), 1, train_settings({}), momentum_steps(20)),
               cached = train_on_cpu(few_tables(), 1, train_settings({"tt-cache=4"}),
                                     momentum_steps(20));
  EXPECT_EQ(plain.run.losses.front(), cached.run.losses.front());
  testing::expect_same_training(cached, plain, 1e-5);
}

// The cores and the hot rows take what the ledger of the program says, to the byte.
TEST(TensorTrainRun, HoldsWhatItsLedgerSays) {
  for (const Settings& more : std::vector<Settings>{{}, {"tt-cache=6"}, {"tt-cache=6", "pp=2"}}) {
    const CpuRun run = train_on_cpu(few_tables(), 2, train_settings(more), momentum_steps(1));
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(run.program.devices); ++d) {
      const MemoryWave predicted = memory_wave(run.run.timeline, run.program, DeviceId{d});
      EXPECT_GT(peak_of(predicted).value, 0);
      EXPECT_EQ(peak_of(run.run.waves[d]).value, peak_of(predicted).value)
          << "device " << d << ", " << more.size();
    }
  }
}

// Predicted shares of look-ups are those of the ids that the artificial clicks have.
TEST(TensorTrainRun, ClicksLookUpHotRowsAsOftenAsPredicted) {
  const Model model = build_recommender({"clicks", {100000, 1000}, 8, 13, {8}, {8, 1}});
  const auto data = click_data(3);
  for (const ModelInput& input : model_inputs(model)) {
    if (input.role != InputRole::Rows) continue;
    constexpr std::int64_t kLookUps = 100000;
    const auto ids_from = [&](std::int64_t first) {
      std::vector<std::int64_t> ids(kLookUps);
      const std::int64_t shape[] = {kLookUps};
      data->fill({model, input.block->graph, input.tensor, shape, first}, ids);
      return ids;
    };
    for (const std::int64_t share : {100, 20}) {
      const std::vector<std::int64_t> held = most_frequent(ids_from(0), input.limit / share),
                                      later = ids_from(kLookUps);
      const auto hits = std::count_if(later.begin(), later.end(), [&](std::int64_t id) {
        return std::binary_search(held.begin(), held.end(), id);
      });
      EXPECT_NEAR(static_cast<double>(hits) / kLookUps,
                  zipf_share(input.limit / share, input.limit, kClickZipf), 0.05)
          << input.limit << " " << share;
    }
  }
}

double area_of(const CpuRun& run, const DataSource& data) {
  const ModelAnswers found = answers(run.workload, run.parameters, data, 0);
  EXPECT_EQ(found.scores.size(), found.labels.size());
  return area_under_curve(found.scores, found.labels);
}

// Both are trained on the same clicks. The area of a model that knew nothing is one half.
TEST(TensorTrainRun, AHundredTimesSmallerTableLosesNoQuality) {
  constexpr std::int64_t kRows = 100000, kWidth = 64;
  const Model model = build_recommender({"one table", {kRows}, kWidth, 13, {kWidth}, {32, 1}});
  const auto data = click_data(3);
  Training training;
  training.rate = 0.01;
  training.steps = 150;
  training.schedule = RateSchedule::Linear;
  const Settings plain = {"global-batch=1024", "micro-batch=1024", "optimizer=adam"};
  const CpuRun table = train_on_cpu(model, 1, plain, training, {}, *data);
  const double whole = area_of(table, *data);
  EXPECT_GT(whole, 0.75);
  Settings trains = plain;
  trains.emplace_back("tt-rank=16");
  const CpuRun cores = train_on_cpu(model, 1, trains, training, {}, *data);
  const std::vector<TrainedTable> tables = trained_tables(cores.workload.scenario.model);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_GE(static_cast<double>(kRows * kWidth) / static_cast<double>(tables[0].train.weights()),
            100);
  EXPECT_GE(area_of(cores, *data), whole - 0.005);
}

}  // namespace
}  // namespace trainyard
