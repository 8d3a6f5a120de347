#include "core/io/traces/nccl_tests_import.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdio>

#include "core/base/error.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

// The output of all_reduce_perf for a link with this start-up time and bandwidth.
std::string printed(double start_us, double bus_gbps, int ranks, double wobble = 0) {
  std::string text =
      "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 8 minBytes 8\n# Using "
      "devices\n";
  char line[300];
  for (int r = 0; r < ranks; ++r) {
    std::snprintf(line, sizeof line, "#  Rank %2d Group  0 Pid 12345 on node device %2d\n", r, r);
    text += line;
  }
  text += "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
  int row = 0;
  for (double bytes = 1024; bytes <= 8e9; bytes *= 8, ++row) {
    const double factor = 2.0 * (ranks - 1) / ranks;
    const double us =
        (start_us + bytes * factor / (bus_gbps * 1000)) * (1 + wobble * (row % 2 ? 1 : -1));
    const double algbw = bytes / us / 1000;
    std::snprintf(line, sizeof line,
                  "%12.0f %13.0f float sum -1 %.2f %.2f %.2f 0 %.2f %.2f %.2f 0\n", bytes,
                  bytes / 4, us, algbw, algbw * factor, us, algbw, algbw * factor);
    text += line;
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 123.4\n";
}

TEST(NcclTests, WhatALauncherPutsBeforeEachLineIsNoPartOfIt) {
  const std::string plain = printed(20, 400, 8);
  const NcclTable table = parse_nccl_tests(plain, "n.txt");
  for (const char* tag : {"0: ", " 3: ", "12: ", "[1,0]<stdout>:", "[1,0]<stdout>: ",
                          "[node-3.cluster:1,12]<stderr>:"}) {
    std::string tagged;
    for (std::size_t from = 0; from < plain.size();) {
      const std::size_t end = plain.find('\n', from) + 1;
      tagged += tag + plain.substr(from, end - from);
      from = end;
    }
    const NcclTable read = parse_nccl_tests(tagged, "n.txt");
    EXPECT_EQ(read.rows, table.rows) << tag;
    EXPECT_EQ(read.ranks, table.ranks) << tag;
    EXPECT_EQ(read.collective, table.collective) << tag;
  }
}

TEST(NcclTests, FindsTheLinkBehindTheTable) {
  const NcclTable table = parse_nccl_tests(printed(25, 360, 8), "n.txt");
  EXPECT_EQ(table.collective, "all_reduce");
  EXPECT_EQ(table.ranks, 8);
  EXPECT_EQ(table.rows.size(), 8u);
  EXPECT_EQ(table.rows[0].type, "float");
  const LinkFit f = fit_links(table);
  EXPECT_DOUBLE_EQ(f.bus_factor, 1.75);
  EXPECT_NEAR(to_seconds(f.start), 25e-6, 0.1e-6);
  EXPECT_NEAR(f.bandwidth.value, 360e9, 1e9);
  EXPECT_LT(f.worst_error, 0.01);
  EXPECT_LT(f.held_out, 0.01);
  EXPECT_NE(links_document(table, f).find("trainyard/links@1"), std::string::npos);
}

TEST(NcclTests, AnyLinkIsFound) {
  EXPECT_TRUE(rc::check([] {
    const double start = *rc::gen::inRange(5, 200);
    const double bus = *rc::gen::inRange(5, 900);
    const int ranks = *rc::gen::inRange(2, 64);
    const LinkFit f = fit_links(parse_nccl_tests(printed(start, bus, ranks), "n"));
    RC_ASSERT(std::abs(f.bandwidth.value / (bus * 1e9) - 1) < 0.02);
    RC_ASSERT(std::abs(to_seconds(f.start) / (start * 1e-6) - 1) < 0.05);
  }));
}

TEST(NcclTests, ResidualsSayHowFarRowsAreOff) {
  const LinkFit f = fit_links(parse_nccl_tests(printed(25, 360, 8, 0.1), "n"));
  EXPECT_GT(f.median_error, 0.02);
  EXPECT_LT(f.worst_error, 0.3);
}

TEST(NcclTests, RefusesWithTheLine) {
  const auto refusal = [](const std::string& text) {
    return testing::refusal([&] { fit_links(parse_nccl_tests(text, "n.txt")); });
  };
  EXPECT_NE(refusal("hello\n").find("n.txt: expected the table of an nccl-tests run"),
            std::string::npos);
  EXPECT_EQ(refusal("# x\n 1024 256 float sum -1 10 9.99 1 0 10 0.10 1 0\n"),
            "n.txt:2: expected an algbw of 0.102400 GB/s for that size and time, found 9.99");
  EXPECT_EQ(refusal("1024 256 float sum -1 10 0.10 1 0 10 0.10 1 0\n"),
            "n.txt: expected at least two sizes to fit a link to, found fewer");
}

}  // namespace
}  // namespace trainyard
