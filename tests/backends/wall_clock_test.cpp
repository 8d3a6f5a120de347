// Tests the ordering of the wall-clock driver: with any assignment of threads, nothing begins too
// early, nothing on one device overlaps, and every group moves its data once.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "backends/cpu/time/alarms.h"
#include "backends/cpu/time/strand.h"
#include "core/lowering/draft.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/program/offloaded.h"
#include "tests/support/fake_execution.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/scenarios.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::FakeExecution;

Program op_grain(const Scenario& s) { return lower(s, {.grain = Grain::Op}); }

// Checks that all instructions for which each one waited had ended, also by the clock.
void expect_in_order(const Program& p, const Timeline& t) {
  for (const Stream& s : p.streams)
    for (std::uint32_t i = s.first; i < s.first + s.count; ++i) {
      const Instruction& in = p.instructions[i];
      EXPECT_LE(t.spans[i].start, t.spans[i].end);
      EXPECT_TRUE(i == s.first || t.spans[i].start >= t.spans[i - 1].end);
      for (std::uint32_t k = 0; k < in.afters; ++k)
        EXPECT_GE(t.spans[i].start, t.spans[p.after[in.first_after + k].value].end);
    }
}

Timeline run(Driver& driver, FakeExecution& execution, int repetition = 0,
             LiveSink* live = nullptr) {
  execution.begin_repetition(repetition);
  Timeline t = driver.run(execution, repetition, live, {}).timeline;
  execution.end_repetition(repetition);
  return t;
}

TEST(WallClock, RunsEveryScheduleInOrder) {
  int ran = 0;
  for (const Method& m : testing::non_empty(methods())) {
    if (!m.order) continue;
    for (const int chunks : {1, 2}) {
      for (const char* extra : {"tp=2", "zero=1", "zero=3", "offload=both"}) {
        Scenario s = testing::pipeline({std::string(m.name), 4, chunks, 8});
        s.cluster = make_cluster(device("h100-sxm"), 8);
        apply_setting(s.plan, extra);
        s.plan.batch.global = 16;
        if (has_errors(check(s))) continue;
        const Program p = op_grain(s);
        const int tp = std::string_view(extra) == "tp=2" ? 2 : 1;
        for (const int threads : {1, 3}) {
          const auto driver = wall_clock_driver(threads, 0);
          FakeExecution execution(p, tp, 2 / tp);
          execution.together = std::string_view(extra) == "zero=1";
          for (int repetition = 0; repetition < 3; ++repetition)
            expect_in_order(p, run(*driver, execution, repetition));
          for (const std::string& wrong : execution.wrong())
            ADD_FAILURE() << m.name << " " << extra << " on " << threads << ": " << wrong;
          for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p.devices); ++d)
            for (int peer = 0; peer < 2; ++peer) {
              Bytes persistent{};
              for (const Buffer& b : p.buffers)
                if (b.persistent && b.device.value == d) persistent += b.bytes;
              EXPECT_EQ(total(execution.arena({d}, peer).held()), persistent);
            }
        }
        ++ran;
      }
    }
  }
  EXPECT_GE(ran, 45);
}

Program chain(int devices, int each) {
  Draft draft;
  for (int d = 0; d < devices; ++d) {
    const std::uint32_t stream = draft.stream({static_cast<std::uint32_t>(d)}, "compute", true, {});
    Task task;
    task.stage = {static_cast<std::uint32_t>(d)};
    task.name = draft.name("work");
    const TaskId id = draft.task(task);
    for (int i = 0; i < each; ++i) draft.add(stream, id, i, {});
  }
  Program p = draft.finish();
  p.devices = devices;
  return p;
}

TEST(WallClock, OneThreadDoesAllOnTheCallingOne) {
  const Program p = chain(3, 10);
  FakeExecution execution(p, 1, 1);
  const auto here = std::this_thread::get_id();
  int done = 0;
  execution.work = [&](InstructionId, int) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    ++done;
  };
  run(*wall_clock_driver(1, 0), execution);
  EXPECT_EQ(done, 30);
}

