// Every *.scenario here is a small model, cluster and plan with the order of work, step time and
// memory that come of it:
//
//   model: gpt-tiny
//   cluster: cpu-small:4
//   set: pp=4 schedule=gpipe global-batch=8
//   makespan: 1234567 ns
//   peak: 123456 B
//   | d0/compute  0F0 0F1 0B0 0B1
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "app/workspace/scenario/workspace.h"
#include "core/estimate/estimate.h"
#include "core/timeline/metrics.h"
#include "tests/app/run_program.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

struct Expected {
  Request request;
  std::string makespan, peak, order;
};

Expected read_scenario(const fs::path& path) {
  Expected expected;
  std::istringstream lines(file_text(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) == 0) expected.order += line.substr(2) + "\n";
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, colon), value = line.substr(colon + 2);
    if (key == "model") expected.request.model = value;
    if (key == "cluster") expected.request.cluster = value;
    if (key == "set") expected.request.settings.push_back(value);
    if (key == "makespan") expected.makespan = value;
    if (key == "peak") expected.peak = value;
  }
  return expected;
}

std::vector<std::string> scenarios() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(TRAINYARD_SOURCE_DIR "/tests/scenarios"))
    if (entry.path().extension() == ".scenario") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Scenarios : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenarios, ComeOutAsWritten) {
  const Expected expected =
      read_scenario(fs::path(TRAINYARD_SOURCE_DIR "/tests/scenarios") / (GetParam() + ".scenario"));
  // The roofline: its figures stay while the parameters of the physical model are fitted anew.
  const std::unique_ptr<CostModel> cost = roofline_cost_model();
  const ExperimentPtr experiment =
      simulate(open(expected.request), {.fixes = false, .cost = cost.get()});
  const Workload& workload = experiment->workload;
  EXPECT_EQ(to_text(order(workload, schedule_shape(workload, phase_times(workload, *cost)))),
            expected.order);
  EXPECT_EQ(std::to_string(makespan(experiment->timeline).count()) + " ns", expected.makespan);
  Bytes most{};
  for (const StageMemory& stage : experiment->result.memory)
    most = std::max(most, stage.peak.value);
  EXPECT_EQ(std::to_string(most.value) + " B", expected.peak);
}

INSTANTIATE_TEST_SUITE_P(Files, Scenarios, ::testing::ValuesIn(scenarios()), [](const auto& one) {
  std::string name = one.param;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace trainyard
