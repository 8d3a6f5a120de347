// Recommenders trained with a table of any size and with cores in its place, on the same clicks:
// the numbers of both, the area under the curve of each on clicks that neither has seen, and how
// many look-ups a cache of one row in a hundred serves (TT-Rec, Yin et al., MLSys 2021).
//
//   tensor_train_benchmark [rows] [updates]      of a table of 64 columns; 1,000,000 and 150
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/execution/evaluation.h"
#include "backends/simulator/simulator.h"
#include "core/cost/cost_model.h"
#include "core/methods/settings/settings.h"
#include "core/model/hot_rows.h"
#include "core/model/trained_tables.h"
#include "core/model/zoo/builders.h"
#include "core/quality/area_under_curve.h"
#include "core/training/data/data_sources.h"

namespace trainyard {
namespace {

constexpr std::int64_t kWidth = 64, kDense = 13;

double trained_area(const Model& model, const std::string& rank, const Training& training,
                    const DataSource& data) {
  Scenario s{model, parse_cluster("cpu:1"), {}};
  for (const std::string& one :
       {std::string("precision=fp32"), std::string("optimizer=adam"),
        std::string("global-batch=1024"), std::string("micro-batch=1024"), "tt-rank=" + rank})
    apply_setting(s.plan, one);
  const Workload workload = prepare(s);
  LowerOptions lowering;
  lowering.grain = Grain::Op;
  const Program program = lower(workload, lowering);
  const Scenario& complete = workload.scenario;
  const auto cost = roofline_cost_model();
  const TaskPrices prices = price(program, complete.plan.mesh, complete.cluster, *cost);
  CpuBackend backend({workload, program, prices, &training, &data}, {});
  backend.run();
  const std::vector<TrainedTensor> parameters = backend.parameters();
  for (const std::string& sentence : table_sentences(complete.model)) fmt::print("{}\n", sentence);
  const ModelAnswers found = answers(workload, parameters, data, 0);
  return area_under_curve(found.scores, found.labels);
}

void compare(std::int64_t rows, std::int64_t updates) {
  const Model model =
      build_recommender({"one table", {rows}, kWidth, kDense, {kWidth}, {kWidth / 2, 1}});
  const auto data = click_data(3);
  Training training;
  training.rate = 0.01;
  training.steps = updates;
  training.schedule = RateSchedule::Linear;
  const double whole = trained_area(model, "off", training, *data);
  fmt::print("{} rows: area {:.4f}\n", rows, whole);
  for (const char* rank : {"16", "32"}) {
    const double area = trained_area(model, rank, training, *data);
    fmt::print("rank {}: area {:.4f}, {:+.4f}\n", rank, area, area - whole);
  }
  fmt::print("one row in a hundred takes {:.1f} % of look-ups\n",
             100 * zipf_share(rows / 100, rows, kClickZipf));
}

}  // namespace
}  // namespace trainyard

int main(int count, char** words) {
  trainyard::compare(count > 1 ? std::atoll(words[1]) : 1000000,
                     count > 2 ? std::atoll(words[2]) : 150);
}
