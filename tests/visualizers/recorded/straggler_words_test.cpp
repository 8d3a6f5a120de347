#include <gtest/gtest.h>

#include "visualizers/recorded/recorded_model.h"
#include "visualizers/recorded/straggler_words.h"

namespace trainyard {
namespace {

// Ten equal kernels one after another, of which the last takes three times as long where `slow`.
RecordedTrace ten_kernels(std::size_t count, bool slow) {
  RecordedTrace t;
  t.source = "made up";
  t.names = {"gemm"};
  t.processes = {{"rank 0", 0}};
  t.threads = {{0, "stream 7", true}};
  std::int64_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    t.start.push_back(at);
    t.end.push_back(at += slow && i + 1 == count ? 3000 : 1000);
    t.name.push_back(0);
    t.category.push_back(static_cast<std::uint8_t>(RecordedKind::Backward));
  }
  t.rows = {{0, 0, 0, static_cast<std::uint32_t>(count)}};
  return t;
}

TEST(StragglerWords, SayWhatStandsOutAndShowIt) {
  const auto model = recorded_model(ten_kernels(10, true));
  EXPECT_EQ(straggler_scope(*model),
            "10 kernels were compared, each with others of its name and sizes.");
  const std::vector<StragglerSentence> said = straggler_sentences(*model, 5);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].text,
            "3.00 times the median kernel, 2.00 µs more: 1 of 10 \"gemm\" (backward) of rank 0");
  EXPECT_EQ(said[0].span, 9u);
  EXPECT_EQ(straggler_sentences(*model, 0)[0].text, "1 more kinds of kernels stand out");
}

TEST(StragglerWords, SayWhyThereIsNothing) {
  EXPECT_EQ(straggler_scope(*recorded_model(ten_kernels(10, false))),
            "Nothing stands out of 10 kernels that were compared.");
  EXPECT_EQ(straggler_scope(*recorded_model(ten_kernels(7, true))),
            "No kernel occurs eight times or more, so there is nothing to compare one with.");
}

}  // namespace
}  // namespace trainyard
