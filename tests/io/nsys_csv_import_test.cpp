#include "core/io/traces/nsys_csv_import.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

#include "core/base/error.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

const char* const kPushPop =
    "Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,NumChild,"
    "RangeId,ParentId,RangeStack,NameTree\n";
const char* const kProjected =
    "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,"
    "PID,TID,NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack\n";
const char* const kKernels =
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),"
    "DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n";

RecordedTrace parsed(const std::string& text) { return parse_nsys_csv(text, "t.csv"); }

std::string refusal_of(const std::string& text) {
  return testing::refusal([&] { parsed(text); });
}

// "process/thread/depth: name@start+length(kind) ..." of every row.
std::string rows_text(const RecordedTrace& t) {
  std::string text;
  for (const RecordedRow& row : t.rows) {
    const RecordedThread& thread = t.threads[row.thread];
    text += t.processes[thread.process].name + "/" + thread.name + "/" + std::to_string(row.depth) +
            ":";
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i)
      text += " " + t.names[t.name[i]] + "@" + std::to_string(t.start[i]) + "+" +
              std::to_string(t.end[i] - t.start[i]) + "(" +
              to_string(static_cast<RecordedKind>(t.category[i])) + ")";
    text += "\n";
  }
  return text;
}

std::string defects_text(const RecordedTrace& t) {
  std::string text;
  for (const TraceDefect& d : t.defects) text += describe(d) + "\n";
  return text;
}

TEST(NsysCsv, RangesNestByDepthAndKeepTheirNames) {
  const RecordedTrace t =
      parsed(std::string("Generating SQLite file r.sqlite from r.nsys-rep\n"
                         "Processing [r.sqlite] with [nvtx_pushpop_trace.py]... \n") +
             kPushPop +
             "1000,5000,4000,1500,2500,\":ProfilerStep#3\",42,43,0,1,1,,:1,\":ProfilerStep#3\"\n"
             "2000,3500,1500,0,1500,\"a, \"\"b\"\"\nc\",42,43,1,0,2,1,:1:2,\"x\"\r\n"
             "1500,1700,200,0,200,TSL:Load,42,7,0,0,3,,:3,TSL:Load\n");
  EXPECT_EQ(rows_text(t),
            "process 42/thread 7/0: TSL:Load@500+200(host)\n"
            "process 42/thread 43/0: ProfilerStep#3@0+4000(host)\n"
            "process 42/thread 43/1: a, \"b\"?c@1000+1500(host)\n");
  EXPECT_EQ(t.base, 1000);
  EXPECT_EQ(t.events, 3u);
  EXPECT_EQ(defects_text(t), "");
  ASSERT_EQ(t.steps.size(), 1u);
  EXPECT_EQ(t.steps[0], (RecordedStep{0, 3, Instant{0}, Instant{4000}}));
  EXPECT_NO_THROW(check(t));
}

TEST(NsysCsv, ProjectedRangesLieWhereTheDeviceDidTheirWork) {
  const RecordedTrace t = parsed(std::string(kProjected) +
                                 ",10758298,33981358,,,,42,43,164,,0,,,\n"
                                 "step,2000,700,100,90,PushPop,42,43,5,0,1,1,,:1\n"
                                 "forward,2000,300,110,50,PushPop,42,43,2,1,0,2,1,:1:2\n"
                                 "waits,,,120,5,PushPop,42,43,0,1,0,3,1,:1:3\n");
  EXPECT_EQ(rows_text(t),
            "process 42/thread 43 on the device marks/0: step@0+700(host)\n"
            "process 42/thread 43 on the device marks/1: forward@0+300(host)\n");
  EXPECT_EQ(defects_text(t),
            "line 5: expected a number from 0 on as Projected Start (ns), found none; the row is "
            "left out\n");
  EXPECT_EQ(t.events, 3u);
}

