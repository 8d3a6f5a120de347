// Tests training over processes that the program starts itself: what it learns is what one process
// learns, bit for bit, also where ranks are killed and others take their place (B-REL-02), and a
// process that is lost unasked ends all.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/cli/verb.h"
#include "backends/start_weights.h"
#include "core/base/random.h"
#include "core/io/json/json.h"
#include "core/model/zoo/zoo.h"
#include "core/training/checkpoint.h"
#include "tests/app/on_ranks.h"

namespace trainyard {
namespace {

class RunByProcesses : public ::testing::Test {
 protected:
  struct Answer {
    std::string loss, recovery, flips, checkpoint;
    double kept = 0;  // to go back to, over what was predicted
    friend bool operator==(const Answer&, const Answer&) = default;
  };

  Answer answer(const Ran& ran, const std::string& file) const {
    EXPECT_EQ(ran.exit, kDone) << ran.err;
    if (ran.exit != kDone) return {};
    const Json json = parse_json(ran.out, "run");
    const auto member = [&](std::string_view key) {
      const Json* const found = json.find(key);
      return found == nullptr ? "none" : write_json_line(*found);
    };
    const auto bytes = [&](std::string_view key) {
      const Json* const found = json.find(key);
      return found == nullptr ? 0.0 : static_cast<double>(*found->integer());
    };
    return {member("loss"), member("recovery"), member("flips"), file_text(folder.path() / file),
            bytes("kept_bytes") / std::max(1.0, bytes("kept_predicted_bytes"))};
  }
  Answer trained(const std::string& words) const {
    return answer(trainyard("run --checkpoint c" + words + kQuietly, folder), "c");
  }

