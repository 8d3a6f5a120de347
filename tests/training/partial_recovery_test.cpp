// Tests partial recovery without a run: its settings, what is saved, and its meter. B-REL-02.
#include "core/training/partial_recovery.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/model/hot_rows.h"
#include "core/reliability/checkpoint_interval.h"
#include "core/training/row_saves.h"
#include "core/training/training.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

PartialRecovery saving(ShardSaving how, std::int64_t save = 16, double part = 0.125) {
  return {how, save, part, {}};
}

TEST(PartialRecovery, SettingsReadBackWhatTheyWrite) {
  Training training;
  for (const char* word : {"cpr=scar", "cpr-save=40", "cpr-part=0.25", "cpr-kill=20:1,35:0"}) {
    apply_training(training, word);
    const std::string_view key = std::string_view(word).substr(0, std::string_view(word).find('='));
    for (const TrainingKey& known : training_keys())
      if (known.key == key) {
        EXPECT_EQ(std::string(key) + "=" + known.read(training), word);
      }
  }
  EXPECT_EQ(training.recovery.every(), 10);
  EXPECT_FALSE(has_errors(check(training)));
  for (const char* off : {"cpr=off", "cpr-kill=off"}) apply_training(training, off);
  EXPECT_FALSE(training.recovery.on());
  EXPECT_TRUE(training.recovery.kills.empty());
}

TEST(PartialRecovery, SettingsRefuseInASentence) {
  Training training;
  const auto refused = [&](std::string_view word) {
    return testing::refusal([&] { apply_training(training, word); });
  };
  EXPECT_NE(refused("cpr=mfuu").find("did you mean \"mfu\"?"), std::string::npos);
  EXPECT_NE(refused("cpr-kill=20").find("as in 20:1,35:0"), std::string::npos);
  for (std::string_view wrong : {"cpr-save=0", "cpr-part=0", "cpr-part=2",
                                 "cpr-kill=", "cpr-kill=0:1", "cpr-kill=3:-1", "cpr-kill=3:1,"})
    EXPECT_NE(refused(wrong), "accepted") << wrong;
  const auto wrong_together = [](std::initializer_list<const char*> words) {
    Training together;
    for (const char* word : words) apply_training(together, word);
    return has_errors(check(together));
  };
  EXPECT_TRUE(wrong_together({"cpr-kill=3:1"}));
  EXPECT_TRUE(wrong_together({"cpr=plain", "cpr-kill=3:1", "steps=2"}));
  EXPECT_TRUE(wrong_together({"cpr=mfu", "cpr-save=12"}));
  EXPECT_FALSE(wrong_together({"cpr=plain", "cpr-save=12", "cpr-kill=3:1"}));
}

// Rows whose content is the number of their look-ups, and saves that copy it.
RC_GTEST_PROP(RowSave, MetersExactlyWhatAFailureLoses, ()) {
  const auto how = static_cast<ShardSaving>(*rc::gen::inRange(1, 6));
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 40);
  const double part = *rc::gen::element(0.125, 0.25, 0.5, 1.0);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  RowSaves saves(saving(how, 16, part), rows, seed);
  std::vector<std::int64_t> content(static_cast<std::size_t>(rows), 0), saved = content;
  const auto most = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::floor(part * static_cast<double>(rows))));
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::int64_t what = Random(seed, 1).between(i, 0, 19);
    if (what == 0) {
      std::int64_t lost = 0;
      for (std::size_t r = 0; r < content.size(); ++r) lost += content[r] - saved[r];
      RC_ASSERT(saves.at_risk() == lost);
      content = saved;
      saves.went_back();
      RC_ASSERT(saves.at_risk() == 0);
    } else if (what <= 2) {
      const std::vector<std::int64_t> chosen = saves.choose([&](std::int64_t row) {
        const auto r = static_cast<std::size_t>(row);
        return static_cast<double>(content[r] - saved[r]);
      });
      RC_ASSERT(std::adjacent_find(chosen.begin(), chosen.end(), std::greater_equal<>()) ==
                chosen.end());
      const bool all = how == ShardSaving::Full || how == ShardSaving::Plain;
      RC_ASSERT((all ? static_cast<std::int64_t>(chosen.size()) == rows
                     : static_cast<std::int64_t>(chosen.size()) <= most));
      // No row that was left out had more to save than one that was chosen.
      if (how == ShardSaving::Mfu || how == ShardSaving::Scar) {
        std::int64_t least = INT64_MAX, left = 0;
        for (std::int64_t row = 0; row < rows; ++row)
          if (std::binary_search(chosen.begin(), chosen.end(), row))
            least = std::min(least, saves.unsaved(row));
          else
            left = std::max(left, saves.unsaved(row));
        RC_ASSERT(least > 0);
        RC_ASSERT((chosen.empty() ? left == 0 : left <= least));
      }
      for (const std::int64_t row : chosen)
        saved[static_cast<std::size_t>(row)] = content[static_cast<std::size_t>(row)];
      saves.saved(chosen);
    } else {
      const std::int64_t row = Random(seed, 2).between(i, 0, rows - 1);
      ++content[static_cast<std::size_t>(row)];
      saves.look_up(row);
    }
  }
}

