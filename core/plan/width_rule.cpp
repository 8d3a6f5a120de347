#include "core/plan/width_rule.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "core/base/nearest.h"

namespace trainyard {
namespace {

constexpr std::int64_t kWidestBucket = 1'000'000'000;
constexpr std::size_t kMostBuckets = 1000;
constexpr std::string_view kMultiple = "multiple:";

[[noreturn]] void refuse_widths(const Place& place, std::string_view found) {
  const std::string word(found.substr(0, std::min<std::size_t>(found.find(':'), 80)));
  throw Error(Error::Kind::InvalidInput,
              "expected any, multiple:64, or ascending widths in tokens such as 128,256,512; "
              "found \"" +
                  std::string(found.substr(0, 80)) + "\"" +
                  did_you_mean(word, std::vector<std::string>{"any", "multiple"}),
              place);
}

}  // namespace

OpenWidths parse_width_rule(std::string_view text, const Place& place) {
  OpenWidths open;
  if (text == kAnyWidth) return open;
  const auto width = [&](std::string_view part) {
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (failure != std::errc() || end != part.data() + part.size() || value < 1 ||
        value > kWidestBucket)
      refuse_widths(place, text);
    return value;
  };
  if (text.starts_with(kMultiple)) {
    open.multiple = width(text.substr(kMultiple.size()));
    return open;
  }
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    open.buckets.push_back(width(text.substr(from, end - from)));
    from = end + 1;
  }
  const bool ascends = std::is_sorted(open.buckets.begin(), open.buckets.end(),
                                      [](auto a, auto b) { return a <= b; });
  if (!ascends || open.buckets.size() > kMostBuckets) refuse_widths(place, text);
  return open;
}

}  // namespace trainyard
