// Tests what `trainyard probe` prints and writes.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/cli/verb.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/calibration_json.h"
#include "tests/app/documents.h"
#include "tests/app/trainyard.h"

namespace trainyard {
namespace {

constexpr const char* kSmall = "probe --vary n=8..12 --set m=8 --set k=8 --rounds 9";

TEST(ProbeVerb, PrintsARowPerWidthAndWhatFollows) {
  const TemporaryFolder folder;
  const Ran ran = trainyard(kSmall, folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  EXPECT_EQ(ran.out.find("matmul forward, m=8 k=8 over n, 9 rounds on "), 0u) << ran.out;
  for (const char* width :
       {"\n       8 ", "\n       9 ", "\n      10 ", "\n      11 ", "\n      12 "})
    EXPECT_NE(ran.out.find(width), std::string::npos) << width << ran.out;
  EXPECT_NE(ran.out.find("with 95 % confidence"), std::string::npos);
}

TEST(ProbeVerb, WritesPictureRowsAndCalibration) {
  const TemporaryFolder folder;
  ASSERT_EQ(trainyard("calibrate --networks 1 --seconds 0.1 --out c.json", folder).exit, kDone);
  const std::string path = (folder.path() / "c.json").string();
  const auto kernels = [&] { return read_calibration(read_file(path), path).kernels.size(); };
  const std::size_t before = kernels();
  const Ran ran =
      trainyard(std::string(kSmall) + " --csv p.csv --svg p.svg --add-to c.json", folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  EXPECT_EQ(kernels(), before + 5);
  const std::string csv = read_file((folder.path() / "p.csv").string());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);
  EXPECT_NE(read_file((folder.path() / "p.svg").string()).find("<svg"), std::string::npos);
  const Ran priced = trainyard(std::string(kSmall) + " --calibration c.json", folder);
  EXPECT_NE(priced.out.find("calibrated and learned: by kernels of"), std::string::npos);
}

TEST(ProbeVerb, SaysByWhatTheFiguresOfABatchAreKnown) {
  const TemporaryFolder folder;
  const Ran op =
      trainyard("probe --batch --vary m=1..16:x2 --set n=32 --set k=32 --rounds 9", folder);
  EXPECT_NE(op.out.find("matmul: by formula the ridge of a core of this machine"),
            std::string::npos)
      << op.out;
  EXPECT_NE(op.out.find("matmul: measured, the traffic of the smallest batch"), std::string::npos);
  const Ran plan = trainyard(
      "probe --batch --model gpt2-small --cluster h100-sxm:8 --csv b.csv --svg b.svg", folder);
  EXPECT_NE(read_file((folder.path() / "b.svg").string()).find("<svg"), std::string::npos);
  EXPECT_EQ(read_file((folder.path() / "b.csv").string()).find("products,batch,"), 0u);
  for (const char* words : {"throughput, by formula: ", "Critical batch, simulated: "})
    EXPECT_NE(plan.out.find(words), std::string::npos) << plan.out;
}

}  // namespace
}  // namespace trainyard
