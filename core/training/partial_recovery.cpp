#include "core/training/partial_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/nearest.h"
#include "core/plan/params.h"

namespace trainyard {
namespace {

constexpr std::string_view kNoKills = "off";
constexpr double kMostKillSteps = 1e15, kMostKilledRank = 1e6;

std::int64_t kill_number(std::string_view text, double low, double high, const Place& place) {
  return std::get<std::int64_t>(parse_param(
      {.name = "", .fallback = std::int64_t{0}, .doc = "", .low = low, .high = high}, text, place));
}

Diagnostic wrong_recovery(std::string message, std::string_view key, std::string fix) {
  return {Diagnostic::Severity::Error,
          std::move(message),
          {"--train " + std::string(key)},
          std::move(fix)};
}

}  // namespace

std::int64_t PartialRecovery::every() const {
  if (!chooses_rows()) return save;
  return std::max<std::int64_t>(1, std::llround(part * static_cast<double>(save)));
}

ShardSaving read_shard_saving(std::string_view text, const Place& place) {
  const auto found = std::find(kShardSavings.begin(), kShardSavings.end(), text);
  if (found == kShardSavings.end())
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected {}, found \"{}\"{}", fmt::join(kShardSavings, ", "),
                            text.substr(0, 80), did_you_mean(text.substr(0, 80), kShardSavings)),
                place);
  return static_cast<ShardSaving>(found - kShardSavings.begin());
}

std::vector<ShardKill> read_shard_kills(std::string_view text, const Place& place) {
  std::vector<ShardKill> kills;
  if (text == kNoKills) return kills;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    const std::size_t colon = one.find(':');
    if (colon == std::string_view::npos)
      throw Error(
          Error::Kind::InvalidInput,
          fmt::format("expected steps with the ranks that fail after them, as in 20:1,35:0, "
                      "or {}, found \"{}\"",
                      kNoKills, one.substr(0, 80)),
          place);
    kills.push_back({kill_number(one.substr(0, colon), 1, kMostKillSteps, place),
                     kill_number(one.substr(colon + 1), 0, kMostKilledRank, place)});
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return kills;
}

std::string shard_kills_text(const PartialRecovery& recovery) {
  if (recovery.kills.empty()) return std::string(kNoKills);
  std::vector<std::string> words;
  for (const ShardKill& kill : recovery.kills)
    words.push_back(fmt::format("{}:{}", kill.step, kill.rank));
  return fmt::format("{}", fmt::join(words, ","));
}

Diagnostics check(const PartialRecovery& recovery, std::int64_t steps) {
  Diagnostics found;
  if (!recovery.kills.empty() && !recovery.on())
    found.push_back(wrong_recovery(
        "expected a way in which the run recovers from ranks that fail, found cpr=off", "cpr-kill",
        "cpr=plain"));
  for (const ShardKill& kill : recovery.kills)
    if (kill.step > steps) {
      found.push_back(
          wrong_recovery(fmt::format("rank {} fails after update {}, and the run has {}", kill.rank,
                                     kill.step, steps),
                         "cpr-kill", "cpr-kill=off"));
      break;
    }
  // Bytes are equal only where the shares of an interval make up one whole.
  const double each = recovery.part * static_cast<double>(recovery.save);
  if (recovery.chooses_rows() && std::abs(each - std::round(each)) > 1e-9 * each)
    found.push_back(wrong_recovery(
        fmt::format("expected a whole number of updates between saves, found {} of {}, which is {}",
                    recovery.part, recovery.save, each),
        "cpr-save", fmt::format("cpr-save={}", std::llround(std::ceil(each) / recovery.part))));
  return found;
}

std::int64_t RecoveryReport::lost_lookups() const {
  std::int64_t sum = 0;
  for (const ShardLoss& loss : losses) sum += loss.lookups;
  return sum;
}

double RecoveryReport::lost_samples() const {
  if (how == ShardSaving::Full || samples == 0) return 0;
  std::int64_t sum = 0;
  for (const ShardLoss& loss : losses) sum += loss.samples;
  return static_cast<double>(sum) / (static_cast<double>(samples) * static_cast<double>(shards));
}

}  // namespace trainyard