// Rows of a training that has lost its numbers have an order like all others.
TEST(RowSaves, TakeRowsThatAreNoNumberFirst) {
  RowSaves saves(saving(ShardSaving::Scar, 16, 0.25), 64, 1);
  for (std::int64_t row = 0; row < 64; ++row) saves.look_up(row);
  const std::vector<std::int64_t> chosen = saves.choose(
      [](std::int64_t row) { return row % 5 == 3 ? std::nan("") : static_cast<double>(row); });
  ASSERT_EQ(chosen.size(), 16u);
  for (std::int64_t row = 3; row < 64; row += 5)
    EXPECT_TRUE(std::binary_search(chosen.begin(), chosen.end(), row)) << row;
  for (const std::int64_t row : {60, 61, 62})
    EXPECT_TRUE(std::binary_search(chosen.begin(), chosen.end(), row)) << row;
}

struct Drawn {
  std::int64_t lost = 0, saved = 0;  // look-ups, rows
};

// A shard whose look-ups follow Zipf's law, and which fails now and then.
Drawn lost_under_zipf(ShardSaving how, std::uint64_t seed) {
  constexpr std::int64_t kRows = 2000, kBatch = 64, kSteps = 4000;
  const PartialRecovery settings = saving(how, 64);
  RowSaves saves(settings, kRows, seed);
  Drawn drawn;
  std::uint64_t lookup = 0;
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    for (std::int64_t i = 0; i < kBatch; ++i)
      saves.look_up(zipf_row(Random(seed, 1).uniform(lookup++), kRows, 1));
    if (Random(seed, 2).uniform(static_cast<std::uint64_t>(step)) < 0.01) {
      drawn.lost += saves.at_risk();
      saves.went_back();
    }
    if (step % settings.every() != 0) continue;
    const std::vector<std::int64_t> rows = saves.choose(
        [&](std::int64_t row) { return std::sqrt(static_cast<double>(saves.unsaved(row))); });
    drawn.saved += static_cast<std::int64_t>(rows.size());
    saves.saved(rows);
  }
  return drawn;
}

TEST(RowSaves, ThatChooseLoseLessAtNoMoreRowsUnderZipf) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const Drawn plain = lost_under_zipf(ShardSaving::Plain, seed);
    ASSERT_GT(plain.lost, 0);
    for (const ShardSaving how : {ShardSaving::Mfu, ShardSaving::Ssu, ShardSaving::Scar}) {
      const Drawn chosen = lost_under_zipf(how, seed);
      EXPECT_LE(chosen.saved, plain.saved) << to_string(how);
      EXPECT_LT(static_cast<double>(chosen.lost), 0.6 * static_cast<double>(plain.lost))
          << to_string(how);
    }
  }
}

// B-REL-02: the simulated mean is within 3 % of T_save / (2 T_fail N) where T is 20 T_fail or more.
TEST(PartialRecovery, PortionOfLostSamplesIsThatOfTheFormula) {
  constexpr std::int64_t kShards = 18, kTotal = 56'000;
  constexpr double kMtbf = 2800;  // in samples: 20 failures a training
  for (const std::int64_t interval : {100, 400, 1600}) {
    double sum = 0;
    constexpr int kTrainings = 4000;
    for (std::uint64_t training = 0; training < kTrainings; ++training) {
      RecoveryReport report;
      report.how = ShardSaving::Plain;
      report.shards = kShards, report.samples = kTotal;
      const Random random(7, training);
      double at = 0;
      for (std::uint64_t failure = 0;; ++failure) {
        at -= kMtbf * std::log1p(-random.uniform(failure));
        const auto sample = static_cast<std::int64_t>(at);
        if (sample >= kTotal) break;
        report.losses.push_back({{sample, 0}, sample % interval, 0, 0});
      }
      sum += report.lost_samples();
    }
    const double expected = portion_of_lost_samples(static_cast<double>(interval), kMtbf, kShards);
    EXPECT_NEAR(sum / kTrainings, expected, 0.03 * expected) << interval;
  }
  // The sheet's own case: 4 h between saves, 28 h between failures, 18 shards.
  EXPECT_NEAR(portion_of_lost_samples(4, 28, 18), 0.00397, 0.00001);
}

// B-REL-02: saves of 0.1 h, 28 h between failures, a portion of 0.1; restarts of 8 minutes.
TEST(PartialRecovery, TakesAFifthOfTheTimeOfFullRecoveryAtMost) {
  SavedTraining full{28, 0.1, 0.13, 0, false}, partial = full;
  partial.keeps_work = true;
  const double of_full = overhead(full, young_interval(full)),
               of_partial = overhead(partial, interval_of_lost_samples(0.1, 28, 18));
  EXPECT_GE(of_full / of_partial, 5);
  const double formula = std::sqrt(2 * 0.1 / 28) + 0.13 / 28;
  EXPECT_NEAR(of_full, formula, 0.1 * formula);
}

}  // namespace
}  // namespace trainyard