TEST(WallClock, NeverRunsMoreAtOnceThanItHasThreads) {
  const Program p = chain(6, 50);
  FakeExecution execution(p, 1, 1);
  std::atomic<int> at_once = 0, most = 0;
  execution.work = [&](InstructionId, int) {
    const int now = ++at_once;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::yield();
    --at_once;
  };
  run(*wall_clock_driver(3, 0), execution);
  EXPECT_LE(most, 3);
  EXPECT_TRUE(execution.wrong().empty());
}

TEST(WallClock, NamesTheInstructionThatFailed) {
  for (const int threads : {1, 4}) {
    const Program p = chain(4, 5);
    FakeExecution execution(p, 1, 1);
    execution.work = [](InstructionId id, int) {
      if (id.value == 7) throw Error(Error::Kind::OutOfMemory, "no more");
    };
    const auto driver = wall_clock_driver(threads, 0);
    try {
      run(*driver, execution);
      FAIL() << "ran";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::OutOfMemory);
      EXPECT_EQ(describe(e), "no more (while running stage 1 F2)");
    }
    // Another pass is not affected.
    execution.work = [](InstructionId, int) {};
    expect_in_order(p, run(*driver, execution));
  }
}

TEST(WallClock, StopsWhenAsked) {
  const Program p = chain(2, 50);
  FakeExecution execution(p, 1, 1);
  std::stop_source stop;
  execution.work = [&](InstructionId id, int) {
    if (id.value == 20) stop.request_stop();
  };
  execution.begin_repetition(0);
  try {
    wall_clock_driver(2, 0)->run(execution, 0, nullptr, stop.get_token());
    FAIL() << "ran to its end";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::Cancelled);
  }
  EXPECT_FALSE(execution.ended({49}, 0));
}

TEST(WallClock, NamesWhatWaitsInADeadlock) {
  Draft draft;
  Task task;
  task.stage = {0};
  task.name = draft.name("work");
  const TaskId id = draft.task(task);
  const std::uint32_t a = draft.stream({0}, "a", true), b = draft.stream({1}, "b", true);
  const Ref first = draft.add(a, id, 0, {}), second = draft.add(b, id, 1, {});
  draft.wait(first, second);
  draft.wait(second, first);
  Program p = draft.finish();
  p.devices = 2;
  FakeExecution execution(p, 1, 2);
  try {
    run(*wall_clock_driver(2, 0), execution);
    FAIL() << "a circle of waits ran";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "no instruction can start and some are left; waiting:\n  d0/a at stage 0 F0\n  "
                 "d1/b at stage 0 F1");
  }
}

// On a slow link, no transfer ends before its bytes could have been sent, and those of one port
// come one after the other. Lower bounds hold however busy the machine is.
TEST(WallClock, LinksAreAsSlowAsTheyShallBe) {
  for (const int threads : {1, 2}) {
    const Program p = op_grain(testing::pipeline({"1f1b", 2, 1, 4}));
    Bytes sent{};
    const InstructionId no_one;
    InstructionId send = no_one;
    for (std::uint32_t i = 0; i < p.instructions.size(); ++i)
      if (p.task(InstructionId{i}).kind == TaskKind::Send) send = {i}, sent = p.task(send).bytes;
    ASSERT_TRUE(send.valid());
    FakeExecution execution(p, 1, 1);
    const auto driver = wall_clock_driver(threads, static_cast<double>(sent.value) * 1000);  // 1 ms
    const Timeline t = run(*driver, execution);
    expect_in_order(p, t);
    EXPECT_TRUE(execution.wrong().empty());
    for (std::uint32_t i = 0; i < p.instructions.size(); ++i)
      if (p.task(InstructionId{i}).kind == TaskKind::Send) {
        EXPECT_GE(t.spans[i].length(), 1ms);
        EXPECT_GE(t.spans[p.instructions[i].peer.value].end - t.spans[i].start, 1ms);
      }
  }
}

