#include "visualizers/run/run_troubles.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/units_text.h"

namespace trainyard {
namespace {

std::string flip_counts(const FlipCounts& c) {
  return fmt::format("{} flipped, {} corrected, {} detected, {} missed", c.injected, c.corrected,
                     c.detected, c.missed());
}

std::string times(std::int64_t count) {
  return count == 1 ? "once" : fmt::format("{} times", count);
}

// A line a kind of state whose bits flipped, and what came of it.
void add_flips(std::vector<RunTrouble>& lines, const FlipReport& flips) {
  lines.push_back({"bits", flip_counts(flips.all())});
  for (std::size_t i = 0; i < kFlipClasses; ++i)
    if (flips.classes[i].injected > 0)
      lines.push_back({std::string(kFlipClassNames[i]), flip_counts(flips.classes[i]), true});
  lines.push_back({"alarms", fmt::format("in {} of {} steps, {} of them false", flips.alarmed_steps,
                                         flips.steps, flips.false_alarms)});
  for (std::size_t i = 0; i < kFlipDetectors; ++i)
    if (flips.alarms[i] > 0)
      lines.push_back({std::string(kFlipDetectorNames[i]),
                       fmt::format("named {} tensors, counted step by step", flips.alarms[i]),
                       true});
  lines.push_back(
      {"went back",
       fmt::format(
           "{}, {} steps repeated{}", times(flips.restores), flips.steps_repeated,
           flips.not_restored > 0
               ? fmt::format("; {} steps had no sound state to go back to: bits flip more often "
                             "than a state is kept",
                             flips.not_restored)
               : std::string())});
  for (const std::string& sentence : flips.sentences) lines.push_back({"", sentence, true});
}

// Ranks that failed: their cost, and the saves that were made for them.
void add_recovery(std::vector<RunTrouble>& lines, const RecoveryReport& r) {
  const bool full = r.how == ShardSaving::Full;
  const double lost =
      r.lookups > 0 ? static_cast<double>(r.lost_lookups()) / static_cast<double>(r.lookups) : 0;
  lines.push_back(
      {"failures",
       fmt::format(
           "{} of {} ranks, {}", r.losses.size(), r.shards,
           full ? fmt::format("after which all went back and repeated {} steps", r.steps_repeated)
                : fmt::format("portion of lost samples {:.3g}; {} of {} look-ups lost ({})",
                              r.lost_samples(), r.lost_lookups(), r.lookups,
                              readable_share(lost)))});
  lines.push_back(
      {"saved",
       fmt::format("{}, cpr={}: {}", times(r.saves), to_string(r.how),
                   full ? readable(r.saved)
                        : fmt::format("{} rows in {}, and {} of other parameters by "
                                      "neighbours",
                                      r.rows_saved, readable(r.saved), readable(r.mirrored)))});
  constexpr std::size_t kMostLosses = 20;
  for (std::size_t i = 0; i < std::min(r.losses.size(), kMostLosses); ++i) {
    const ShardLoss& loss = r.losses[i];
    lines.push_back({fmt::format("rank {}", loss.kill.rank),
                     fmt::format("after step {}{}", loss.kill.step,
                                 full ? std::string()
                                      : fmt::format(": {} rows went back, by {} look-ups",
                                                    loss.rows, loss.lookups)),
                     true});
  }
  if (r.losses.size() > kMostLosses)
    lines.push_back({"", fmt::format("and {} more", r.losses.size() - kMostLosses), true});
}

}  // namespace

std::vector<RunTrouble> run_troubles(const std::optional<FlipReport>& flips,
                                     const std::optional<RecoveryReport>& recovery,
                                     RecoveryBytes kept) {
  std::vector<RunTrouble> lines;
  if (flips) add_flips(lines, *flips);
  if (recovery) add_recovery(lines, *recovery);
  if (kept.measured > Bytes{})
    lines.push_back({"kept", fmt::format("{} in the memory of the host to go back to, predicted {}",
                                         readable(kept.measured), readable(kept.predicted))});
  return lines;
}

std::vector<std::string> trouble_sentences(const std::vector<RunTrouble>& lines) {
  std::vector<std::string> sentences;
  for (const RunTrouble& line : lines) {
    if (line.part) continue;
    std::string sentence = line.name + ": " + line.words + ".";
    sentence.front() -= 'a' - 'A';
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

void add_troubles(DataTable& table, const std::vector<RunTrouble>& lines) {
  std::vector<std::string> words;
  std::string of;  // the line of which parts are
  for (const RunTrouble& line : lines) {
    if (!line.part) of = line.name;
    words.push_back(line.part ? of + ": " + (line.name.empty() ? "" : line.name + ", ") + line.words
                              : line.name + ": " + line.words);
  }
  const std::size_t before = table.rows;
  table.cell = [before, words, cell = std::move(table.cell)](std::size_t row,
                                                             std::size_t column) -> DataCell {
    if (row < before) return cell(row, column);
    return column == 0 ? DataCell{words[row - before]} : DataCell{};
  };
  table.item = [before, item = std::move(table.item)](std::size_t row) {
    return row < before && item ? item(row) : Item{};
  };
  table.rows += words.size();
}

}  // namespace trainyard
