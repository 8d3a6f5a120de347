// Tests the run list: what is added can be read, searches find what they state, and neither several
// processes nor a crash loses anything.
#include "app/workspace/runs/run_store.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "core/base/error.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

// A fresh empty folder, removed again; in memory where there is such a place, because every change
// waits for the disk.
class StoreFile {
 public:
  StoreFile() {
    const bool memory = access("/dev/shm", W_OK) == 0;
    const fs::path parent = memory ? fs::path("/dev/shm") : fs::temp_directory_path();
    std::string path = (parent / "trainyard-runs-XXXXXX").string();
    folder_ = mkdtemp(path.data());
  }
  ~StoreFile() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  StoreFile(const StoreFile&) = delete;
  StoreFile& operator=(const StoreFile&) = delete;
  std::string file(const char* name = "runs.sqlite") const { return (folder_ / name).string(); }

 private:
  fs::path folder_;
};

RecordedRun run_named(const std::string& name) {
  RecordedRun run;
  run.entry.started = "2026-11-22T13:45:10Z";
  run.entry.name = name;
  run.entry.model = "gpt-tiny";
  run.entry.cluster = "cpu:4";
  run.entry.settings = {"pp=4", "global-batch=8"};
  run.entry.training = {"rate=0.1", "steps=20"};
  run.entry.data = "random";
  run.entry.outcome = "done";
  run.entry.steps = 20;
  run.entry.loss = 2.969;
  run.entry.step = Duration{1'198'000'000};
  run.entry.predicted_step = Duration{1'154'000'000};
  run.entry.peak = Bytes{5'000'000'000};
  run.document = "{}\n";
  run.timeline = "";
  return run;
}

std::string refusal(const std::function<void()>& doing) {
  try {
    doing();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RunStore, GivesBackWhatWasPutIn) {
  const StoreFile place;
  RecordedRun run = run_named("gpt-tiny on cpu:4");
  run.entry.note = "\"quoted\", 50 % of _all_, größer\nsecond line";
  run.entry.tags = {"baseline", "good"};
  {
    RunStore store(place.file());
    run.entry.id = store.add(run);
    EXPECT_EQ(run.entry.id, 1);
    EXPECT_EQ(store.get(1), run);
  }
  const RunStore again(place.file());
  EXPECT_EQ(again.get(1), run);
  EXPECT_EQ(again.list(), std::vector<RunEntry>{run.entry});
}

TEST(RunStore, MakesItsFolderAndNewestComesFirst) {
  const StoreFile place;
  RunStore store(place.file("a/b/runs.sqlite"));
  for (const char* name : {"first", "second", "third"}) store.add(run_named(name));
  const std::vector<RunEntry> list = store.list();
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list.front().name, "third");
  EXPECT_EQ(list.back().name, "first");
}

TEST(RunStore, WhatIsNotKnownStaysUnknown) {
  const StoreFile place;
  RunStore store(place.file());
  RecordedRun run = run_named("nothing measured");
  run.entry.loss = std::numeric_limits<double>::infinity();
  run.entry.step.reset();
  run.entry.peak.reset();
  const std::int64_t id = store.add(run);
  const RunEntry found = store.get(id).entry;
  EXPECT_FALSE(found.loss || found.step || found.peak || found.predicted_peak);
}

TEST(RunStore, NotesAndTagsChange) {
  const StoreFile place;
  RunStore store(place.file());
  const std::int64_t id = store.add(run_named("one"));
  store.set_note(id, "the one to beat");
  store.add_tag(id, "good");
  store.add_tag(id, "good");
  store.add_tag(id, "baseline");
  EXPECT_EQ(store.get(id).entry.note, "the one to beat");
  EXPECT_EQ(store.get(id).entry.tags, (std::vector<std::string>{"baseline", "good"}));
  store.remove_tag(id, "good");
  store.remove_tag(id, "never-there");
  EXPECT_EQ(store.get(id).entry.tags, std::vector<std::string>{"baseline"});
}

TEST(RunStore, ANumberIsNotGivenTwice) {
  const StoreFile place;
  RunStore store(place.file());
  store.add(run_named("one"));
  store.remove(store.add(run_named("two")));
  EXPECT_EQ(store.add(run_named("three")), 3);
}

TEST(RunStore, SaysWhatIsWrong) {
  const StoreFile place;
  RunStore store(place.file());
  EXPECT_EQ(refusal([&] { store.remove(7); }), "no run has the number 7; the list is empty");
  store.add(run_named("one"));
  store.add(run_named("two"));
  EXPECT_EQ(refusal([&] { store.get(7); }), "no run has the number 7; the list has 1 to 2");
  for (const std::string tag : {"", "two words", "a,b"})
    EXPECT_EQ(refusal([&] { store.add_tag(1, tag); }),
              "expected 1 to 64 characters without blanks and commas, found \"" + tag + "\"");
  const std::string many(300, 'x');
  EXPECT_NE(refusal([&] { store.add_tag(1, many); }), "");
}

TEST(RunStore, OtherFilesAreRefusedAndKept) {
  const StoreFile place;
  std::ofstream(place.file("text")) << "This is no database, but it is long enough to look at.";
  EXPECT_EQ(refusal([&] { RunStore store(place.file("text")); }),
            "expected a run list, found another file");
  EXPECT_EQ(fs::file_size(place.file("text")), 54U);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(place.file("other").c_str(), &other), SQLITE_OK);
  sqlite3_exec(other, "CREATE TABLE bookmarks (url TEXT)", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  EXPECT_EQ(refusal([&] { RunStore store(place.file("other")); }),
            "expected a run list, found another file");
}

TEST(RunStore, ANewerListIsRefused) {
  const StoreFile place;
  {
    RunStore store(place.file());
  }
  sqlite3* list = nullptr;
  ASSERT_EQ(sqlite3_open(place.file().c_str(), &list), SQLITE_OK);
  sqlite3_exec(list, "PRAGMA user_version = 9", nullptr, nullptr, nullptr);
  sqlite3_close(list);
  EXPECT_EQ(refusal([&] { RunStore store(place.file()); }),
            "expected a run list of version 1, found version 9, which a newer Trainyard wrote");
}

TEST(RunStore, AFileInAFolderThatCannotBeIsAnIoError) {
  try {
    RunStore store("/proc/none/runs.sqlite");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Io);
  }
}

// Text that a pattern or a quoted word could trip over.
rc::Gen<std::string> awkward_text() {
  return rc::gen::container<std::string>(rc::gen::elementOf(std::string("aAbB%_\\'\"x.=-*?[]")));
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return lower(c); });
  return text;
}