// A slow link to the host holds up its two directions apart, and the host's own work not at all.
TEST(WallClock, HostLinksAreAsSlowAsTheyShallBe) {
  const Program p = op_grain(testing::scenario(
      testing::tiny_mlp(4), 1,
      {"schedule=gpipe", "global-batch=8", "micro-batch=1", "precision=fp32", "offload=both"},
      "cpu"));
  constexpr double kRate = 1e6;
  for (const int threads : {1, 2}) {
    FakeExecution execution(p, 1, 1);
    // A byte a second between devices.
    const auto driver = wall_clock_driver(threads, 1, {kRate, 0, 0});
    const Timeline t = run(*driver, execution);
    expect_in_order(p, t);
    EXPECT_TRUE(execution.wrong().empty());
    std::map<HostCargo, int> copies;
    for (std::uint32_t i = 0; i < p.instructions.size(); ++i) {
      const Task& task = p.task(InstructionId{i});
      if (task.kind != TaskKind::HostCopy) continue;
      ++copies[host_cargo(task)];
      EXPECT_GE(t.spans[i].length(), seconds(static_cast<double>(task.bytes.value) / kRate));
    }
    EXPECT_EQ(copies.size(), 4u);
  }
}

TEST(WallClock, ALaneStartsAfterItsDelay) {
  for (const int threads : {1, 2}) {
    Draft draft;
    Task task;
    task.stage = {0};
    const TaskId id = draft.task(task);
    draft.add(draft.stream({0}, "a", true), id, 0, {});
    draft.add(draft.stream({1}, "b", true, 2ms), id, 0, {});
    Program p = draft.finish();
    p.devices = 2;
    FakeExecution execution(p, 1, 1);
    EXPECT_GE(run(*wall_clock_driver(threads, 0), execution).spans[1].start, 2ms);
  }
}

TEST(WallClock, TellsItsSinkEverySpanOnce) {
  const Program p = op_grain(testing::pipeline({"1f1b", 2, 1, 4}));
  FakeExecution execution(p, 1, 2);
  const auto driver = wall_clock_driver(2, 0);
  LiveSink live(4);
  run(*driver, execution, 0, &live);
  run(*driver, execution, 1, &live);
  std::vector<LiveSpan> spans;
  std::vector<LiveMemory> memory;
  std::vector<LiveStep> steps;
  live.drain(spans, memory, steps);
  ASSERT_EQ(spans.size(), 4 * p.instructions.size());
  EXPECT_EQ(memory.size(), 2 * spans.size());
  std::vector<int> seen(2 * p.instructions.size());
  for (const LiveSpan& s : spans)
    ++seen[static_cast<std::size_t>(s.peer) * p.instructions.size() + s.instruction.value];
  for (const int times : testing::non_empty(seen)) EXPECT_EQ(times, 2);
}

// Work added by many threads runs once each, by one thread at a time.
TEST(Strand, IsOneThreadsAtATime) {
  constexpr std::uint32_t kThreads = 4, kEach = 5000;
  std::vector<std::uint32_t> links(kThreads * kEach);
  std::vector<int> done(links.size(), 0);
  Strand strand;
  std::int64_t sum = 0;  // not atomic: the strand guards it
  const auto work_off = [&] {
    std::uint32_t work = 0;
    do {
      strand.collect(links, [](std::uint32_t w) { return w % 2 == 0; });
      while (strand.next_short(work) || strand.next_long(work)) ++done[work], sum += work;
    } while (!strand.leave());
  };
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < kEach; ++i)
        if (strand.hand_in(t * kEach + i, links)) work_off();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(done, std::vector<int>(links.size(), 1));
  EXPECT_EQ(sum, std::int64_t{kThreads * kEach} * (kThreads * kEach - 1) / 2);
}

TEST(Alarms, RingInOrder) {
  const auto now = std::chrono::steady_clock::now();
  std::vector<int> rang;
  Alarms here;
  for (const int i : {2, 0, 1}) here.set(now + 1ms * i, [&rang, i] { rang.push_back(i); });
  while (here.wait_and_do()) {
  }
  EXPECT_EQ(rang, (std::vector<int>{0, 1, 2}));

  std::atomic<int> count = 0;
  Alarms apart;
  apart.start();
  for (const int i : {5, 0, 3}) apart.set(now + 1ms * i, [&] { count += 1, count.notify_one(); });
  for (int seen = 0; seen < 3; seen = count) count.wait(seen);
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace trainyard
