#include "core/plan/layer_ranges.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "core/base/nearest.h"

namespace trainyard {
namespace {

constexpr int kMostLayers = 1'000'000;
constexpr std::size_t kMostRanges = 1000;
constexpr LayerRange kAllLayers{LayerRange::From::Start, 0, kMostLayers};
constexpr std::string_view kRangeForms =
    "none, all or layers such as first:2,last:8 or 0-1,30 (counted from 0)";

[[noreturn]] void refuse_ranges(const Place& place, std::string_view found) {
  const std::string word(found.substr(0, std::min<std::size_t>(found.find(':'), 80)));
  throw Error(Error::Kind::InvalidInput,
              "expected " + std::string(kRangeForms) + ", found \"" +
                  std::string(found.substr(0, 80)) + "\"" +
                  did_you_mean(word, std::vector<std::string>{"none", "all", "first", "last"}),
              place);
}

std::optional<int> layer_number(std::string_view text, int low) {
  int value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < low ||
      value >= kMostLayers)
    return std::nullopt;
  return value;
}

LayerRange range_of(std::string_view text, const Place& place) {
  for (const auto& [word, from] : {std::pair{std::string_view("first:"), LayerRange::From::Start},
                                   std::pair{std::string_view("last:"), LayerRange::From::End}}) {
    if (text.substr(0, word.size()) != word) continue;
    if (const auto count = layer_number(text.substr(word.size()), 1)) return {from, 0, *count - 1};
    refuse_ranges(place, text);
  }
  const std::size_t dash = text.find('-');
  const auto low = layer_number(text.substr(0, dash), 0);
  const auto high = dash == std::string_view::npos ? low : layer_number(text.substr(dash + 1), 0);
  if (!low || !high || *low > *high) refuse_ranges(place, text);
  return {LayerRange::From::Start, *low, *high};
}

std::string words_of(const LayerRange& range) {
  if (range.from == LayerRange::From::End) return "last:" + std::to_string(range.high + 1);
  return std::to_string(range.low) +
         (range.low == range.high ? "" : "-" + std::to_string(range.high));
}

}  // namespace

LayerRanges parse_layer_ranges(std::string_view text, const Place& place) {
  if (text == "none") return {};
  if (text == "all") return {kAllLayers};
  LayerRanges made;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    made.push_back(range_of(rest.substr(0, comma), place));
    if (comma == std::string_view::npos) return made;
    if (made.size() == kMostRanges) refuse_ranges(place, text);
    rest.remove_prefix(comma + 1);
  }
}

std::string layer_ranges_refusal(std::string_view text) {
  try {
    parse_layer_ranges(text);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

std::vector<bool> in_ranges(const LayerRanges& ranges, int layers) {
  std::vector<bool> in(static_cast<std::size_t>(layers));
  for (const LayerRange& range : ranges)
    for (int i = range.low; i <= std::min(range.high, layers - 1); ++i)
      in[static_cast<std::size_t>(range.from == LayerRange::From::Start ? i : layers - 1 - i)] =
          true;
  return in;
}

void check_layer_ranges(const LayerRanges& ranges, int layers, const Place& place,
                        Diagnostics& found) {
  for (const LayerRange& range : ranges)
    if (range != kAllLayers && range.high >= layers)
      found.push_back(
          {Diagnostic::Severity::Error,
           "expected layers from 0 to " + std::to_string(layers - 1) + ", found " + words_of(range),
           place,
           {}});
}

}  // namespace trainyard
