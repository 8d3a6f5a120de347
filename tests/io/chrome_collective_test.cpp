// Tests what is read of the arguments that PyTorch's process groups note of a kernel.
#include "core/io/traces/chrome_collective.h"

#include <gtest/gtest.h>

#include <utility>

#include "core/io/traces/chrome_trace_import.h"
#include "core/io/traces/recorded_trace_file.h"
#include "tests/support/collective_trace.h"

namespace trainyard {
namespace {

using testing::CollectiveTrace;

RecordedTrace stated(const CollectiveTrace& t) { return parse_chrome_trace(t.text(), "r.json"); }

TEST(ChromeCollective, BytesAreCountedAsTheCostModelCountsThem) {
  const std::pair<const char*, std::pair<CollectiveKind, std::int64_t>> kinds[] = {
      {"allreduce", {CollectiveKind::AllReduce, 2000}},
      {"allreduce_coalesced", {CollectiveKind::AllReduce, 2000}},
      {"_allgather_base", {CollectiveKind::AllGather, 4 * 2000}},
      {"all_gather", {CollectiveKind::AllGather, 4 * 2000}},
      {"allgather_into_tensor_coalesced", {CollectiveKind::AllGather, 4 * 2000}},
      {"reduce_scatter", {CollectiveKind::ReduceScatter, 2000}},
      {"_reduce_scatter_base", {CollectiveKind::ReduceScatter, 2000}},
      {"reduce_scatter_tensor_coalesced", {CollectiveKind::ReduceScatter, 2000}},
      {"all_to_all", {CollectiveKind::AllToAll, 2000}},
      {"all_to_allv", {CollectiveKind::AllToAll, 2000}},
      {"broadcast", {CollectiveKind::Broadcast, 2000}},
      {"_broadcast_oop", {CollectiveKind::Broadcast, 2000}},
      {"reduce", {CollectiveKind::Reduce, 2000}},
      {"_reduce_oop", {CollectiveKind::Reduce, 2000}},
      {"gather", {CollectiveKind::Gather, 4 * 2000}}};
  CollectiveTrace t(0);
  std::int64_t at = 5;
  for (const auto& [word, kind] : kinds)
    t.collective(word, 1000, "BFloat16", 4, "[0, 1, 2, 3]", at, 7), at += 10;
  const RecordedTrace read = stated(t);
  ASSERT_EQ(read.collectives.size(), std::size(kinds));
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    const RecordedCollective& one = read.collectives[i];
    EXPECT_EQ(read.names[one.name], kinds[i].first);
    EXPECT_EQ(one.kind, kinds[i].second.first) << kinds[i].first;
    EXPECT_EQ(one.bytes.value, kinds[i].second.second) << kinds[i].first;
    EXPECT_EQ(one.from.count(), static_cast<std::int64_t>(i) * 10'000);
    EXPECT_EQ((one.to - one.from).count(), 7'000);
  }
  EXPECT_EQ(read.groups, (std::vector<RecordedGroup>{{"4", 4, {0, 1, 2, 3}}}));
  EXPECT_TRUE(read.defects.empty());
}

TEST(ChromeCollective, FormatsHaveTheirBytes) {
  for (const auto& [dtype, bytes] :
       {std::pair("Float", 4), {"Half", 2}, {"Double", 8}, {"Float8_e4m3fn", 1}, {"Long", 8}}) {
    CollectiveTrace t(0);
    t.collective("allreduce", 10, dtype, 2, "[0, 1]", 0, 1);
    ASSERT_EQ(stated(t).collectives.size(), 1u);
    EXPECT_EQ(stated(t).collectives[0].bytes.value, 10 * bytes) << dtype;
  }
}

// PyTorch cuts lists of more than 30 ranks short.
TEST(ChromeCollective, ALongListOfRanksGoesOnAsItBegan) {
  CollectiveTrace t(0);
  t.collective("allreduce", 1, "Float", 6, "[3, 11, 19, ...]", 0, 1);
  t.collective("allreduce", 1, "Float", 3, "[5, 4]", 2, 1);  // neither cut nor complete
  t.collective("allreduce", 1, "Float", 2, "", 4, 1);
  EXPECT_EQ(stated(t).groups, (std::vector<RecordedGroup>{
                                  {"6", 6, {3, 11, 19, 27, 35, 43}}, {"3", 3, {}}, {"2", 2, {}}}));
}

TEST(ChromeCollective, WhatNoPlanHasIsKeptWithoutAKind) {
  CollectiveTrace t(0);
  t.collective("barrier", 1, "Byte", 2, "[0, 1]", 0, 1);
  t.collective("send", 100, "Float", 2, "[0, 1]", 2, 1);
  t.collective("allreduce", 100, "Float", 1, "[0]", 4, 1);  // nothing is sent
  const RecordedTrace read = stated(t);
  ASSERT_EQ(read.collectives.size(), 2u);
  for (const RecordedCollective& one : read.collectives) {
    EXPECT_FALSE(one.kind);
    EXPECT_EQ(one.bytes.value, 0);
  }
}

TEST(ChromeCollective, WhatContradictsItselfIsADefect) {
  const auto defect = [](const char* dtype, std::int64_t elements, int size) {
    CollectiveTrace t(0);
    t.collective("allreduce", elements, dtype, size, "[]", 0, 1);
    const RecordedTrace read = stated(t);
    EXPECT_TRUE(read.collectives.empty());
    EXPECT_EQ(read.start.size(), 1u);  // the span stays
    return read.defects.empty() ? "" : describe(read.defects[0]);
  };
  EXPECT_EQ(defect("Flaot", 1, 2),
            "line 3: expected a number format of PyTorch as dtype, found \"Flaot\"; the collective "
            "has no size");
  EXPECT_EQ(defect("Float", -1, 2),
            "line 3: expected a number of elements as In msg nelems, found another one; the "
            "collective has no size");
  EXPECT_EQ(defect("Float", 1, -3),
            "line 3: expected a group of 1 to 1000000 ranks, found -3; the collective has no size");
}

TEST(ChromeCollective, AFileOfOurOwnKeepsThem) {
  CollectiveTrace t(3);
  t.collective("_allgather_base", 1000, "Float", 2, "[2, 3]", 0, 5);
  t.collective("barrier", 1, "Byte", 4, "[0, 1, 2, 3]", 10, 5);
  const RecordedTrace read = stated(t);
  EXPECT_EQ(parse_recorded_trace(recorded_trace_bytes(read), "r.json"), read);
  // A part has those that touch it.
  const RecordedTrace part = part_of(read, Instant{8'000}, Instant{12'000});
  ASSERT_EQ(part.collectives.size(), 1u);
  EXPECT_EQ(part.names[part.collectives[0].name], "barrier");
}

}  // namespace
}  // namespace trainyard
