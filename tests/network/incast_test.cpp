#include "core/network/incast.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"

namespace trainyard {
namespace {

const IncastRow& without(const IncastAnswer& a) { return a.rows.front(); }
const IncastRow& with_marks(const IncastAnswer& a) { return a.rows.back(); }

// The threshold is no less than the pipe, so that a window that is halved at it fills the pipe.
IncastQuestion drawn_question(std::uint64_t seed) {
  const Random random(seed);
  std::uint64_t drawn = 0;
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return random.between(drawn++, low, high);
  };
  IncastQuestion q;
  q.senders = between(1, seed % 2 == 0 ? 40 : 200);
  q.block = q.packet * between(1, 200);
  q.exchanges = between(3, 10);
  const std::int64_t pipe = between(5, 150);
  q.round_trip = Duration{1'200 * pipe};
  q.timeout = Duration{1'000'000 * between(1, 200)};
  q.buffer = between(0, 400);
  q.threshold = pipe + 1 + between(0, 100);
  q.window = between(1, 300);
  q.first_window = between(1, 20);
  q.seed = seed;
  return q;
}

TEST(Incast, LosesNothingWhereAllWindowsFitAndIsNoFasterThanTheLink) {
  int fit = 0, lost = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const IncastAnswer a = incast(drawn_question(seed));
    const IncastQuestion& q = a.question;
    const bool fits = q.senders * q.window <= q.buffer + static_cast<std::int64_t>(a.pipe);
    for (const IncastRow& row : a.rows) {
      if (fits || q.senders == 1) {
        EXPECT_EQ(row.lost, 0) << seed;
        EXPECT_EQ(row.timeouts, 0) << seed;
      }
      EXPECT_GE(row.seconds, a.alone_seconds * (1 - 1e-9)) << seed;
      EXPECT_LE(row.goodput, 1) << seed;
      EXPECT_LE(row.queue, q.buffer) << seed;
    }
    fit += fits ? 1 : 0;
    lost += without(a).lost > 0 ? 1 : 0;
  }
  EXPECT_GE(fit, 20);
  EXPECT_GE(lost, 100);
}

TEST(Incast, MarksAreNoSlowerWhereTheThresholdFillsThePipeAndNothingIsLost) {
  int kept = 0, faster = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const IncastAnswer a = incast(drawn_question(seed));
    if (with_marks(a).lost > 0) continue;
    ++kept;
    EXPECT_LE(with_marks(a).seconds, 1.01 * without(a).seconds) << seed;
    faster += 2 * with_marks(a).seconds < without(a).seconds ? 1 : 0;
  }
  EXPECT_GE(kept, 100);
  EXPECT_GE(faster, 10);
}

TEST(Incast, OneSenderWhoseWindowFillsThePipeHasThePlainLink) {
  IncastQuestion q;
  q.senders = 1;
  q.block = q.packet * 1'000;
  for (const std::int64_t window : {84, 200, 1'024}) {
    q.first_window = q.window = window;
    const IncastAnswer a = incast(q);
    for (const IncastRow& row : a.rows)
      EXPECT_NEAR(row.seconds, a.alone_seconds, 1e-9 * a.alone_seconds) << window;
  }
}

// Long flows that begin at the threshold: K + N of Alizadeh et al., section 3.3.
TEST(Incast, TheQueuePeaksAtTheThresholdAndAPacketOfEachSender) {
  IncastQuestion q;
  q.exchanges = 1;
  q.buffer = 10'000;
  for (const std::int64_t senders : {2, 4, 8, 12}) {
    q.senders = senders;
    q.block = q.packet * (20'000 / senders);
    const std::int64_t pipe = 83;
    q.first_window = (pipe + q.threshold) / senders + 1;
    const IncastAnswer a = incast(q);
    EXPECT_NEAR(static_cast<double>(with_marks(a).queue),
                static_cast<double>(q.threshold + senders), static_cast<double>(senders) + 1)
        << senders;
    EXPECT_GE(with_marks(a).goodput, 0.98) << senders;
  }
}

// A handful of senders is served at the rate of the link. With 48 of them a timer of 200 ms runs in
// nearly every exchange of 10 ms; marks hold the queue below the buffer.
TEST(Incast, GoodputCollapsesWithoutControlAndNotWithMarks) {
  IncastQuestion q;
  q.senders = 8;
  const IncastAnswer few = incast(q);
  EXPECT_GE(without(few).goodput, 0.9);
  EXPECT_EQ(without(few).timeouts, 0);
  q.senders = 48;
  const IncastAnswer many = incast(q);
  EXPECT_LE(without(many).goodput, 0.1);
  EXPECT_GE(without(many).timeouts, 1);
  EXPECT_GE(with_marks(many).goodput, 0.9);
  // Where not even one packet of each fits, marks are of no help.
  q.senders = 1'024;
  EXPECT_GE(with_marks(incast(q)).timeouts, 100);
}

// A shorter timer is the other cure (Vasudevan et al., 2009).
TEST(Incast, ATimerNearTheRoundTripBringsGoodputBack) {
  IncastQuestion q;
  q.senders = 48;
  q.timeout = Duration{1'000'000};
  EXPECT_GE(without(incast(q)).goodput, 0.5);
}

// Timers that run out one by one make as many rounds as packets, each of few of the senders. To
// look at all of them in each did not end with 4,096 senders and no latency.
TEST(Incast, LooksAtNoMoreSendersThanPacketsAreSent) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const IncastAnswer a = incast(drawn_question(seed));
    const IncastQuestion& q = a.question;
    const auto packets = static_cast<double>(q.senders * (q.block.value / q.packet.value));
    for (const IncastRow& row : a.rows) EXPECT_LE(row.looked_at, packets + row.lost) << seed;
  }
  IncastQuestion q;
  q.senders = 4'096;
  q.exchanges = 1;
  q.round_trip = Duration{1};
  for (const IncastRow& row : incast(q).rows) EXPECT_LE(row.looked_at, 4'096.0 * 171 + row.lost);
}

TEST(Incast, RefusesWhatIsOutOfRange) {
  IncastQuestion q;
  q.senders = 0;
  EXPECT_THROW(incast(q), Error);
  q = {};
  q.timeout = q.round_trip / 2;
  EXPECT_THROW(incast(q), Error);
  q = {};
  q.block = Bytes{1'000'000'000'000};
  EXPECT_THROW(incast(q), Error);
  q = {};
  q.link = {1e30};
  EXPECT_THROW(incast(q), Error);
  q = {};
  q.window = INT64_MAX;
  EXPECT_THROW(incast(q), Error);
  // Blocks are at least a packet each, however small.
  q = {};
  q.block = Bytes{1}, q.packet = Bytes{INT64_MAX};
  EXPECT_GT(with_marks(incast(q)).seconds, 0);
  q.exchanges = 100'000'000;
  EXPECT_THROW(incast(q), Error);
}

}  // namespace
}  // namespace trainyard
