#include "core/plan/batch_ramp.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace trainyard {
namespace {

constexpr std::int64_t kLargestBatch = 10'000'000'000, kMostSamples = 1'000'000'000'000'000;
constexpr std::size_t kMostListed = 1000;

constexpr std::string_view kRampForms =
    "off, START:INCREMENT:SAMPLES as in 16:16:5000000, or steps:BATCH@SAMPLES,... as in "
    "steps:256@0,512@63000";

[[noreturn]] void refuse_ramp(const Place& place, std::string_view expected,
                              std::string_view found) {
  throw Error(
      Error::Kind::InvalidInput,
      "expected " + std::string(expected) + ", found \"" + std::string(found.substr(0, 80)) + "\"",
      place);
}

std::int64_t samples_in(std::string_view text, std::int64_t low, std::int64_t high,
                        std::string_view what, const Place& place) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || number < low || number > high)
    refuse_ramp(place,
                std::string(what) + " from " + std::to_string(low) + " to " + std::to_string(high),
                text);
  return number;
}

BatchRamp listed_ramp(std::string_view text, const Place& place) {
  BatchRamp made;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    const std::size_t at = one.find('@');
    if (at == std::string_view::npos)
      refuse_ramp(place, "a batch and the samples from which on it holds, as in 512@63000", one);
    made.listed.push_back(
        {samples_in(one.substr(0, at), 1, kLargestBatch, "a batch in samples", place),
         samples_in(one.substr(at + 1), 0, kMostSamples, "a number of consumed samples", place)});
    const BatchRamp::Size& last = made.listed.back();
    if (made.listed.size() == 1 && last.from != 0)
      refuse_ramp(place, "a first batch from 0 samples on, as in 256@0", one);
    if (made.listed.size() > 1) {
      const BatchRamp::Size& before = made.listed[made.listed.size() - 2];
      if (last.batch <= before.batch || last.from <= before.from)
        refuse_ramp(place,
                    "more than " + std::to_string(before.batch) + "@" +
                        std::to_string(before.from) + " in batch and samples behind it",
                    one);
    }
    if (made.listed.size() > kMostListed) refuse_ramp(place, "a list of at most 1000", "more");
    if (comma == std::string_view::npos) return made;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

BatchRamp parse_batch_ramp(std::string_view text, const Place& place) {
  constexpr std::string_view kList = "steps:";
  if (text.starts_with(kList)) return listed_ramp(text.substr(kList.size()), place);
  const std::size_t first = text.find(':'),
                    second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos || text.find(':', second + 1) != std::string_view::npos)
    refuse_ramp(place, kRampForms, text);
  BatchRamp made;
  made.start =
      samples_in(text.substr(0, first), 1, kLargestBatch, "a first batch in samples", place);
  made.increment = samples_in(text.substr(first + 1, second - first - 1), 1, kLargestBatch,
                              "an increment of the batch in samples", place);
  made.samples =
      samples_in(text.substr(second + 1), 1, kMostSamples, "a number of consumed samples", place);
  return made;
}

std::vector<BatchRamp::Size> sizes_of(const BatchRamp& ramp, std::int64_t full) {
  if (!ramp.listed.empty()) return ramp.listed;
  std::vector<BatchRamp::Size> sizes;
  const std::int64_t spans = (full - ramp.start) / ramp.increment;
  // Whole spans and what is left of them apart, because the product of both would overflow.
  const std::int64_t whole = spans > 0 ? ramp.samples / spans : 0,
                     left = spans > 0 ? ramp.samples % spans : 0;
  for (std::int64_t k = 0; k < spans; ++k)
    sizes.push_back({ramp.start + k * ramp.increment, k * whole + (k * left + spans - 1) / spans});
  sizes.push_back({full, spans > 0 ? ramp.samples : 0});
  return sizes;
}

std::vector<BatchPhase> batch_phases(const std::vector<BatchRamp::Size>& sizes) {
  std::vector<BatchPhase> phases;
  BatchPhase next;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    next.batch = sizes[i].batch;
    next.steps = 0;
    if (i + 1 < sizes.size()) {
      const std::int64_t left = sizes[i + 1].from - next.first_sample;
      if (left <= 0) continue;
      next.steps = (left + next.batch - 1) / next.batch;
    }
    phases.push_back(next);
    next.first_sample += next.steps * next.batch;
    next.first_step += next.steps;
  }
  return phases;
}

std::vector<BatchPhase> batch_phases(const Plan& plan) {
  const std::optional<BatchRamp> ramp = batch_ramp_of(plan);
  if (!ramp) return {{.batch = plan.batch.global}};
  return batch_phases(sizes_of(*ramp, plan.batch.global));
}

std::optional<BatchRamp> batch_ramp_of(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, kBatchRamp);
  if (chosen == nullptr || !chosen->params.has(kBatchRampSizes)) return std::nullopt;
  const std::string& sizes = chosen->params.text(kBatchRampSizes);
  if (sizes == kNoBatchRamp) return std::nullopt;
  return parse_batch_ramp(sizes, {"plan#/choices/batch-ramp/sizes"});
}

Plan with_batch(Plan plan, std::int64_t batch) {
  remove_choice(plan, kBatchRamp);
  plan.batch.global = batch;
  return plan;
}

}  // namespace trainyard
