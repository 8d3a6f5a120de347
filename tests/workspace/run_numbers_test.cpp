// The numbers of a run in its document.
#include <gtest/gtest.h>

#include "app/workspace/runs/run_document.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/local_cluster.h"
#include "core/io/json/json.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

TrainingRequest numbered_request(std::string_view precision, std::int64_t numbers) {
  TrainingRequest request;
  request.scenario = testing::scenario(zoo_model("mlp-small"), 1,
                                       {precision, "global-batch=64", "optimizer=sgd"}, "cpu");
  request.scenario.cluster = local_cluster(1, {});
  request.training.steps = 16;  // the loss scale is too large in the first ones, which are skipped
  request.data = "random";
  request.numbers = numbers;
  return request;
}

TEST(RunNumbers, AreInTheDocumentWhereTheyWereAskedFor) {
  TrainingJob job(numbered_request("precision=fp16", 8));
  const TrainingReport report = job.run(false, nullptr);
  ASSERT_NE(report.numbers, nullptr);
  ASSERT_EQ(report.numbers->looks().size(), 3u);  // after steps 1, 8 and 16
  const Json document = parse_json(run_document(report), "document");
  const Json* const numbers = document.find("numbers");
  ASSERT_NE(numbers, nullptr);
  EXPECT_EQ(numbers->find("looks")->as_list()->size(), 3u);
  for (const char* key : {"interval", "loss_scale", "histogram_step", "histograms"})
    EXPECT_NE(numbers->find(key), nullptr) << key;
}

TEST(RunNumbers, AreAbsentWhereNobodyAsks) {
  TrainingJob job(numbered_request("precision=fp32", 0));
  const TrainingReport report = job.run(false, nullptr);
  EXPECT_EQ(report.numbers, nullptr);
  EXPECT_EQ(parse_json(run_document(report), "document").find("numbers"), nullptr);
}

}  // namespace
}  // namespace trainyard
