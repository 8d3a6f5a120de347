#include "visualizers/run/run_troubles.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace trainyard {
namespace {

bool tells(const std::vector<RunTrouble>& lines, const std::string& name,
           const std::string& words) {
  return std::any_of(lines.begin(), lines.end(), [&](const RunTrouble& line) {
    return line.name == name && line.words.find(words) != std::string::npos;
  });
}

TEST(RunTroubles, TellOfFlippedBitsAndOfFailedRanks) {
  EXPECT_TRUE(run_troubles({}, {}, {}).empty());
  FlipReport flips;
  flips.classes[0] = {.injected = 5, .corrected = 1, .detected = 3};
  flips.alarms[1] = 2;
  flips.steps = 10, flips.alarmed_steps = 3, flips.false_alarms = 1;
  flips.restores = 1, flips.steps_repeated = 2;
  flips.sentences = {"step 4: the checksum of fc1 changed"};
  RecoveryReport recovery;
  recovery.how = ShardSaving::Full;
  recovery.shards = 4, recovery.saves = 3, recovery.steps_repeated = 7;
  recovery.losses.resize(22);
  const auto lines = run_troubles(flips, recovery, {Bytes{2 << 20}, Bytes{3 << 20}});
  EXPECT_TRUE(tells(lines, "bits", "5 flipped, 1 corrected, 3 detected, 1 missed"));
  EXPECT_TRUE(tells(lines, "weights", "5 flipped"));
  EXPECT_TRUE(tells(lines, "checksum", "named 2 tensors"));
  EXPECT_TRUE(tells(lines, "alarms", "in 3 of 10 steps, 1 of them false"));
  EXPECT_TRUE(tells(lines, "went back", "once, 2 steps repeated"));
  EXPECT_TRUE(tells(lines, "", "step 4: the checksum"));
  EXPECT_TRUE(tells(lines, "failures", "22 of 4 ranks, after which all went back and repeated 7"));
  EXPECT_TRUE(tells(lines, "", "and 2 more"));
  EXPECT_TRUE(
      tells(lines, "kept", "2.00 MiB in the memory of the host to go back to, predicted 3.00 MiB"));

  const std::vector<std::string> sentences = trouble_sentences(lines);
  ASSERT_EQ(sentences.size(), 6u) << "of parts none";
  EXPECT_EQ(sentences[0], "Bits: 5 flipped, 1 corrected, 3 detected, 1 missed.");

  DataTable table = listed_table("Run", {{"what", DataUnit::Words}, {"loss", DataUnit::Number}},
                                 {{std::string("update 1"), 2.5}}, {{ItemKind::Dot, 7}});
  add_troubles(table, lines);
  ASSERT_EQ(table.rows, 1 + lines.size());
  EXPECT_EQ(std::get<double>(table.cell(0, 1)), 2.5);
  EXPECT_EQ(table.item(0), (Item{ItemKind::Dot, 7}));
  EXPECT_EQ(std::get<std::string>(table.cell(2, 0)),
            "bits: weights, 5 flipped, 1 corrected, 3 detected, 1 missed");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table.cell(2, 1)));
  EXPECT_EQ(table.item(2), Item{});
}

}  // namespace
}  // namespace trainyard
