#include "core/network/incast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr double kGain = 1.0 / 16;  // g of RFC 8257, section 4.2
constexpr double kLeastCut = 2;     // packets below which no sender is held by marks or by a loss
constexpr int kDuplicates = 3;      // acknowledgements by which a loss is noticed (RFC 5681)
constexpr int kMostTimerDoublings = 6;  // of a timer
constexpr double kMostIncastPackets = 1e8;
constexpr std::int64_t kMostInPort = 1'000'000'000;  // packets of a buffer, a threshold, a window

std::int64_t packets_of_block(const IncastQuestion& q) {
  return (q.block.value - 1) / q.packet.value + 1;
}

struct IncastSender {
  std::int64_t left = 0;  // packets of its block that have not arrived
  double window = 1, slow_start_below = std::numeric_limits<double>::infinity();
  double marked = 1;  // mean share, with which RFC 8257 begins
  double silent_until = 0;
  int doublings = 0;
  std::int64_t sent = 0, lost = 0;  // in this round trip
};

class IncastRun {
 public:
  IncastRun(const IncastQuestion& q, bool marks)
      : q_(q),
        marks_(marks),
        random_(q.seed),
        packet_(static_cast<double>(q.packet.value) / (q.link.value * 1e-9)),
        round_trip_(static_cast<double>(q.round_trip.count())),
        pipe_(round_trip_ / packet_),
        senders_(static_cast<std::size_t>(q.senders)) {
    for (IncastSender& s : senders_)
      s.window = static_cast<double>(std::min(q.first_window, q.window));
  }

  IncastRow run() {
    const std::int64_t block = packets_of_block(q_);
    for (std::int64_t e = 0; e < q_.exchanges; ++e) {
      for (IncastSender& s : senders_) s.left = block;
      awake_.resize(senders_.size());
      std::iota(awake_.begin(), awake_.end(), 0U);
      left_ = block * q_.senders;
      while (step()) continue;
      now_ += round_trip_;  // of the question and of the last acknowledgement
    }
    const auto exchanges = static_cast<double>(q_.exchanges);
    IncastRow row{marks_ ? "marks" : "none",
                  1e-9 * now_ / exchanges,
                  0,
                  lost_ / exchanges,
                  timeouts_ / exchanges,
                  static_cast<std::int64_t>(std::ceil(queue_)),
                  looked_at_ / exchanges};
    row.goodput = static_cast<double>(q_.senders) * static_cast<double>(q_.block.value) /
                  (q_.link.value * row.seconds);
    return row;
  }

 private:
  // One round trip of those that are not waiting for a timer; false where all have arrived. It
  // costs those senders alone: where timers run out one by one there are as many rounds as packets.
  bool step() {
    wake();
    if (awake_.empty()) {
      if (silent_.empty()) return false;
      now_ = silent_.begin()->first;
      return true;
    }
    std::int64_t sent = 0;
    for (const std::uint32_t i : awake_) {
      IncastSender& s = senders_[i];
      s.sent = std::min(s.left, static_cast<std::int64_t>(s.window));
      s.lost = 0;
      sent += s.sent;
    }
    // The link of a lone sender is no faster than the receiver's, so that it fills no buffer.
    const bool meets = awake_.size() > 1;
    const auto room = static_cast<std::int64_t>(pipe_) + q_.buffer;
    const std::int64_t taken = meets ? std::min(sent, std::max<std::int64_t>(1, room)) : sent;
    lose(sent - taken, sent);
    const double over = meets ? static_cast<double>(taken) - pipe_ : 0;
    queue_ = std::max(queue_, over);
    const double marked = marks_ ? std::max(0.0, over - static_cast<double>(q_.threshold)) /
                                       static_cast<double>(taken)
                                 : 0;
    const double passing = packet_ * static_cast<double>(taken);
    now_ += left_ == taken ? passing : std::max(round_trip_, passing);
    left_ -= taken;
    looked_at_ += static_cast<double>(awake_.size());
    std::size_t kept = 0;
    for (const std::uint32_t i : awake_) {
      IncastSender& s = senders_[i];
      learn(s, marked);
      if (s.left == 0) continue;
      if (s.silent_until > now_)
        silent_[s.silent_until].push_back(i);
      else
        awake_[kept++] = i;
    }
    awake_.resize(kept);
    return true;
  }

  // Those whose timers have run out send again. Senders stay in order, as losses are drawn in it.
  void wake() {
    for (; !silent_.empty() && silent_.begin()->first <= now_; silent_.erase(silent_.begin())) {
      const std::vector<std::uint32_t>& woken = silent_.begin()->second;
      awake_.insert(awake_.end(), woken.begin(), woken.end());
    }
    if (!std::is_sorted(awake_.begin(), awake_.end())) std::sort(awake_.begin(), awake_.end());
  }

