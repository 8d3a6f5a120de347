#include "app/cli/interrupt.h"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "app/cli/verb.h"

namespace trainyard {
namespace {

class Signals : public ::testing::Test {
 protected:
  void SetUp() override { forget_interrupt(); }
  void TearDown() override { forget_interrupt(); }
};

void (*handler_of(int signal))(int) {
  struct sigaction now{};
  sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

TEST_F(Signals, EachIsRecordedOnceAndTheSecondEndsTheProgram) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    forget_interrupt();
    const InterruptStop stop;
    EXPECT_EQ(interrupt_signal(), 0);
    EXPECT_FALSE(stop.token().stop_requested());
    std::raise(signal);
    EXPECT_EQ(interrupt_signal(), signal);
    EXPECT_EQ(handler_of(signal), SIG_DFL);
    while (!stop.token().stop_requested()) std::this_thread::yield();
  }
}

TEST_F(Signals, TheFirstOfSeveralIsWhatTheExitNames) {
  const InterruptGuard guard;
  std::raise(SIGTERM);
  std::raise(SIGHUP);
  EXPECT_EQ(interrupt_signal(), SIGTERM);
}

TEST_F(Signals, OneIgnoredFromTheStartStaysIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    const InterruptGuard guard;
    std::raise(SIGHUP);
    EXPECT_EQ(interrupt_signal(), 0);
    EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
  }
  EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
  std::signal(SIGHUP, before);
}

TEST_F(Signals, AreHandledAsBeforeAfterwards) {
  {
    const InterruptGuard guard;
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    EXPECT_EQ(handler_of(signal), SIG_DFL) << signal;
}

TEST_F(Signals, OneOfAnEarlierCommandIsForgotten) {
  {
    const InterruptGuard guard;
    std::raise(SIGINT);
  }
  std::ostringstream out, err;
  EXPECT_EQ(run_cli({"--version"}, {out, err}), kDone);
}

}  // namespace
}  // namespace trainyard
