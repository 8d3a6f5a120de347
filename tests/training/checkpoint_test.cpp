#include "core/training/checkpoint.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/io/bytes/files.h"
#include "core/training/data/data_sources.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

Checkpoint small() {
  Checkpoint c;
  c.program = 0x123456789abcdef0ull, c.scenario = "mlp-small on 2 cores", c.step = 17, c.seed = 3;
  c.scaler = {1024, 5, 2, 1};
  c.losses = {2.5, 1.25, std::numeric_limits<double>::infinity()};
  c.parts = {
      {"weights of stage 0", "abcdefgh"}, {"empty", ""}, {"order", std::string("\0\1\2", 3)}};
  c.settings = {{"data", "random"}, {"rate", "0.01"}, {"seed", "3"}};
  return c;
}

void expect_equal(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.program, b.program);
  EXPECT_EQ(a.scenario, b.scenario);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.scaler, b.scaler);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.settings, b.settings);
  ASSERT_EQ(a.parts.size(), b.parts.size());
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    EXPECT_EQ(a.parts[i].name, b.parts[i].name);
    EXPECT_EQ(a.parts[i].content, b.parts[i].content);
  }
}

std::string checkpoint_refusal(const std::string& bytes) {
  return testing::refusal([&] { parse_checkpoint(bytes, "run.state"); });
}