TEST(NsysCsv, KernelsGoToTheirStreamsByWhatTheyDo) {
  const RecordedTrace t =
      parsed(std::string(kKernels) +
             "100,800,1,,,,,,,,,,0.000,340.000,Device,,NVIDIA H100 (0),1,,7,[CUDA memset]\n"
             "1000,50,2,1,1,1,128,1,1,32,0,0,,,,,NVIDIA H100 (0),1,,7,\"gemm<int, 2>\"\n"
             "1010,90,3,1,1,1,128,1,1,32,0,0,,,,,NVIDIA H100 (0),1,,16,ncclDevKernel_AllReduce\n"
             "1200,10,4,1,1,1,128,1,1,32,0,0,,,,,NVIDIA H100 (0),2,,7,multi_tensor_apply_kernel\n"
             "1000,20,5,1,1,1,128,1,1,32,0,0,,,,,NVIDIA H100 (1),1,,7,gemm\n");
  EXPECT_EQ(rows_text(t),
            "NVIDIA H100 (0)/stream 7/0: [CUDA memset]@0+800(transfer) gemm<int, "
            "2>@900+50(forward)\n"
            "NVIDIA H100 (0)/stream 16/0: ncclDevKernel_AllReduce@910+90(communication)\n"
            "NVIDIA H100 (0)/stream 7 of context 2/0: "
            "multi_tensor_apply_kernel@1100+10(optimizer)\n"
            "NVIDIA H100 (1)/stream 7/0: gemm@900+20(forward)\n");
  EXPECT_EQ(t.device, "NVIDIA H100");
  for (const RecordedThread& thread : testing::non_empty(t.threads)) EXPECT_TRUE(thread.device);
}

// nsys prints all reports that are asked for one after another.
TEST(NsysCsv, SeveralReportsOfOneFileAreOneTrace) {
  const RecordedTrace t = parsed(
      std::string("\n ** NVTX Push/Pop Range Trace (nvtx_pushpop_trace):\n\n") + kPushPop +
      "0,100,100,0,100,autograd::engine::evaluate_function: Mm,42,44,0,0,1,,:1,x\n\n"
      "Processing [r.sqlite] with [cuda_api_trace.py], [cuda_gpu_trace.py]... \n"
      "Start (ns),Duration (ns),Name,Result,CorrID,PID,TID,T-Pri,Thread Name\n"
      "10,5,cudaLaunchKernel,0,9,42,44,0,main\n"
      "20,5,cudaLaunchKernel,0,8,42,43,0,main\n" +
      "\nTime (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Style,"
      "Range\n50.0,5,1,5,5,5,5,0,PushPop,:a\n" +
      kKernels + "30,7,9,1,1,1,128,1,1,32,0,0,,,,,NVIDIA H100 (0),1,,7,gemm\n" +
      "40,7,8,1,1,1,128,1,1,32,0,0,,,,,NVIDIA H100 (0),1,,7,gemm\n");
  EXPECT_EQ(rows_text(t),
            "NVIDIA H100 (0)/stream 7/0: gemm@30+7(backward) gemm@40+7(forward)\n"
            "process 42/thread 43/0: cudaLaunchKernel@20+5(host)\n"
            "process 42/thread 44/0: autograd::engine::evaluate_function: Mm@0+100(host)\n"
            "process 42/thread 44/1: cudaLaunchKernel@10+5(host)\n");
  EXPECT_EQ(defects_text(t), "");
}