  const std::string kQuietly = " --no-record --quiet --json";
  TemporaryFolder folder;
};

// Who started the processes connects them, and there is no MPI between those of --processes.
TEST_F(RunByProcesses, SaysThatProcessesTrained) {
  for (const char* backend : {"", " --backend processes", " --backend mpi"}) {
    const Ran ran = trainyard(
        "run --model mlp-small --devices 2 --set global-batch=8 --steps 1 --data random "
        "--processes 2" +
            std::string(backend) + kQuietly,
        folder);
    EXPECT_EQ(ran.exit, kDone) << ran.err;
    const Json json = parse_json(ran.out, "run");
    ASSERT_NE(json.find("backend"), nullptr);
    EXPECT_EQ(*json.find("backend")->text(), "processes") << backend;
  }
}

TEST_F(RunByProcesses, TrainsAsOneProcessAndAsMpirunBitForBit) {
  const std::pair<int, std::string> cases[] = {
      {3,
       " --model gpt-tiny --devices 8 --set pp=2 --set tp=2 --set zero=3 --set global-batch=8 "
       "--set precision=bf16 --train clip=1 --steps 2 --data random"},
      {2,
       " --model gpt-tiny --devices 2 --set schedule=tick-tock --set global-batch=8 --steps 2 "
       "--data random"}};
  for (const auto& [processes, words] : cases) {
    const Answer one = trained(words);
    EXPECT_TRUE(trained(fmt::format("{} --processes {}", words, processes)) == one) << words;
    if (processes == 2 && has_mpirun()) {
      EXPECT_TRUE(
          answer(on_ranks(processes, "run --checkpoint m" + words + kQuietly, folder), "m") == one);
    }
  }
}

// The first process counts what all have flipped and found, and goes back with all.
TEST_F(RunByProcesses, BitsFlipAsInOneProcess) {
  const std::string all = " --steps 3 --data random --train flip-bits=";
  const std::pair<int, std::string> cases[] = {
      {2,
       "weights:1e-8,optimizer:1e-8,activations:2e-8,messages:1e-8 --train recover=1 --train "
       "flip-check=checksums,rules --model mlp-small --devices 2 --set zero=1 --set "
       "global-batch=64"},
      {3,
       "messages:1e-7,activations:1e-8,checkpoints:1e-9 --train recover=2 --train "
       "flip-check=checksums --model mlp-small --devices 4 --set pp=4 --set global-batch=32 --set "
       "precision=bf16"},
      {2,
       "weights:1e-8,activations:2e-8 --train flip-ecc=weights --train "
       "flip-check=checksums,ranges --model gpt-tiny --devices 4 --set cp=2 --set tp=2 --set "
       "global-batch=2"}};
  for (const auto& [processes, words] : cases) {
    const Answer one = trained(all + words);
    const Answer several = trained(fmt::format("{}{} --processes {}", all, words, processes));
    EXPECT_NE(one.flips.find("injected"), std::string::npos) << words;
    EXPECT_EQ(several.flips, one.flips) << words;
    EXPECT_EQ(several.loss, one.loss) << words;
    EXPECT_TRUE(several.checkpoint == one.checkpoint) << words;
    if (processes == 3 && has_mpirun()) {
      EXPECT_TRUE(answer(on_ranks(processes, "run --checkpoint m" + all + words + kQuietly, folder),
                         "m") == one);
    }
  }
}

const std::string kDivided = " --model dlrm-tiny --devices 4 --set zero=3 --set global-batch=16";

// Names and counts of a small state, and the bytes by which ranks pad their parts.
constexpr double kApart = 0.08;

// Ranks are killed alone and together, the first one too, and after the last update.
TEST_F(RunByProcesses, ARankThatIsKilledLosesWhatItLosesWithinOneProcess) {
  for (const char* how : {"plain", "scar", "full"}) {
    const std::string words =
        kDivided + fmt::format(
                       " --set optimizer=adamw --steps 10 --train cpr={} --train cpr-save=8 "
                       "--train cpr-kill=3:1,3:2,7:0,10:3 --checkpoint-every 4",
                       how);
    const Answer one = trained(words), several = trained(words + " --processes 4");
    EXPECT_EQ(several.loss, one.loss) << how;
    EXPECT_EQ(several.recovery, one.recovery) << how;
    EXPECT_TRUE(several.checkpoint == one.checkpoint) << how;
    EXPECT_NEAR(one.kept, 1, kApart) << how;
    EXPECT_NEAR(several.kept, 1, kApart) << how;
  }
}

// All ranks are killed after the last update, so that what is lost is what differs from an unbroken
// training: sgd changes a row only where it is looked up.
TEST_F(RunByProcesses, TwentyFourKillsNeverLoseMoreThanIsMetered) {
  const Model model = zoo_model("dlrm-tiny");
  const Random random(7);
  std::int64_t all_lost = 0, all_metered = 0;
  for (std::uint64_t k = 0; k < 6; ++k) {
    const std::int64_t steps = random.between(2 * k, 2, 9);
    const std::string words = kDivided + fmt::format(" --set optimizer=sgd --steps {}", steps);
    const Answer unbroken = trained(words);
    const auto now = tensors_of(parse_checkpoint(unbroken.checkpoint, "unbroken"), model);
    const Answer killed = trained(
        words +
        fmt::format(" --processes 4 --train cpr={0} --train cpr-save=4 --train cpr-part=0.25 "
                    "--train cpr-kill={1}:0,{1}:1,{1}:2,{1}:3",
                    kShardSavings[static_cast<std::size_t>(random.between(2 * k + 1, 2, 5))],
                    steps));
    const auto left = tensors_of(parse_checkpoint(killed.checkpoint, "killed"), model);
    std::int64_t lost = 0, metered = 0;
    ASSERT_EQ(left.size(), now.size());
    for (std::size_t t = 0; t < now.size(); ++t) {
      if (!now[t].name.starts_with("tables.")) {
        EXPECT_EQ(left[t].values, now[t].values) << now[t].name;
        continue;
      }
      const auto width = static_cast<std::ptrdiff_t>(now[t].shape[1]);
      for (auto at = now[t].values.begin(), other = left[t].values.begin();
           at != now[t].values.end(); at += width, other += width)
        lost += std::equal(at, at + width, other) ? 0 : 1;
    }
    const Json recovery = parse_json(killed.recovery, "recovery");
    const Json::List& failures = *recovery.find("failures")->as_list();
    ASSERT_EQ(failures.size(), 4u);
    for (const Json& failure : failures) metered += *failure.find("rows")->integer();
    EXPECT_LE(lost, metered) << words;
    all_lost += lost, all_metered += metered;
  }
  EXPECT_GT(all_lost, 0.9 * static_cast<double>(all_metered));
}

TEST_F(RunByProcesses, OneThatIsLostUnaskedEndsAllAndNothingIsLost) {
  const std::string job =
      " --model mlp-small --devices 4 --set pp=4 --set global-batch=8 --steps 40 --data random";
  const std::string script = TRAINYARD_PROGRAM " run --checkpoint c" + job + kQuietly +
                             " --processes 4 --checkpoint-every 1 & p=$!; "
                             "while kill -0 $p && [ ! -e c ]; do sleep 0.02; done; "
                             "kill -9 $(ps -o pid= --ppid $p | sed -n 2p); wait $p; echo exit $?";
  const Ran killed = run_program("/bin/sh", {"-c", script}, folder.path());
  EXPECT_EQ(killed.out, "exit 1\n");
  EXPECT_EQ(killed.err.find("rank 1 (process "), 0u) << killed.err;
  EXPECT_NE(killed.err.find("has ended before the run was done: signal 9"), std::string::npos);
  EXPECT_NE(killed.err.find("all have ended, and c holds the run after update "), std::string::npos)
      << killed.err;
  EXPECT_NE(killed.err.find("with --resume it goes on from there"), std::string::npos);
  const Answer resumed = trained(job + " --resume --processes 2"), whole = trained(job);
  EXPECT_EQ(resumed.loss, whole.loss);
  EXPECT_TRUE(resumed.checkpoint == whole.checkpoint);
}

// Killed from outside at any moment: another process takes its place, and the run loses what it
// would have lost had the rank failed after the step that the report names.
TEST_F(RunByProcesses, OneThatIsKilledFromOutsideIsReplacedWhereRanksMayFail) {
  for (const std::string how : {"plain", "full"}) {
    const std::string job = kDivided + " --set optimizer=adamw --steps 60 --train cpr=" + how +
                            " --train cpr-save=1000";
    const std::string script = TRAINYARD_PROGRAM " run --checkpoint c" + job + kQuietly +
                               " --processes 4 --checkpoint-every 1 & p=$!; "
                               "while kill -0 $p && [ ! -e c ]; do sleep 0.02; done; "
                               "kill -9 $(ps -o pid= --ppid $p | sed -n 3p); wait $p";
    const Ran killed = run_program("/bin/sh", {"-c", script}, folder.path());
    EXPECT_EQ(killed.err.find("rank 2 (process "), 0u) << killed.err;
    EXPECT_NE(killed.err.find("; another process takes its place"), std::string::npos);
    const Answer several = answer(killed, "c");
    const Json recovery = parse_json(several.recovery, "recovery");
    const Json::List& failures = *recovery.find("failures")->as_list();
    ASSERT_EQ(failures.size(), 1u) << several.recovery;
    EXPECT_EQ(*failures[0].find("rank")->integer(), 2);
    const Answer one =
        trained(job + fmt::format(" --train cpr-kill={}:2", *failures[0].find("step")->integer()));
    EXPECT_EQ(several.loss, one.loss) << how;
    EXPECT_EQ(several.recovery, one.recovery) << how;
    // The settings beside the state name the kill in one of them alone.
    const Checkpoint ended = parse_checkpoint(several.checkpoint, "several"),
                     expected = parse_checkpoint(one.checkpoint, "one");
    ASSERT_EQ(ended.parts.size(), expected.parts.size());
    for (std::size_t i = 0; i < ended.parts.size(); ++i)
      EXPECT_TRUE(ended.parts[i].content == expected.parts[i].content) << ended.parts[i].name;
    std::filesystem::remove(folder.path() / "c");
  }
}

}  // namespace
}  // namespace trainyard