/// A file for one test, removed at the end together with what a kill leaves beside it.
class File {
 public:
  File() {
    std::string name = (std::filesystem::temp_directory_path() / "trainyard-state-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~File() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/run.state"; }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

TEST(Checkpoint, ComesBackAsItWas) {
  expect_equal(parse_checkpoint(to_bytes(small()), ""), small());
  expect_equal(parse_checkpoint(to_bytes({}), ""), {});
  const File file;
  save(small(), file.path());
  expect_equal(load_checkpoint(file.path()), small());
}

TEST(Checkpoint, AnyStateComesBackAsItWas) {
  EXPECT_TRUE(rc::check([](std::uint64_t program, std::string scenario, std::int64_t step,
                           const std::vector<std::pair<std::string, std::string>>& parts,
                           const std::vector<std::pair<std::string, std::string>>& settings,
                           const std::vector<std::int32_t>& losses) {
    Checkpoint c;
    c.program = program, c.scenario = std::move(scenario), c.step = step & INT64_MAX;
    for (const auto& [key, value] : settings) c.settings.push_back({key, value});
    for (const auto& [name, content] : parts) c.parts.push_back({name, content});
    for (std::int32_t loss : losses) c.losses.push_back(loss / 7.0);
    const std::string bytes = to_bytes(c);
    RC_ASSERT(to_bytes(parse_checkpoint(bytes, "")) == bytes);
    expect_equal(parse_checkpoint(bytes, ""), c);
  }));
}

TEST(Checkpoint, EveryFlippedBitIsRefused) {
  const std::string whole = to_bytes(small());
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      EXPECT_NE(checkpoint_refusal(damaged), "accepted") << i << " " << bit;
    }
}

TEST(Checkpoint, EveryPrefixAndAnythingMoreIsRefused) {
  const std::string whole = to_bytes(small());
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_NE(checkpoint_refusal(whole.substr(0, n)), "accepted") << n;
  EXPECT_NE(checkpoint_refusal(whole + '\0'), "accepted");
}

TEST(Checkpoint, SaysWhatIsWrong) {
  const std::string whole = to_bytes(small());
  EXPECT_EQ(checkpoint_refusal(""), "run.state: expected a checkpoint, found an empty file");
  EXPECT_EQ(checkpoint_refusal("{}"),
            "run.state: expected a checkpoint, found a file of another kind");
  EXPECT_EQ(checkpoint_refusal(whole.substr(0, whole.size() - 1)),
            "run.state: expected a whole checkpoint, found one that is cut off");
  std::string damaged = whole;
  damaged[whole.size() - 5] ^= 1;
  EXPECT_EQ(checkpoint_refusal(damaged),
            "run.state: expected a whole checkpoint, found one whose part \"weights of stage 0\" "
            "is damaged");
  damaged = whole, damaged[16] = 9;
  EXPECT_EQ(checkpoint_refusal(damaged),
            "run.state: expected a checkpoint of version 1 or 2, found version 9");
  damaged = whole, damaged[40] ^= 1;
  EXPECT_EQ(checkpoint_refusal(damaged),
            "run.state: expected a whole checkpoint, found one whose head is damaged");
}

TEST(Checkpoint, GoesOnWithItsOwnTrainingOnly) {
  const auto said = [](const std::vector<CheckpointSetting>& settings, std::int64_t steps) {
    return testing::refusal([&] { expect_same_training(small(), settings, steps, "run.state"); });
  };
  EXPECT_EQ(said(small().settings, 17), "accepted");
  EXPECT_EQ(said({{"rate", "0.01"}, {"clip", "1"}}, 17), "accepted");  // it does not know of clip
  EXPECT_EQ(
      said({{"data", "random"}, {"rate", "0.1"}, {"seed", "4"}}, 17),
      "run.state: expected a checkpoint trained with rate=0.1 seed=4, found one with rate=0.01 "
      "seed=3; it goes on with --train rate=0.01 --train seed=3");
  EXPECT_EQ(
      said({{"data", "clicks"}}, 17),
      "run.state: expected a checkpoint trained with data=clicks, found one with data=random; "
      "it goes on with the same --data");
  EXPECT_EQ(
      said(small().settings, 16),
      "run.state: expected a checkpoint after at most 16 updates, found one after 17; --steps "
      "says how many there are in all");
}

TEST(Checkpoint, HoldsEverySettingThatStepsDependOn) {
  const std::unique_ptr<DataSource> data = random_source(1);
  const std::vector<CheckpointSetting> usual = checkpoint_settings({}, *data);
  const auto differs = [&](std::string_view assignment) {
    Training other;
    apply_training(other, assignment);
    return checkpoint_settings(other, *data) != usual;
  };
  EXPECT_EQ(usual.size(), training_keys().size());  // all but steps, and the data
  for (const char* other : {"rate=0.5", "seed=9", "momentum=0.1", "clip=1", "schedule=cosine"})
    EXPECT_TRUE(differs(other)) << other;
  EXPECT_FALSE(differs("steps=7"));
  Training ends;
  ends.schedule = RateSchedule::Cosine;
  EXPECT_EQ(checkpoint_settings(ends, *data).size(), usual.size() + 1);
}

TEST(Checkpoint, BeforeTheFirstUpdateIsRefused) {
  Checkpoint c = small();
  c.step = -1;
  EXPECT_EQ(checkpoint_refusal(to_bytes(c)),
            "run.state: expected a checkpoint after 0 updates or more, found one after -1");
}

// Files of version 1 are read as before.
TEST(Checkpoint, WithoutSettingsGoesOnWithAny) {
  Checkpoint c = small();
  c.settings.clear();
  const std::string bytes = to_bytes(c);
  EXPECT_EQ(bytes[16], 1);
  EXPECT_NO_THROW(
      expect_same_training(parse_checkpoint(bytes, ""), {{"seed", "4"}}, 17, "run.state"));
}

TEST(Checkpoint, IsOfItsProgram) {
  EXPECT_NO_THROW(expect_same(small(), small().program, "whatever", "run.state"));
  try {
    expect_same(small(), 1, "gpt-tiny on 1 core", "run.state");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(describe(error),
              "run.state: expected a checkpoint of gpt-tiny on 1 core, found one of mlp-small on 2 "
              "cores");
  }
}

TEST(Checkpoint, AFailedSaveLeavesTheOldOne) {
  const File file;
  save(small(), file.path());
  std::filesystem::create_directory(file.folder() + "/.run.state.trainyard-new");
  EXPECT_THROW(save({}, file.path()), Error);
  expect_equal(load_checkpoint(file.path()), small());
}

/// The state that step `step` saves: every byte follows from the step, so that a mixture of two
/// states would show.
Checkpoint state_of(std::int64_t step) {
  Checkpoint c;
  c.step = step;
  for (int part = 0; part < 3; ++part)
    c.parts.push_back(
        {"part " + std::to_string(part), std::string(static_cast<std::size_t>(50'000 + step % 1000),
                                                     static_cast<char>(step * 3 + part))});
  return c;
}

TEST(Checkpoint, IsWholeAfterTwoHundredKills) {
  const File file;
  save(state_of(0), file.path());
  const Random random(5);
  std::int64_t last = 0;
  for (std::uint64_t kill = 0; kill < 200; ++kill) {
    std::array<int, 2> saved{};
    ASSERT_EQ(::pipe(saved.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      for (std::int64_t step = last + 1;; ++step) {
        save(state_of(step), file.path());
        if (::write(saved[1], ".", 1) != 1) ::_exit(1);
      }
    ::close(saved[1]);
    // Every second kill comes after a complete save, however slow the machine is.
    char one = 0;
    if (kill % 2 == 1) {
      ASSERT_EQ(::read(saved[0], &one, 1), 1);
    }
    ::usleep(static_cast<useconds_t>(random.between(kill, 0, 8000)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ::close(saved[0]);
    const Checkpoint found = load_checkpoint(file.path());
    ASSERT_GE(found.step, last);
    ASSERT_EQ(to_bytes(found), to_bytes(state_of(found.step)));
    if (kill % 2 == 1) {
      ASSERT_GT(found.step, last);
    }
    last = found.step;
  }
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(file.folder()))
    ++files;
  EXPECT_LE(files, 2u);  // the checkpoint, and one that was being written
}

}  // namespace
}  // namespace trainyard
