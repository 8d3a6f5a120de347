// Files that ship with the program must work unchanged.
#include <gtest/gtest.h>

#include "app/workspace/scenario/workspace.h"
#include "core/io/documents/plan_json.h"
#include "core/methods/catalogue.h"
#include "tests/support/non_empty.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

const std::string kAssets = TRAINYARD_SOURCE_DIR "/assets/";

TEST(Assets, EveryMethodHasAPlanThatChoosesItAndRuns) {
  for (const Method& method : testing::non_empty(methods())) {
    const std::string path = kAssets + "plans/" + std::string(method.name) + ".json";
    // Operators run beside each other on the cores of this machine.
    const bool local = method.name == "operator-stages";
    const std::string model = local                                    ? "inception-tiny"
                              : method.name == "expert-parallel"       ? "mixtral-8x7b"
                              : method.name == "batch-norm-statistics" ? "resnet-50"
                              : method.name == "tensor-train"          ? "dlrm-mlperf"
                                                                       : "gpt3-xl";
    // Formats with block scales need Blackwell.
    const bool blocks = method.name == "mxfp8" || method.name == "nvfp4";
    const std::string device = local ? "cpu" : blocks ? "b200-hgx" : "h100-sxm";
    const Plan plan = read_plan(path);
    const bool parts = plan.mesh.tp * plan.mesh.cp * plan.mesh.pp * plan.mesh.dp.value_or(1) > 1;
    EXPECT_NE(find_choice(plan, method.name), nullptr) << path;
    const ExperimentPtr experiment =
        simulate(open({model, device + (parts ? ":2" : ":1"), path, {}}), {.fixes = false});
    EXPECT_GT(experiment->result.step.value.count(), 0) << path;
  }
}

TEST(Assets, TheExampleIsTheModelOfTheZoo) {
  const Request request{kAssets + "models/llama-3-70b",
                        "h100-sxm:64",
                        kAssets + "examples/llama-3-70b-on-64-h100.json",
                        {}};
  const ExperimentPtr from_file = simulate(open(request));
  const ExperimentPtr from_zoo = simulate(open({"llama-3-70b", request.cluster, request.plan, {}}));
  EXPECT_EQ(from_file->result.parameters, 70'553'706'496);
  EXPECT_EQ(from_file->result.step.value, from_zoo->result.step.value);
  EXPECT_TRUE(from_file->result.verdict.fits);
}

}  // namespace
}  // namespace trainyard
