#include "core/timeline/span_times.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

// The times in which any thread is in a kernel, in order and apart from each other.
std::vector<Span> times_in_kernels(const NestedSpans& spans) {
  std::vector<Span> all;
  for (const std::vector<SpanEvent>& thread : spans.threads) {
    int depth = 0;
    for (const SpanEvent& event : thread) {
      if (event.level != SpanLevel::Kernel) continue;
      if (event.begins && depth++ == 0) all.push_back({event.at, event.at});
      if (!event.begins && --depth == 0) all.back().end = event.at;
    }
  }
  std::sort(all.begin(), all.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  std::vector<Span> apart;
  for (const Span& one : all) {
    if (one.end == one.start) continue;
    if (!apart.empty() && one.start <= apart.back().end)
      apart.back().end = std::max(apart.back().end, one.end);
    else
      apart.push_back(one);
  }
  return apart;
}

// A time of kernels is met once by every sweep over a thread, whose instants never go back.
class BusyTime {
 public:
  explicit BusyTime(const std::vector<Span>& kernels) : kernels_(kernels) {}
  Duration within(Instant from, Instant to) {
    Duration sum{};
    while (at_ < kernels_.size() && kernels_[at_].end <= from) ++at_;
    for (std::size_t i = at_; i < kernels_.size() && kernels_[i].start < to; ++i)
      sum += std::min(to, kernels_[i].end) - std::max(from, kernels_[i].start);
    return sum;
  }

 private:
  const std::vector<Span>& kernels_;
  std::size_t at_ = 0;
};

// Chains of annotations as numbers; 0 is the chain of none.
class Chains {
 public:
  std::size_t inside(std::size_t chain, std::uint32_t name, const NestedSpans& spans) {
    const auto [found, fresh] = numbers_.try_emplace({chain, name}, texts_.size());
    if (fresh)
      texts_.push_back(texts_[chain].empty() ? spans.names[name]
                                             : texts_[chain] + "/" + spans.names[name]);
    return found->second;
  }
  const std::string& text(std::size_t chain) const { return texts_[chain]; }

 private:
  std::vector<std::string> texts_{""};
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> numbers_;
};

struct OpenSpan {
  std::size_t chain = 0;
  int level = -1;  // -1 = outside of all
};

double share_of(Duration part, Duration all) {
  return all > Duration{} ? to_seconds(part) / to_seconds(all) : 0;
}

}  // namespace

std::vector<SpanTime> exclusive_times(const NestedSpans& spans) {
  const std::vector<Span> kernels = times_in_kernels(spans);
  Chains chains;
  std::map<std::tuple<std::size_t, int, bool>, Duration> sums;
  for (const std::vector<SpanEvent>& thread : spans.threads) {
    BusyTime busy(kernels);
    std::vector<OpenSpan> open{{}};
    Instant from = spans.whole.start;
    const auto sweep_to = [&](Instant to) {
      const Duration in_kernels = busy.within(from, to), others = to - from - in_kernels;
      const auto [chain, level] = open.back();
      if (in_kernels > Duration{}) sums[{chain, level, true}] += in_kernels;
      if (others > Duration{}) sums[{chain, level, false}] += others;
      from = to;
    };
    for (const SpanEvent& event : thread) {
      sweep_to(event.at);
      if (!event.begins) {
        open.pop_back();
        continue;
      }
      const std::size_t chain = open.back().chain;
      open.push_back(
          {event.level == SpanLevel::Annotation ? chains.inside(chain, event.name, spans) : chain,
           static_cast<int>(event.level)});
    }
    sweep_to(spans.whole.end);
  }
  std::vector<SpanTime> rows;
  for (const auto& [key, time] : sums) {
    const auto& [chain, level, in_kernel] = key;
    SpanTime row{chains.text(chain), {}, in_kernel, time};
    if (level >= 0) row.level = static_cast<SpanLevel>(level);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<NamedSpans> spans_by_name(const NestedSpans& spans) {
  std::map<std::pair<SpanLevel, std::uint32_t>, NamedSpans> found;
  for (const std::vector<SpanEvent>& thread : spans.threads) {
    struct Open {
      Instant start;
      Duration inside;
    };
    std::vector<Open> open;
    for (const SpanEvent& event : thread) {
      if (event.begins) {
        open.push_back({event.at, {}});
        continue;
      }
      const Duration length = event.at - open.back().start;
      NamedSpans& named = found[{event.level, event.name}];
      ++named.count;
      named.whole += length;
      named.own += length - open.back().inside;
      open.pop_back();
      if (!open.empty()) open.back().inside += length;
    }
  }
  std::vector<NamedSpans> rows;
  for (auto& [key, named] : found) {
    named.level = key.first, named.name = spans.names[key.second];
    rows.push_back(std::move(named));
  }
  std::sort(rows.begin(), rows.end(), [](const NamedSpans& a, const NamedSpans& b) {
    return std::tie(a.level, b.own, a.name) < std::tie(b.level, a.own, b.name);
  });
  return rows;
}

double DeviceUse::busy_share() const { return share_of(busy, whole); }
double DeviceUse::sampled_share() const { return share_of(sampled, whole); }

std::optional<double> DeviceUse::inflation() const {
  if (busy <= Duration{}) return std::nullopt;
  return to_seconds(sampled) / to_seconds(busy);
}

DeviceUse device_use(const NestedSpans& spans, Duration window) {
  DeviceUse use;
  use.whole = spans.whole.length(), use.window = window;
  use.windows = (use.whole.count() + window.count() - 1) / window.count();
  std::int64_t next = 0;  // the first window that no kernel has counted
  for (const Span& kernel : times_in_kernels(spans)) {
    use.busy += kernel.length();
    const std::int64_t first = std::max(next, (kernel.start - spans.whole.start) / window),
                       after = (kernel.end - spans.whole.start - Duration{1}) / window + 1;
    if (after <= first) continue;
    use.occupied += after - first;
    use.sampled += std::min(after * window, use.whole) - first * window;
    next = after;
  }
  return use;
}

}  // namespace trainyard
