// `trainyard calibrate --nccl` and `--snapshot` as a person runs them.
#include <gtest/gtest.h>

#include <fstream>

#include "app/cli/verb.h"
#include "app/workspace/fixes.h"
#include "app/workspace/workspace.h"
#include "core/io/json_schemas.h"
#include "tests/app/conforms.h"
#include "tests/app/trainyard.h"
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

}  // namespace
}  // namespace trainyard