  // Draws which packets are lost, all equally likely.
  void lose(std::int64_t lost, std::int64_t sent) {
    lost_ += static_cast<double>(lost);
    for (const std::uint32_t at : awake_) {
      if (lost == 0) return;
      IncastSender& s = senders_[at];
      for (std::int64_t i = 0; i < s.sent && lost > 0; ++i, --sent)
        if (random_.uniform(drawn_++) * static_cast<double>(sent) < static_cast<double>(lost))
          ++s.lost, --lost;
    }
  }

  void learn(IncastSender& s, double marked) {
    const std::int64_t arrived = s.sent - s.lost;
    s.left -= arrived;
    if (s.lost > 0) {
      s.slow_start_below = std::max(kLeastCut, s.window / 2);
      s.window = s.slow_start_below;
      if (arrived < kDuplicates) {
        s.window = 1;
        s.silent_until = now_ + static_cast<double>(q_.timeout.count()) * std::exp2(s.doublings);
        s.doublings = std::min(s.doublings + 1, kMostTimerDoublings);
        ++timeouts_;
      }
      return;
    }
    s.doublings = 0;
    s.marked += kGain * (marked - s.marked);
    if (marked > 0) {
      s.window = std::max(std::min(s.window, kLeastCut), s.window * (1 - s.marked / 2));
      s.slow_start_below = s.window;
    } else if (s.sent == static_cast<std::int64_t>(s.window)) {
      s.window += s.window < s.slow_start_below ? static_cast<double>(arrived) : 1;
    }
    s.window = std::min(s.window, static_cast<double>(q_.window));
  }

  const IncastQuestion& q_;
  const bool marks_;
  const Random random_;
  const double packet_, round_trip_;  // nanoseconds
  const double pipe_;                 // packets
  std::vector<IncastSender> senders_;
  std::vector<std::uint32_t> awake_;                     // with packets left, by rising number
  std::map<double, std::vector<std::uint32_t>> silent_;  // by when their timers run out
  std::int64_t left_ = 0;                                // packets of all senders
  std::uint64_t drawn_ = 0;
  double now_ = 0, lost_ = 0, timeouts_ = 0, queue_ = 0, looked_at_ = 0;
};

void expect_incast(bool fine, std::string_view sentence) {
  if (!fine) throw Error(Error::Kind::InvalidInput, std::string(sentence), {"incast"});
}

}  // namespace

IncastAnswer incast(const IncastQuestion& q) {
  expect_incast(q.senders >= 1 && q.senders <= 4'096, "expected 1 sender to 4096");
  expect_incast(q.block.value > 0 && q.packet.value > 0 && q.link.value > 0 && q.exchanges >= 1,
                "expected bytes, a rate and exchanges above 0");
  expect_incast(q.buffer >= 0 && q.threshold >= 0 && q.window >= 1 && q.first_window >= 1,
                "expected a buffer and a threshold of at least 0 packets, windows of at least 1");
  expect_incast(std::max({q.buffer, q.threshold, q.window, q.first_window}) <= kMostInPort,
                "expected a buffer, a threshold and windows of at most a billion packets");
  expect_incast(
      q.round_trip.count() > 0 && q.timeout >= q.round_trip,
      fmt::format("expected a timeout no shorter than a round trip, which is above 0, found {} and "
                  "{}",
                  to_text(q.timeout), to_text(q.round_trip)));
  const double bytes = static_cast<double>(q.senders) * static_cast<double>(q.block.value);
  const double packets = static_cast<double>(q.senders) * static_cast<double>(packets_of_block(q)) *
                         static_cast<double>(q.exchanges);
  expect_incast(packets <= kMostIncastPackets,
                fmt::format("expected at most 100 million packets in {} exchanges, found {:.3g}; "
                            "try smaller blocks",
                            q.exchanges, packets));
  IncastAnswer answer{q, bytes / q.link.value + to_seconds(q.round_trip), 0, {}};
  answer.pipe = to_seconds(q.round_trip) * q.link.value / static_cast<double>(q.packet.value);
  expect_incast(answer.pipe <= static_cast<double>(kMostInPort),
                fmt::format("expected a link that holds at most a billion packets in a round trip, "
                            "found {:.3g}; try a slower one",
                            answer.pipe));
  for (const bool marks : {false, true}) answer.rows.push_back(IncastRun(q, marks).run());
  return answer;
}

IncastDelay incast_delay(const IncastQuestion& q, bool marks) {
  const std::size_t row = marks ? 1 : 0;
  IncastQuestion endless = q;
  endless.buffer = kMostInPort;
  const IncastRow met = incast(q).rows[row];
  const double longer = met.seconds - incast(endless).rows[row].seconds;
  return {seconds(std::max(0.0, longer)), met.timeouts};
}

}  // namespace trainyard
