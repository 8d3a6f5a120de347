// Tests `trainyard trace` as a user runs it.
#include <gtest/gtest.h>

#include <fstream>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "tests/app/trainyard.h"
#include "tests/support/conforms.h"
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

// Times stay those of the whole recording; the written part opens again as the same part.
TEST(TraceVerb, ARangeIsAllThatIsRead) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "t.json") << R"([
    {"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":30},
    {"ph":"X","name":"b","pid":1,"tid":1,"ts":30,"dur":30},
    {"ph":"X","name":"c","pid":1,"tid":1,"ts":60,"dur":30}])";
  const Ran ran = trace("t.json --range 30us..50us --json --out part.tybin", folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  const Json json = parse_json(ran.out, "trace");
  conforms(json, parse_json(json_schema("trace"), "schema"), "trace");
  EXPECT_EQ(*json.find("events")->integer(), 3);
  EXPECT_EQ(*json.find("spans")->integer(), 1);
  EXPECT_DOUBLE_EQ(*json.find("seconds")->real(), 90e-6);
  EXPECT_DOUBLE_EQ(*json.find("range")->find("from")->real(), 30e-6);
  EXPECT_DOUBLE_EQ(*json.find("range")->find("to")->real(), 50e-6);
  const Ran text = trace("part.tybin", folder);
  ASSERT_EQ(text.exit, kDone) << text.err;
  EXPECT_NE(text.out.find("recorded      3 events, 1 spans of the range, 90.0 us\n"
                          "range         30.0 us to 50.0 us\n"),
            std::string::npos)
      << text.out;
}

TEST(TraceVerb, FilesOfRanksAreOneRecording) {
  const TemporaryFolder folder;
  const auto write = [&](const char* name, int rank, const char* base) {
    std::ofstream(folder.path() / name)
        << "{\"baseTimeNanoseconds\": " << base << ", \"distributedInfo\": {\"rank\": " << rank
        << ", \"world_size\": 2}, \"traceEvents\": [{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
           "\"gemm\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":10}]}";
  };
  write("one.json", 1, "1700000000000000000");
  write("two.json", 0, "1700000000000030000");
  const Ran ran = trace("one.json two.json --json", folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  const Json json = parse_json(ran.out, "trace");
  conforms(json, parse_json(json_schema("trace"), "schema"), "trace");
  const Json::List& processes = *json.find("processes")->as_list();
  ASSERT_EQ(processes.size(), 2U);
  EXPECT_EQ(*processes[0].find("process")->text(), "rank 0");
  EXPECT_EQ(*processes[1].find("process")->text(), "rank 1");
  EXPECT_DOUBLE_EQ(*json.find("seconds")->real(), 40e-6);
  EXPECT_EQ(*json.find("notes")->as_list()->at(0).text(),
            "the clocks of the ranks are aligned by their baseTimeNanoseconds");
  const Ran part = trace("one.json two.json --range 0us..20us", folder);
  ASSERT_EQ(part.exit, kDone) << part.err;
  EXPECT_NE(part.out.find("2 events, 1 spans of the range, 40.0 us"), std::string::npos)
      << part.out;
  EXPECT_EQ(trace("one.json one.json", folder).exit, kWrongInput);
  EXPECT_EQ(trace("", folder).exit, kWrongInput);
}

TEST(TraceVerb, RefusesInASentence) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "t.json") << kineto_trace();
  const Ran range = trace("t.json --range 5s..6s", folder);
  EXPECT_EQ(range.exit, kWrongInput);
  EXPECT_NE(range.err.find("--range: expected a range within the recording"), std::string::npos)
      << range.err;
  EXPECT_NE(range.err.find("the recording is from 0 s to "), std::string::npos) << range.err;
  const Ran reversed = trace("t.json --range 2ms..1ms", folder);
  EXPECT_EQ(reversed.exit, kWrongInput);
  EXPECT_NE(reversed.err.find("--range: expected a range that ends after it starts, found 2.00 ms "
                              "to 1.00 ms; the recording is from 0 s to "),
            std::string::npos)
      << reversed.err;
  EXPECT_EQ(trace("none.json", folder).exit, kWrongInput);
  std::ofstream(folder.path() / "bad.json") << "{\"hello\": 1}";
  const Ran bad = trace("bad.json", folder);
  EXPECT_EQ(bad.exit, kWrongInput);
  EXPECT_NE(bad.err.find("expected a list of events"), std::string::npos) << bad.err;
}

}  // namespace
}  // namespace trainyard