TEST(NsysCsv, UnitsAreThoseOfTheHead) {
  const std::pair<const char*, std::int64_t> units[] = {
      {"Start (ns),Duration (ns)", 1},
      {"Start (us),Duration (us)", 1000},
      {"Start (\u00b5s),Duration (\u03bcs)", 1000},
      {"Start(nsec),Duration(nsec)", 1},
      {"Start (ms),Duration (ms)", 1'000'000},
      {"Start (s),Duration (s)", 1'000'000'000},
      {"Start:ts_ns,Duration:dur_ns", 1}};
  for (const auto& [head, unit] : testing::non_empty(units)) {
    const RecordedTrace t = parsed(std::string(head) + ",Name,PID,TID\n3,2,a,1,1\n");
    EXPECT_EQ(t.base, 3 * unit) << head;
    EXPECT_EQ(t.end[0], 2 * unit) << head;
  }
  // Each column has its own, and decimals are kept to the nanosecond.
  const RecordedTrace t = parsed("Start (s),End (ms),Name,PID,TID\n1.0000000014,1500.5,a,1,1\n");
  EXPECT_EQ(t.base, 1'000'000'001);
  EXPECT_EQ(t.end[0], 500'499'999);
}

TEST(NsysCsv, WhatRowsLackIsToldOncePerKind) {
  const RecordedTrace t = parsed(
      "Start (ns),Duration (ns),Name,PID,TID\n1,2,a,1,1\nx,2,a,1,1\ny,2,a,1,1\n1,-2,a,1,1\n1,2,a\n"
      "1,,a,1,1\n2305843009213693952,2305843009213693952,a,1,1\n"
      "The report was written.\n");
  EXPECT_EQ(defects_text(t),
            "line 3: expected a number from 0 on as Start (ns), found another text (2 times); the "
            "row is left out\n"
            "line 5: expected a number from 0 on as Duration (ns), found another text; the row is "
            "left out\n"
            "line 6: expected 5 cells, as the head has, found fewer; the row is left out\n"
            "line 7: expected a number from 0 on as Duration (ns), found none; the row is left "
            "out\n"
            "line 8: expected an end behind the start and within 73 years, found another; the row "
            "is left out\n");
  EXPECT_EQ(t.start.size(), 1u);
  EXPECT_EQ(t.events, 7u);
}

TEST(NsysCsv, RefusesWhatIsNoTraceWithItsPlace) {
  EXPECT_EQ(refusal_of("0F0,0F1\n"),
            "t.csv: expected a head with Start (ns), Duration (ns) and Name, as nsys stats "
            "--format csv --report nvtx_pushpop_trace (or nvtx_gpu_proj_trace, cuda_gpu_trace) "
            "writes it; found none");
  EXPECT_EQ(refusal_of("\nTime (%),Total Time (ns),Instances,Range\n100.0,5,1,:a\n"),
            "t.csv: expected a trace with a column Start (ns), as nsys stats --format csv --report "
            "nvtx_pushpop_trace (or nvtx_gpu_proj_trace, cuda_gpu_trace) writes it; found a "
            "summary in line 2, which has no times of its own");
  EXPECT_EQ(refusal_of("Start,Duration,Name,PID,TID\n1,2,a,1,1\n"),
            "t.csv:1: expected the unit of \"Start\" in its head, as Start (ns); units are ns, us, "
            "ms and s");
  EXPECT_EQ(refusal_of("Start (ns),Name,PID,TID\n"),
            "t.csv:1: expected a column Duration (ns) or End (ns), found neither");
  EXPECT_EQ(refusal_of("Start (ns),Duration (ns),Text\n"),
            "t.csv:1: expected a column Name, found none");
  EXPECT_EQ(refusal_of("\nStart (ns),Duration (ns),Name\n1,2,a\n"),
            "t.csv:2: expected columns PID and TID, or Device and Strm, found neither");
  EXPECT_EQ(refusal_of("Start (ns),Duration (ns),Name,PID,TID\n"),
            "t.csv:1: expected rows below the head, found none");
  EXPECT_EQ(refusal_of("Start (ns),Duration (ns),Name,PID,TID\n5,x,a,1,1\n"),
            "t.csv:2:2: expected a number from 0 on as Duration (ns), found another text");
  EXPECT_EQ(refusal_of("\"" + std::string((1 << 20) + 9, 'x')),
            "t.csv:1: expected a row of at most 1048576 bytes and 4096 cells, found a longer one");
}

TEST(NsysCsv, IsKnownByItsHead) {
  EXPECT_TRUE(is_nsys_csv(std::string("Processing [r.sqlite]...\n") + kKernels));
  EXPECT_TRUE(is_nsys_csv(kProjected));
  EXPECT_FALSE(is_nsys_csv("0F0,0F1,0B0\n"));
  EXPECT_FALSE(is_nsys_csv("Start,Duration,Name,PID,TID\n"));
  EXPECT_FALSE(is_nsys_csv(""));
}

// For any cell contents, a name that is quoted and read back is unchanged.
TEST(NsysCsv, AnyNameSurvivesItsQuotes) {
  EXPECT_TRUE(rc::check([] {
    const auto name = *rc::gen::nonEmpty(
        rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab,\"' ;()<>"))));
    std::string quoted = "\"";
    for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    const RecordedTrace t =
        parsed("Name,Start (ns),Duration (ns),PID,TID\n" + quoted + "\",1,2,1,1\n");
    RC_ASSERT(t.names.at(t.name.at(0)) == name);
    RC_ASSERT(t.defects.empty());
  }));
}

TEST(NsysCsv, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  try {
    parse_nsys_csv(kPushPop, "t.csv", {.stop = stop.get_token(), .progress = {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Cancelled);
  }
}

}  // namespace
}  // namespace trainyard