TEST(RunStore, SearchFindsWhatANaiveSearchFinds) {
  const bool held = rc::check([] {
    const StoreFile place;
    RunStore store(place.file());
    std::vector<std::string> notes;
    const auto count = *rc::gen::inRange(0, 6);
    for (int i = 0; i < count; ++i) {
      RecordedRun run;
      run.entry.note = *awkward_text();
      notes.push_back(run.entry.note);
      store.add(run);
    }
    const std::string word = *awkward_text();
    if (word.empty()) return;
    std::vector<std::int64_t> expected;
    for (std::size_t i = notes.size(); i-- > 0;) {
      // Empty lists of settings stand in what is searched.
      const std::string all = lower("     [] []   " + notes[i] + " ");
      if (all.find(lower(word)) != std::string::npos)
        expected.push_back(static_cast<std::int64_t>(i) + 1);
    }
    std::vector<std::int64_t> found;
    for (const RunEntry& entry : store.list(word)) found.push_back(entry.id);
    RC_ASSERT(found == expected);
  });
  EXPECT_TRUE(held);
}

TEST(RunStore, EveryWordMustBeThereAndTagsAreExact) {
  const StoreFile place;
  RunStore store(place.file());
  RecordedRun run = run_named("gpt-tiny on cpu:4");
  run.entry.tags = {"good-start"};
  store.add(run);
  run.entry.tags = {"good"};
  run.entry.note = "slow";
  store.add(run);
  const auto ids = [&](const char* words) {
    std::vector<std::int64_t> list;
    for (const RunEntry& entry : store.list(words)) list.push_back(entry.id);
    return list;
  };
  using Ids = std::vector<std::int64_t>;
  EXPECT_EQ(ids("good"), (Ids{2, 1}));
  EXPECT_EQ(ids("tag:good"), Ids{2});
  EXPECT_EQ(ids("GPT pp=4"), (Ids{2, 1}));
  EXPECT_EQ(ids("gpt slow"), Ids{2});
  EXPECT_EQ(ids("gpt fast"), Ids{});
  EXPECT_EQ(ids("  "), (Ids{2, 1}));
}

