#include "visualizers/profile/profile_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/units_text.h"
#include "visualizers/chart/bars_view.h"

namespace trainyard {
namespace {

constexpr float kProfileWidth = 1000, kTimesRow = 34, kTimesMargin = 70, kLowerPanel = 220;
constexpr std::uint64_t kPanelItems = 4096;
constexpr double kPrecise = 0.03;  // of a run, by which a corrected one may be off
constexpr std::array<Ink, kSpanLevels + 1> kLevelInks = {
    Ink::Swap, Ink::Communication, Ink::Backward, Ink::Optimizer, Ink::Forward};

std::size_t part_of(const std::optional<SpanLevel>& level) {
  return level ? static_cast<std::size_t>(*level) + 1 : 0;
}

std::string chain_words(const std::string& annotations) {
  return annotations.empty() ? "outside" : annotations;
}

struct ProfileUnit {
  const char* name;
  double per_second;
  double of(Duration d) const { return to_seconds(d) * per_second; }
};

ProfileUnit unit_for(Duration longest) {
  if (longest >= std::chrono::seconds(1)) return {"s", 1};
  if (longest >= std::chrono::milliseconds(1)) return {"ms", 1e3};
  return {"\u00b5s", 1e6};
}

// Two rows for each chain of annotations: as recorded, and corrected.
BarsModel times_bars(const ProfileStudy& study) {
  BarsModel bars;
  bars.title = "Time by annotation and innermost level, recorded above corrected";
  std::vector<std::string> chains;
  const std::vector<ProfileRow> rows = profile_rows(study.spans);
  Duration longest{};
  for (const ProfileRow& row : rows) {
    if (std::find(chains.begin(), chains.end(), row.annotations) == chains.end())
      chains.push_back(row.annotations);
    longest = std::max(longest, row.raw);
  }
  const ProfileUnit unit = unit_for(longest);
  bars.unit = unit.name;
  for (std::size_t part = 0; part <= kSpanLevels; ++part) {
    const auto level = part == 0 ? std::nullopt : std::optional(static_cast<SpanLevel>(part - 1));
    bars.parts.push_back({std::string(profile_level_words(level)), kLevelInks[part]});
  }
  for (const std::string& chain : chains) {
    BarsModel::Row raw{chain_words(chain), std::vector<double>(kSpanLevels + 1)},
        corrected{"corrected", std::vector<double>(kSpanLevels + 1)};
    for (const ProfileRow& row : rows) {
      if (row.annotations != chain) continue;
      raw.values[part_of(row.level)] += unit.of(row.raw);
      corrected.values[part_of(row.level)] += unit.of(row.corrected);
    }
    bars.rows.push_back(std::move(raw));
    bars.rows.push_back(std::move(corrected));
  }
  return bars;
}

BarsModel records_bars(const ProfileStudy& study) {
  const SpanProfile& spans = study.spans;
  BarsModel bars;
  bars.title = "What the records took";
  Duration longest{};
  for (const SpanLevel level : kEverySpanLevel) longest = std::max(longest, spans.added_by(level));
  longest = std::max(longest, spans.passing());
  const ProfileUnit unit = unit_for(longest);
  bars.unit = unit.name;
  bars.parts = {{"records", Ink::Recompute}};
  for (const SpanLevel level : kEverySpanLevel)
    if (spans.counts[static_cast<std::size_t>(level)] > 0)
      bars.rows.push_back({std::string(to_string(level)), {unit.of(spans.added_by(level))}});
  bars.rows.push_back({"being recordable", {unit.of(spans.passing())}});
  bars.first_item = kPanelItems;
  return bars;
}

BarsModel use_bars(const ProfileStudy& study) {
  BarsModel bars;
  bars.title = "How busy the device is";
  bars.unit = "%";
  bars.parts = {{"share", Ink::Forward}};
  if (study.use)
    bars.rows = {{"in kernels", {100 * study.use->busy_share()}},
                 {"by samples", {100 * study.use->sampled_share()}}};
  bars.first_item = 2 * kPanelItems;
  return bars;
}

Hover describe_bar(const BarsModel& bars, std::uint64_t tag, std::vector<std::string> lines) {
  const std::size_t row = tag / 64, part = tag % 64;
  if (row >= bars.rows.size() || part >= bars.rows[row].values.size()) return {};
  return {bars.rows[row].label, bars.parts[part].name,
          fmt::format("{:.4g} {}", bars.rows[row].values[part], bars.unit), std::move(lines)};
}

std::string record_words(const SpanProfile& spans, std::uint64_t row) {
  for (const SpanLevel level : kEverySpanLevel) {
    const auto l = static_cast<std::size_t>(level);
    if (spans.counts[l] == 0 || row-- > 0) continue;
    return fmt::format(
        "{} records of {:.1f} ns", spans.counts[l],
        static_cast<double>(spans.overheads.each[l].value_or(Picoseconds{}).count()) / 1000);
  }
  return fmt::format("{:.1f} ns for each record",
                     static_cast<double>(spans.overheads.passing.count()) / 1000);
}

double excess(Duration time, Duration bare) {
  return bare > Duration{} ? to_seconds(time) / to_seconds(bare) - 1 : 0;
}

}  // namespace

std::string_view profile_level_words(const std::optional<SpanLevel>& level) {
  return level ? to_string(*level) : "outside";
}

void draw_profile(Drawing& drawing, const Rect& area, const ProfileStudy& study, const ViewState&) {
  const float lower = std::min(kLowerPanel, area.height * 0.35F), top = area.height - lower;
  draw_bars(drawing, {area.x, area.y, area.width, top}, times_bars(study));
  const bool uses = study.use.has_value();
  const float left = uses ? area.width / 2 : area.width;
  draw_bars(drawing, {area.x, area.y + top, left, lower}, records_bars(study));
  if (uses)
    draw_bars(drawing, {area.x + left, area.y + top, area.width - left, lower}, use_bars(study));
}

Hover describe_profile(const ProfileStudy& study, Item item) {
  if (item.kind != ItemKind::Other) return {};
  const std::uint64_t panel = item.tag / kPanelItems, tag = item.tag % kPanelItems;
  if (panel == 1)
    return describe_bar(records_bars(study), tag, {record_words(study.spans, tag / 64)});
  if (panel == 2) return describe_bar(use_bars(study), tag, {});
  const BarsModel bars = times_bars(study);
  Hover hover = describe_bar(bars, tag, {});
  const std::size_t row = tag / 64;
  if (row % 2 == 1 && row < bars.rows.size())
    hover.title = bars.rows[row - 1].label + ", corrected";
  return hover;
}

Drawing profile_picture(const ProfileStudy& study) {
  const auto rows = static_cast<float>(times_bars(study).rows.size());
  Drawing drawing(
      {kProfileWidth, std::max(2 * kLowerPanel, kTimesMargin + kTimesRow * rows) + kLowerPanel});
  draw_profile(drawing, whole(drawing.size), study);
  return drawing;
}

DataTable profile_table(const ProfileStudy& study) {
  std::vector<std::vector<DataCell>> rows;
  for (const ProfileRow& row : profile_rows(study.spans))
    rows.push_back({chain_words(row.annotations), std::string(profile_level_words(row.level)),
                    std::string(row.busy ? "yes" : "no"), row.raw.count(), row.corrected.count()});
  return listed_table("Profile",
                      {{"annotation", DataUnit::Words},
                       {"innermost", DataUnit::Words},
                       {"a kernel runs", DataUnit::Words},
                       {"recorded", DataUnit::Time},
                       {"corrected", DataUnit::Time}},
                      std::move(rows));
}

std::vector<std::string> profile_sentences(const ProfileStudy& study) {
  const SpanProfile& spans = study.spans;
  std::vector<std::string> sentences;
  const double added = excess(spans.raw_time(), spans.bare),
               left = excess(spans.corrected_time(), spans.bare);
  sentences.push_back(fmt::format(
      "A run of {} is {:.1f} % {} with records; corrected, its profile is {:.1f} % {} it.",
      readable(spans.bare), 100 * std::abs(added), added >= 0 ? "longer" : "shorter",
      100 * std::abs(left), left >= 0 ? "above" : "below"));
  if (std::abs(left) > kPrecise)
    sentences.push_back(
        "The costs of records are known only roughly: more rounds, or nothing else running here, "
        "would say them better.");
  if (study.use && study.use->inflation())
    sentences.push_back(fmt::format(
        "A kernel runs {} of the time; by samples of {} it seems to be {}, {:.3g} times as much.",
        readable_share(study.use->busy_share()), readable(study.use->window),
        readable_share(study.use->sampled_share()), *study.use->inflation()));
  const std::vector<double>& lengths = study.episode_lengths;
  if (lengths.size() > 1)
    sentences.push_back(fmt::format(
        "Episodes last {:.1f} steps before the first update and {:.1f} before the last.",
        lengths.front(), lengths.back()));
  if (spans.recorded.threads.size() > 1)
    sentences.push_back("Waits of one thread for another are corrected by its own records only.");
  return sentences;
}

}  // namespace trainyard
