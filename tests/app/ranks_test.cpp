// Tests a search over several processes: it gives the same answer as one process, and no process
// remains if one cannot go on. Needs mpirun.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/cli/verb.h"
#include "tests/app/on_ranks.h"

namespace trainyard {
namespace {

const std::string kRanksJob =
    "plan --model llama-3-8b --cluster h100-sxm:16 --global-batch 64 --set schedule=1f1b "
    "--bound zero=0,1 --bound micro-batch=1,2 --threads 1";

std::string without_speed(const std::string& text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
    const std::string line = text.substr(at, end + 1 - at);
    const bool speed = line.find("plans_per_second") != std::string::npos ||
                       line.starts_with("  \"seconds\": ") || line.starts_with("tried ");
    if (!speed) kept += line;
    at = end + 1;
  }
  return kept;
}

using PlanOnRanks = OnRanks;

TEST_F(PlanOnRanks, SayWhatOneProcessSays) {
  for (const std::string how : {"", " --json", " --why tp=8,pp=2"}) {
    const Ran one = trainyard(kRanksJob + how, folder);
    const Ran three = on_ranks(3, kRanksJob + how, folder);
    ASSERT_EQ(one.exit, kDone) << one.err;
    EXPECT_EQ(three.exit, kDone) << three.err;
    EXPECT_EQ(without_speed(three.out), without_speed(one.out)) << how;
  }
}

TEST_F(PlanOnRanks, WriteEachFileOnce) {
  const Ran one = trainyard(kRanksJob + " --all a.csv --out a.json", folder);
  const Ran two = on_ranks(2, kRanksJob + " --all b.csv --out b.json", folder);
  ASSERT_EQ(one.exit, kDone) << one.err;
  ASSERT_EQ(two.exit, kDone) << two.err;
  EXPECT_EQ(file_text(folder.path() / "a.csv"), file_text(folder.path() / "b.csv"));
  EXPECT_EQ(file_text(folder.path() / "a.json"), file_text(folder.path() / "b.json"));
  EXPECT_EQ(two.err, "wrote #1 to b.json\n");
}

std::size_t occurrences(const std::string& text, const std::string& of) {
  std::size_t count = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
  return count;
}

TEST_F(PlanOnRanks, AWrongWordIsSaidOnce) {
  for (const std::string wrong : {" --bound tpp=8", " --tpp 8"}) {
    const Ran ran = on_ranks(3, kRanksJob + wrong, folder);
    EXPECT_EQ(ran.exit, kWrongInput) << ran.err;
    EXPECT_EQ(occurrences(ran.err, "tpp\""), 1u) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(PlanOnRanks, WhatOneOfThemCannotDoEndsAll) {
  const Ran ran = on_ranks(3, kRanksJob + " --all /proc/none/there", folder);
  EXPECT_EQ(ran.exit, kFailed) << ran.err;
  EXPECT_EQ(occurrences(ran.err, "/proc/none/there"), 1u) << ran.err;
}

// After ":" are the words of another rank.
TEST_F(PlanOnRanks, ARankThatCannotBeginIsNamed) {
  const std::string rest = " : -n 1 " TRAINYARD_PROGRAM " ";
  const Ran missing =
      on_ranks(1, kRanksJob + rest + kRanksJob + " --calibration there.json", folder);
  EXPECT_EQ(missing.exit, kWrongInput) << missing.err;
  EXPECT_EQ(missing.err.rfind("rank 1: there.json: expected a file", 0), 0u) << missing.err;
  const Ran other = on_ranks(1, kRanksJob + rest + kRanksJob + " --top 3", folder);
  EXPECT_EQ(other.exit, kWrongInput) << other.err;
  // What mpirun says of it may come before.
  EXPECT_NE(other.err.find("plan: rank 1 was asked for another search than rank 0"),
            std::string::npos)
      << other.err;
}

TEST_F(PlanOnRanks, NothingFitsOnAll) {
  const Ran ran = on_ranks(2,
                           "plan --model llama-3-70b --cluster h100-sxm:8 --global-batch 64 --set "
                           "schedule=1f1b --set pp=1 --bound recompute=none",
                           folder);
  EXPECT_EQ(ran.exit, kNotMet) << ran.err;
  EXPECT_EQ(occurrences(ran.out, "No plan fits."), 1u) << ran.out;
}

TEST_F(PlanOnRanks, OtherVerbsSayThatTheyDoNotSplit) {
  const Ran ran = on_ranks(3, "schedule 1f1b --stages 2 --microbatches 2", folder);
  const Ran one = trainyard("schedule 1f1b --stages 2 --microbatches 2", folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  EXPECT_EQ(ran.out, one.out);
  EXPECT_EQ(ran.err,
            "schedule does not split over ranks: of the 3 that mpirun started, the first alone "
            "works\n");
}

}  // namespace
}  // namespace trainyard