// Compares with a list in memory: after any sequence of operations both agree.
TEST(RunStore, FollowsANaiveListThroughAnyWalk) {
  const bool held = rc::check([] {
    const StoreFile place;
    auto store = std::make_unique<RunStore>(place.file());
    std::map<std::int64_t, RunEntry> naive;
    std::int64_t next = 1;
    const auto steps = *rc::gen::inRange(1, 12);
    for (int i = 0; i < steps; ++i) {
      const int action = *rc::gen::inRange(0, 6);
      const std::int64_t id = *rc::gen::inRange<std::int64_t>(1, next + 1);
      const bool there = naive.count(id) > 0;
      const std::string note = *awkward_text();
      const std::string tag = *rc::gen::element<std::string>("a", "b", "c");
      if (action == 0) {
        RecordedRun run = run_named(note);
        run.entry.id = store->add(run);
        RC_ASSERT(run.entry.id == next);
        naive[next++] = run.entry;
        continue;
      }
      if (action == 1) {
        store = std::make_unique<RunStore>(place.file());
        continue;
      }
      const std::string wrong = refusal([&] {
        if (action == 2) store->set_note(id, note);
        if (action == 3) store->add_tag(id, tag);
        if (action == 4) store->remove_tag(id, tag);
        if (action == 5) store->remove(id);
      });
      RC_ASSERT(wrong.empty() == there);
      if (!there) continue;
      std::vector<std::string>& tags = naive[id].tags;
      if (action == 2) naive[id].note = note;
      if (action == 3) {
        std::set<std::string> all(tags.begin(), tags.end());
        all.insert(tag);
        tags.assign(all.begin(), all.end());
      }
      if (action == 4) tags.erase(std::remove(tags.begin(), tags.end(), tag), tags.end());
      if (action == 5) naive.erase(id);
    }
    std::vector<RunEntry> expected;
    for (auto it = naive.rbegin(); it != naive.rend(); ++it) expected.push_back(it->second);
    RC_ASSERT(store->list() == expected);
  });
  EXPECT_TRUE(held);
}

// Runs it in a process of its own, which leaves without cleaning up after its parent.
pid_t start(const std::function<void()>& doing) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    doing();
    _exit(0);
  } catch (...) {
    _exit(1);
  }
}

int outcome_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(RunStore, SeveralProcessesLoseNothing) {
  const StoreFile place;
  constexpr int kProcesses = 3, kRuns = 8;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p)
    children.push_back(start([&, p] {
      RunStore store(place.file());
      for (int i = 0; i < kRuns; ++i) {
        const std::int64_t id = store.add(run_named(std::to_string(p)));
        store.add_tag(id, "p" + std::to_string(p));
      }
    }));
  for (const pid_t child : testing::non_empty(children)) EXPECT_EQ(outcome_of(child), 0);
  const RunStore store(place.file());
  EXPECT_EQ(store.list().size(), std::size_t{kProcesses * kRuns});
  for (int p = 0; p < kProcesses; ++p)
    EXPECT_EQ(store.list("tag:p" + std::to_string(p)).size(), std::size_t{kRuns});
}

// Whatever was confirmed as recorded is there, however the process ended.
TEST(RunStore, NothingConfirmedIsLostToAKill) {
  const StoreFile place;
  for (int round = 0; round < 4; ++round) {
    int confirmed[2];
    ASSERT_EQ(pipe(confirmed), 0);
    const pid_t child = start([&] {
      RunStore store(place.file());
      for (;;) {
        const std::int64_t id = store.add(run_named("killed"));
        if (::write(confirmed[1], &id, sizeof id) != sizeof id) throw std::runtime_error("pipe");
      }
    });
    close(confirmed[1]);
    std::vector<std::int64_t> ids;
    std::int64_t id = 0;
    while (ids.size() < 3 && read(confirmed[0], &id, sizeof id) == sizeof id) ids.push_back(id);
    kill(child, SIGKILL);
    while (read(confirmed[0], &id, sizeof id) == sizeof id) ids.push_back(id);
    close(confirmed[0]);
    EXPECT_EQ(outcome_of(child), 128 + SIGKILL);
    ASSERT_GE(ids.size(), 3U);
    const RunStore store(place.file());
    for (const std::int64_t one : testing::non_empty(ids))
      EXPECT_EQ(store.get(one).entry.name, "killed");
  }
}

}  // namespace
}  // namespace trainyard
