// `trainyard trace` as a person runs it.
#include <gtest/gtest.h>

#include <fstream>

#include "app/cli/verb.h"
#include "core/io/json_schemas.h"
#include "tests/app/conforms.h"
#include "tests/app/trainyard.h"
#include "tests/support/kineto_trace.h"

namespace trainyard {
namespace {

Ran trace(const std::string& words, const TemporaryFolder& folder) {
  return trainyard("trace " + words, folder);
}

TEST(TraceVerb, ItsOwnFileSaysTheSame) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "t.json") << kineto_trace();
  const Ran first = trace("t.json --json --out t.tybin --png t.png", folder);
  ASSERT_EQ(first.exit, kDone) << first.err;
  const Json json = parse_json(first.out, "trace");
  conforms(json, parse_json(json_schema("trace"), "schema"), "trace");
  EXPECT_GT(std::filesystem::file_size(folder.path() / "t.png"), 1000u);
  const Ran again = trace("t.tybin --json", folder);
  ASSERT_EQ(again.exit, kDone) << again.err;
  std::string expected = first.out;
  expected.replace(expected.find("\"t.json\""), 8, "\"t.tybin\"");
  EXPECT_EQ(again.out, expected);
}

TEST(TraceVerb, ReadsWhatNsysPrints) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "t.csv")
      << "Processing [r.sqlite] with [cuda_gpu_trace.py]... \n"
         "Start (us),Duration (us),CorrId,Device,Ctx,Strm,Name\n"
         "10,30,1,NVIDIA H100 (0),1,7,gemm\n40,10,2,NVIDIA H100 (0),1,7,ncclDevKernel\n";
  const Ran ran = trace("t.csv --json", folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  const Json json = parse_json(ran.out, "trace");
  conforms(json, parse_json(json_schema("trace"), "schema"), "trace");
  EXPECT_EQ(*json.find("device")->text(), "NVIDIA H100");
  EXPECT_EQ(*json.find("spans")->integer(), 2);
  const Json& process = json.find("processes")->as_list()->at(0);
  EXPECT_EQ(*process.find("process")->text(), "NVIDIA H100 (0)");
  EXPECT_DOUBLE_EQ(*process.find("compute_seconds")->real(), 30e-6);
  EXPECT_DOUBLE_EQ(*process.find("exposed_communication_seconds")->real(), 10e-6);
  std::ofstream(folder.path() / "bad.csv") << "Start (ns),Duration (ns),Name,PID,TID\n5,x,a,1,1\n";
  const Ran bad = trace("bad.csv", folder);
  EXPECT_EQ(bad.exit, kWrongInput);
  EXPECT_NE(bad.err.find("bad.csv:2:2: expected a number from 0 on as Duration (ns)"),
            std::string::npos)
      << bad.err;
}

TEST(TraceVerb, RefusesInASentence) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "t.json") << kineto_trace();
  const Ran range = trace("t.json --range 5s..6s", folder);
  EXPECT_EQ(range.exit, kWrongInput);
  EXPECT_NE(range.err.find("--range: expected a range within the recording"), std::string::npos)
      << range.err;
  EXPECT_EQ(trace("none.json", folder).exit, kWrongInput);
  std::ofstream(folder.path() / "bad.json") << "{\"hello\": 1}";
  const Ran bad = trace("bad.json", folder);
  EXPECT_EQ(bad.exit, kWrongInput);
  EXPECT_NE(bad.err.find("expected a list of events"), std::string::npos) << bad.err;
}

}  // namespace
}  // namespace trainyard
