// Parses the words of --vary.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "app/workspace/runs/tuning/tuning.h"
#include "core/base/error.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

constexpr std::string_view kTraining = "train.";

[[noreturn]] void refuse_vary(const std::string& key, const std::string& message) {
  throw Error(Error::Kind::InvalidInput, message, {key.empty() ? "--vary" : "--vary " + key});
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return {};
  return value;
}

// Throws the key's error about the value if no plan accepts it.
void expect_taken(const Vary& vary, const std::string& value, const std::vector<Plan>& plans) {
  const Place place{"--vary"};  // the key follows by itself
  if (vary.training) {
    Training training;
    return apply_training(training, vary.key + "=" + value, place);
  }
  for (std::size_t p = 0; p < plans.size(); ++p) {
    Plan plan = plans[p];
    try {
      return apply_setting(plan, vary.key, value, place);
    } catch (const Error&) {
      if (p + 1 == plans.size()) throw;
    }
  }
}

bool is_taken(const Vary& vary, const std::string& value, const std::vector<Plan>& plans) {
  try {
    expect_taken(vary, value, plans);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void read_words(Vary& vary, std::string_view list, std::string_view start,
                const std::vector<Plan>& plans) {
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t end = std::min(list.find(',', from), list.size());
    vary.words.emplace_back(list.substr(from, end - from));
    expect_taken(vary, vary.words.back(), plans);
    from = end + 1;
  }
  Dimension& d = vary.dimension;
  d.kind = Dimension::Kind::Integer;
  d.low = d.start = 0, d.high = static_cast<double>(vary.words.size() - 1);
  if (start.empty()) return;
  const auto at = std::find(vary.words.begin(), vary.words.end(), start);
  if (at == vary.words.end())
    refuse_vary(vary.key, fmt::format("expected a start among {}, found \"{}\"", list, start));
  d.start = static_cast<double>(at - vary.words.begin());
}

void read_range(Vary& vary, std::string_view low, std::string_view high, std::string_view start,
                const std::vector<Plan>& plans) {
  const auto bound = [&](std::string_view text) {
    const std::optional<double> value = number(text);
    if (!value) refuse_vary(vary.key, fmt::format("expected a number, found \"{}\"", text));
    expect_taken(vary, std::string(text), plans);
    return *value;
  };
  Dimension& d = vary.dimension;
  d.low = bound(low), d.high = bound(high);
  d.start = start.empty() ? d.low : bound(start);
  constexpr double kFactor = 8;
  d.log = d.low > 0 && d.high >= kFactor * d.low;
  // A key is real if it accepts a value between two whole numbers, or if its bounds are not whole.
  const double between = d.low + (d.high - d.low) * 0.3819660113;
  const bool fractions =
      is_taken(vary, fmt::format("{:.6g}", between), plans) &&
      fmt::format("{:.6g}", between) != fmt::format("{:.6g}", std::round(between));
  d.kind = fractions || d.low != std::round(d.low) || d.high != std::round(d.high)
               ? Dimension::Kind::Real
               : Dimension::Kind::Integer;
  try {
    check_space({d});
  } catch (const Error& e) {
    refuse_vary(vary.key, e.what());
  }
}

}  // namespace

std::string value_text(const Vary& vary, double value) {
  if (!vary.words.empty()) return vary.words[static_cast<std::size_t>(value)];
  if (vary.dimension.kind == Dimension::Kind::Integer)
    return std::to_string(static_cast<std::int64_t>(value));
  return fmt::format("{:.4g}", value);
}

Vary parse_vary(std::string_view text, const std::vector<Plan>& plans) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    refuse_vary("", fmt::format("expected KEY=LOW..HIGH or KEY=WORD,WORD, found \"{}\"",
                                text.substr(0, 80)));
  Vary vary;
  std::string_view key = text.substr(0, equals), values = text.substr(equals + 1), start;
  vary.training = key.starts_with(kTraining);
  if (vary.training) key.remove_prefix(kTraining.size());
  vary.key = vary.dimension.name = key;
  if (const std::size_t at = values.rfind('@'); at != std::string_view::npos)
    start = values.substr(at + 1), values = values.substr(0, at);
  const std::size_t dots = values.find("..");
  if (dots == std::string_view::npos)
    read_words(vary, values, start, plans);
  else
    read_range(vary, values.substr(0, dots), values.substr(dots + 2), start, plans);
  return vary;
}

}  // namespace trainyard
