// Tests what verbs say about other programs' files, as a user runs them: `calibrate --nccl` and
// `--snapshot`, imported models, rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/workspace.h"
#include "tests/app/trainyard.h"
#include "tests/support/conforms.h"
#include "tests/support/snapshot_pickle.h"

namespace trainyard {
namespace {

Ran calibrate(const std::string& words, const TemporaryFolder& folder) {
  return trainyard("calibrate " + words, folder);
}

TEST(CalibrateVerb, FitsALinkToNcclTests) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "n.txt")
      << "# Collective test starting: all_reduce_perf\n#  Rank  0 Group  0\n#  Rank  1 Group  0\n"
         " 1024 256 float sum -1 10 0.10 0.10 0 10 0.10 0.10 0\n"
         " 1048576 262144 float sum -1 100 10.49 10.49 0 100 10.49 10.49 N/A\n";
  const Ran ran = calibrate("--nccl n.txt --json", folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  const Json json = parse_json(ran.out, "links");
  conforms(json, parse_json(json_schema("links"), "schema"), "links");
  const Ran text = calibrate("--nccl n.txt", folder);
  EXPECT_NE(text.out.find("all_reduce of 2 ranks"), std::string::npos) << text.out;
  EXPECT_EQ(calibrate("--nccl none.txt", folder).exit, kWrongInput);
}

TEST(CalibrateVerb, NcclTestsPriceThePlansOfACluster) {
  const TemporaryFolder folder;
  const auto table = [&](const char* name, const char* perf, double slower) {
    std::ofstream(folder.path() / name)
        << "# Collective test starting: " << perf << "\n#  Rank  0 Group  0\n#  Rank  7 Group  0\n"
        << fmt::format(" 1024 256 float sum -1 {0} {1:.2f} {2:.2f} 0 {0} {1:.2f} {2:.2f} 0\n",
                       10 * slower, 0.1024 / slower, 0.1792 / slower)
        << fmt::format(
               " 1073741824 268435456 float sum -1 {0} {1:.2f} {2:.2f} 0 {0} {1:.2f} {2:.2f} N/A\n",
               100000 * slower, 10.737 / slower, 18.79 / slower);
  };
  table("n.txt", "all_reduce_perf", 1);
  table("m.txt", "all_reduce_perf", 2);
  const auto step = [&](const std::string& more) {
    const Ran ran =
        trainyard("simulate --model gpt2 --cluster h100-sxm:8 --json --quiet" + more, folder);
    EXPECT_EQ(ran.exit, kDone) << ran.err;
    const Json json = parse_json(ran.out, "r");
    return JsonCursor(json, "r").at("step_seconds").at("value").number();
  };
  for (const char* name : {"n", "m"}) {
    const Ran ran =
        calibrate(fmt::format("--nccl {0}.txt --cluster h100-sxm:8 --out {0}.json", name), folder);
    ASSERT_EQ(ran.exit, kDone) << ran.err;
  }
  EXPECT_GT(step(" --calibration n.json"), step(""));
  EXPECT_GT(step(" --calibration m.json"), step(" --calibration n.json"));
  EXPECT_EQ(
      trainyard("simulate --model gpt2 --cluster a100-sxm-80:8 --calibration n.json", folder).exit,
      kWrongInput);
  EXPECT_EQ(calibrate("--nccl n.txt --nccl m.txt", folder).exit, kWrongInput);
}

TEST(CalibrateVerb, MakesPricesOfARecordedRun) {
  const TemporaryFolder folder;
  const std::string plan = " --model mlp-small --set precision=fp32 --set micro-batch=8";
  const Ran run = trainyard(
      "run --cluster cpu:2 --set pp=2 --set global-batch=16 --data random "
      "--steps 3 --no-record --trace run.trace.json" +
          plan,
      folder);
  ASSERT_EQ(run.exit, kDone) << run.err;
  const std::string recorded =
      " --trace run.trace.json --cluster cpu:2 --set pp=2 --set global-batch=16" + plan;
  const Ran text = calibrate(recorded + " --out ours.json", folder);
  ASSERT_EQ(text.exit, kDone) << text.err;
  EXPECT_NE(text.out.find("matmul backward"), std::string::npos) << text.out;
  const Ran document = calibrate(recorded + " --json", folder);
  conforms(parse_json(document.out, "c"), parse_json(json_schema("calibration"), "schema"), "c");
  // A snapshot of the run's memory may stand beside it.
  const Scenario small = open({"mlp-small", "h100-sxm:1", "", {"global-batch=1"}});
  std::ofstream(folder.path() / "s.pickle", std::ios::binary)
      << snapshot_pickle(*run_once(small, {}), DeviceId{0});
  const Ran beside = calibrate(recorded + " --snapshot s.pickle", folder);
  EXPECT_EQ(beside.exit, kDone) << beside.err;
  EXPECT_NE(beside.out.find("reserved memory is of s.pickle"), std::string::npos) << beside.out;
  EXPECT_EQ(calibrate(recorded + " --snapshot none.pickle", folder).exit, kWrongInput);
  // It prices another plan than the one that was recorded.
  const Ran other = trainyard(
      "simulate --cluster cpu:4 --set pp=4 --set global-batch=32 --calibration ours.json" + plan,
      folder);
  EXPECT_EQ(other.exit, kDone) << other.err;
  const Ran wrong = calibrate(" --trace run.trace.json --cluster cpu:2", folder);
  EXPECT_EQ(wrong.exit, kWrongInput);
  EXPECT_NE(wrong.err.find("--model: expected beside --trace"), std::string::npos) << wrong.err;
}

TEST(CalibrateVerb, SaysWhatASnapshotDiffersIn) {
  const TemporaryFolder folder;
  const Scenario scenario =
      open({"llama-3-8b",
            "h100-sxm:8",
            "",
            {"tp=2", "pp=4", "recompute=full", "micro-batch=1", "global-batch=32", "seq=8192"}});
  std::ofstream(folder.path() / "s.pickle", std::ios::binary)
      << snapshot_pickle(*run_once(scenario, {}), DeviceId{0});
  const std::string plan =
      " --model llama-3-8b --cluster h100-sxm:8 --set tp=2 --set pp=4 --set recompute=full --set "
      "micro-batch=1 --set global-batch=32 --set seq=4096 --rank 0";
  const Ran ran = calibrate("--snapshot s.pickle --json --png s.png" + plan, folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  const Json json = parse_json(ran.out, "snapshot");
  conforms(json, parse_json(json_schema("snapshot"), "schema"), "snapshot");
  EXPECT_EQ(*json.find("cause")->find("name")->text(), "longer sequence");
  EXPECT_GT(std::filesystem::file_size(folder.path() / "s.png"), 1000u);
  const Ran alone = calibrate("--snapshot s.pickle", folder);
  EXPECT_EQ(alone.exit, kDone) << alone.err;
  EXPECT_NE(alone.out.find("attention (model.py:120)"), std::string::npos) << alone.out;
  EXPECT_EQ(calibrate("--snapshot s.pickle --nccl n.txt", folder).exit, kWrongInput);
}

// A recording of 1 KiB does not match a plan of gigabytes: no cause is named, and no share exceeds
// 1.
TEST(CalibrateVerb, ASnapshotThatNoChangeExplainsIsSaidToBe) {
  const TemporaryFolder folder;
  const Scenario small = open({"mlp-small", "h100-sxm:1", "", {"global-batch=1"}});
  std::ofstream(folder.path() / "s.pickle", std::ios::binary)
      << snapshot_pickle(*run_once(small, {}), DeviceId{0});
  const Ran ran = calibrate(
      "--snapshot s.pickle --model llama-3-8b --cluster h100-sxm:8 --set seq=8192 --set tp=8",
      folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  EXPECT_NE(ran.out.find("No change tried explains it: the recording holds "), std::string::npos)
      << ran.out;
  EXPECT_EQ(ran.out.find("unexplained"), std::string::npos) << ran.out;
}

TEST(ImportedModels, WhatWasAssumedIsSaid) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "m.json") << R"({"model_type": "gpt2", "wonder": 1})";
  const Ran ran = trainyard("estimate --model m.json --cluster h100-sxm:8", folder);
  EXPECT_NE(ran.err.find("note: --model: vocab_size is not given: 50257, the default of gpt2"),
            std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("not known: wonder, which change nothing here"), std::string::npos);
  EXPECT_EQ(trainyard("estimate --model m.json --cluster h100-sxm:8 --quiet", folder).err, "");
  EXPECT_EQ(trainyard("estimate --model gpt2 --cluster h100-sxm:8", folder).err.find("note:"),
            std::string::npos);
}

TEST(EstimateVerb, SaysThatItTriedNoChange) {
  const TemporaryFolder folder;
  const std::string plan = " --model llama-3-8b --cluster h100-sxm:8 --set zero=0";
  const Ran closed = trainyard("estimate" + plan, folder);
  EXPECT_EQ(closed.exit, kNotMet);
  EXPECT_NE(closed.out.find("no change was tried: trainyard simulate"), std::string::npos)
      << closed.out;
  EXPECT_EQ(closed.out.find("no change tried"), std::string::npos);
}

TEST(ValidateVerb, NothingPredictedIsNoSuccess) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "r.csv")
      << "id,group,model_family,gpu,n_gpus,measured_metric,measured_value\n"
         "a,g,llama,H100,8,ttt_s,100\n";
  const Ran ran = trainyard("validate r.csv", folder);
  EXPECT_EQ(ran.exit, kWrongInput);
  EXPECT_NE(ran.err.find("r.csv: expected a row that can be predicted, found 1, all skipped; a: "),
            std::string::npos)
      << ran.err;
  EXPECT_EQ(trainyard("validate r.csv --json", folder).exit, kWrongInput);
}

TEST(ValidateVerb, SaysWhichRowsItsParametersWereFittedOn) {
  const TemporaryFolder folder;
  const std::string said = "The parameters were fitted on rows below; --cross";
  EXPECT_NE(trainyard("validate --source alpa", folder).out.find(said), std::string::npos);
  const std::string crossed = trainyard("validate --source alpa --cross", folder).out;
  EXPECT_LT(crossed.find("each source left out in turn"), crossed.find(said));
  EXPECT_LT(crossed.find(said), crossed.find("by metric"));
  std::ofstream(folder.path() / "r.csv") << "id,measured_metric,measured_value\na,ttt_s,100\n";
  EXPECT_EQ(trainyard("validate r.csv", folder).out.find(said), std::string::npos);
}

}  // namespace
}  // namespace trainyard
