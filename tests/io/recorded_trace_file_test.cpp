#include "core/io/traces/recorded_trace_file.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <filesystem>

#include "core/base/error.h"
#include "core/io/documents/recorded_trace_json.h"
#include "core/io/traces/chrome_trace_import.h"
#include "tests/support/kineto_trace.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

RecordedTrace sample() {
  std::string text = kineto_trace({.steps = 5});
  text.resize(text.size() - 60);  // with a defect
  return parse_chrome_trace(text, "t.tybin");
}

TEST(RecordedTraceFile, ReadsBackTheSame) {
  const RecordedTrace t = sample();
  EXPECT_EQ(parse_recorded_trace(recorded_trace_bytes(t), "t.tybin"), t);
  std::string folder = (std::filesystem::temp_directory_path() / "trainyard-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/t.tybin";
  write_recorded_trace(t, path);
  RecordedTrace again = read_recorded_trace(path);
  EXPECT_EQ(again.source, path);
  again.source = t.source;
  EXPECT_EQ(again, t);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_THROW(read_recorded_trace(folder), Error);
  EXPECT_THROW(write_recorded_trace(t, folder + "/none/t.tybin"), Error);
  std::filesystem::remove_all(folder);
}

// A file has a section of sizes where any span has some, and only there.
TEST(RecordedTraceFile, KeepsTheSizesOfSpans) {
  RecordedTrace t = sample();
  t.sizes.clear();
  const std::string without = recorded_trace_bytes(t);
  t.sizes.assign(t.start.size(), kSizesNotStated);
  t.sizes[1] = 0;
  const std::string with = recorded_trace_bytes(t);
  EXPECT_EQ(without[12], 8);
  EXPECT_EQ(with[12], 9);
  EXPECT_EQ(parse_recorded_trace(with, "t.tybin"), t);
  t.sizes[1] = static_cast<std::uint32_t>(t.names.size());
  EXPECT_EQ(testing::refusal([&] { parse_recorded_trace(recorded_trace_bytes(t), "t.tybin"); }),
            "t.tybin: expected sizes that are in the list of names");
  t.sizes.pop_back();
  EXPECT_EQ(testing::refusal([&] { parse_recorded_trace(recorded_trace_bytes(t), "t.tybin"); }),
            "t.tybin: expected the sizes of every span or of none");
}

// A changed byte is always reported, except in the padding between sections.
TEST(RecordedTraceFile, EveryFlippedByteIsToldOrHarmless) {
  const RecordedTrace t = sample();
  const std::string bytes = recorded_trace_bytes(t);
  EXPECT_TRUE(rc::check([&] {
    std::string broken = bytes;
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    broken[at] = static_cast<char>(broken[at] ^ (1 << *rc::gen::inRange(0, 8)));
    try {
      RC_ASSERT(parse_recorded_trace(broken, "t.tybin") == t);
      RC_ASSERT(bytes[at] == '\0');
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == Error::Kind::InvalidInput);
      RC_ASSERT(error.place().text.starts_with("t.tybin (byte "));
    }
  }));
}

TEST(RecordedTraceFile, RefusesOthersInASentence) {
  const auto refusal = [](const std::string& bytes) {
    return testing::refusal([&] { parse_recorded_trace(bytes, "t"); });
  };
  const std::string bytes = recorded_trace_bytes(sample());
  EXPECT_EQ(refusal(""), "t (byte 0): expected a .tybin file, found another");
  EXPECT_EQ(refusal("{}"), "t (byte 0): expected a .tybin file, found another");
  EXPECT_EQ(refusal(bytes.substr(0, 70)),
            "t (byte 70): expected a head and a table, found the end of the file");
  EXPECT_EQ(refusal(bytes.substr(0, bytes.size() - 64)),
            "t (byte 16): expected " + std::to_string(bytes.size()) + " bytes, found " +
                std::to_string(bytes.size() - 64));
  std::string newer = bytes;
  newer[8] = 9;
  EXPECT_EQ(refusal(newer),
            "t (byte 8): expected version 1, found 9: written by another Trainyard");
}

TEST(RecordedTraceFile, DocumentTellsWhereTheTimeWent) {
  const RecordedTrace t = sample();
  const Json json = parse_json(trace_document(t, Instant{0}, end_of(t)), "trace");
  EXPECT_EQ(*json.find("schema")->text(), "trainyard/trace@1");
  const Json& process = json.find("processes")->as_list()->at(0);
  double sum = 0;
  for (const char* key : {"compute_seconds", "exposed_communication_seconds",
                          "exposed_transfer_seconds", "idle_seconds"})
    sum += process.find(key)->real() ? *process.find(key)->real() : 0;
  EXPECT_NEAR(sum, to_seconds(end_of(t)), 1e-12);
  EXPECT_EQ(json.find("defects")->as_list()->size(), 1u);
}

TEST(RecordedTraceFile, DocumentTellsWhatStandsOut) {
  RecordedTrace t;
  t.source = "made up";
  t.names = {"gemm"};
  t.processes = {{"rank 0", 0}};
  t.threads = {{0, "stream 7", true}};
  t.rows = {{0, 0, 0, 10}};
  t.name.resize(10);
  t.category.resize(10, static_cast<std::uint8_t>(RecordedKind::Backward));
  for (std::int64_t i = 0; i < 10; ++i) {
    t.start.push_back(1000 * i);
    t.end.push_back(1000 * i + (i == 9 ? 3000 : 1000));
  }
  const Json json = parse_json(trace_document(t, Instant{0}, end_of(t)), "trace");
  const Json& found = *json.find("stragglers");
  EXPECT_EQ(*found.find("judged")->integer(), 10);
  EXPECT_TRUE(found.find("processes")->as_list()->empty());
  EXPECT_TRUE(found.find("steps")->as_list()->empty());
  ASSERT_EQ(found.find("kernels")->as_list()->size(), 1u);
  const Json& kernel = found.find("kernels")->as_list()->at(0);
  EXPECT_EQ(*kernel.find("name")->text(), "gemm");
  EXPECT_EQ(*kernel.find("process")->text(), "rank 0");
  EXPECT_EQ(*kernel.find("count")->integer(), 1);
  EXPECT_EQ(*kernel.find("of")->integer(), 10);
  EXPECT_NEAR(*kernel.find("ratio")->real(), 3, 1e-9);
  EXPECT_NEAR(*kernel.find("lost_seconds")->real(), 2e-6, 1e-12);
}

}  // namespace
}  // namespace trainyard
