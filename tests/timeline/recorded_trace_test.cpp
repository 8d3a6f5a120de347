#include "core/timeline/recorded_trace.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/base/error.h"

namespace trainyard {
namespace {

// Rows of streams with small random spans, some of which touch and some of which take no time. A
// long span in one row overlaps many in another.
RecordedTrace random_trace() {
  RecordedTrace t;
  t.source = "made up";
  t.names = {"kernel"};
  t.processes = {{"rank 0", 0}, {"rank 1", 1}};
  const auto rows = *rc::gen::inRange<std::uint32_t>(1, 10);
  for (std::uint32_t r = 0; r < rows; ++r) {
    t.threads.push_back({*rc::gen::inRange<std::uint32_t>(0, 2), "stream", true});
    const auto count = *rc::gen::inRange<std::uint32_t>(0, 20);
    const auto longest = *rc::gen::element(1, 3, 7, 40);
    t.rows.push_back({r, 0, t.start.size(), count});
    std::int64_t at = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      at += *rc::gen::inRange(0, 3);
      t.start.push_back(at);
      at += *rc::gen::inRange(0, longest + 1);
      t.end.push_back(at);
      t.name.push_back(0);
      t.category.push_back(
          static_cast<std::uint8_t>(*rc::gen::inRange<std::size_t>(0, kRecordedKinds)));
    }
  }
  return t;
}

// Counts instant by instant what the streams of the process do.
RecordedShare counted(const RecordedTrace& t, std::uint32_t process, std::int64_t from,
                      std::int64_t to) {
  RecordedShare share;
  for (const RecordedRow& row : t.rows)
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i)
      if (t.threads[row.thread].process == process && t.start[i] < to &&
          (t.end[i] > from || t.start[i] >= from))
        ++share.spans;
  for (std::int64_t at = from; at < to; ++at) {
    bool compute = false, communication = false, transfer = false;
    for (const RecordedRow& row : t.rows) {
      if (t.threads[row.thread].process != process) continue;
      for (std::uint64_t i = row.first; i < row.first + row.count; ++i) {
        if (at < t.start[i] || at >= t.end[i]) continue;
        const auto kind = static_cast<RecordedKind>(t.category[i]);
        share.busy[t.category[i]] += Duration{1};
        communication |= kind == RecordedKind::Communication;
        transfer |= kind == RecordedKind::Transfer;
        compute |= kind != RecordedKind::Communication && kind != RecordedKind::Transfer &&
                   kind != RecordedKind::Host;
      }
    }
    (compute         ? share.compute
     : communication ? share.communication
     : transfer      ? share.transfer
                     : share.idle) += Duration{1};
  }
  return share;
}

TEST(RecordedTrace, SharesAreWhatIsCountedInstantByInstant) {
  EXPECT_TRUE(rc::check([] {
    const RecordedTrace t = random_trace();
    check(t);
    const auto from = *rc::gen::inRange<std::int64_t>(0, 30);
    const auto to = from + *rc::gen::inRange<std::int64_t>(1, 60);
    for (const RecordedShare& share : recorded_shares(t, Instant{from}, Instant{to})) {
      const RecordedShare expected = counted(t, share.process, from, to);
      RC_ASSERT(share.compute == expected.compute);
      RC_ASSERT(share.communication == expected.communication);
      RC_ASSERT(share.transfer == expected.transfer);
      RC_ASSERT(share.idle == expected.idle);
      RC_ASSERT(share.busy == expected.busy);
      RC_ASSERT(share.spans == expected.spans);
    }
  }));
}

// The rows are so long that they are checked in halves; errors are found in both.
TEST(RecordedTrace, MillionsAreCheckedInEveryRow) {
  constexpr std::uint32_t kEach = 600'000;
  RecordedTrace t;
  t.names = {"kernel"};
  t.processes = {{"rank 0", 0}};
  t.threads = {{0, "stream 0", true}, {0, "stream 1", true}};
  for (std::uint32_t r = 0; r < 2; ++r) {
    t.rows.push_back({r, 0, std::uint64_t{r} * kEach, kEach});
    for (std::uint32_t i = 0; i < kEach; ++i) {
      t.start.push_back(i);
      t.end.push_back(i + 1);
    }
  }
  t.name.resize(t.start.size());
  t.category.resize(t.start.size());
  EXPECT_NO_THROW(check(t));
  for (const std::size_t at : {std::size_t{7}, t.start.size() - 7}) {
    RecordedTrace broken = t;
    ++broken.end[at];
    try {
      check(broken);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_NE(describe(error).find(at == 7 ? "in row 0" : "in row 1"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace trainyard
