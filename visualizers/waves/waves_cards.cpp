// The cards beside the waves: how they are arranged, what they cost in staleness, whether they are
// worth it, and their figures over one period.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/methods/settings/settings.h"
#include "core/result/figures.h"
#include "core/result/stable_rate.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/waves/waves_parts.h"

namespace trainyard {
namespace {

constexpr float kCardLine = 16, kCardMargin = 10, kCardText = 10.5f;

/// Writes cards from top to bottom; what has no room left is not begun.
class Cards {
 public:
  Cards(Drawing& drawing, const Rect& area) : drawing_(drawing), area_(area), y_(area.y) {}

  /// Returns whether a card with that many lines has room, and begins it.
  bool begin(const std::string& title, std::size_t lines) {
    const float height = kSectionBar + kCardLine * static_cast<float>(lines) + kCardMargin;
    if (y_ + height > area_.bottom()) return false;
    draw_section_bar(drawing_, {area_.x, y_, area_.width, kSectionBar}, title);
    y_ += kSectionBar + kCardMargin / 2;
    return true;
  }
  void end() { y_ += kCardMargin / 2; }

  /// One line: a name at the left, and values that end at the given shares of the width.
  void line(const std::string& name, const std::vector<std::string>& values,
            const std::vector<float>& ends, Ink ink = Ink::Text) {
    const float middle = y_ + kCardLine / 2;
    write(drawing_, name, {area_.x + kCardMargin, middle}, kCardText, Weight::Regular, Ink::Text2);
    for (std::size_t i = 0; i < values.size(); ++i)
      write(drawing_, values[i],
            {area_.x + kCardMargin + (area_.width - 2 * kCardMargin) * ends[i], middle}, kCardText,
            Weight::Medium, ink, Align::Right);
    y_ += kCardLine;
  }
  void fact(const std::string& name, const std::string& value) { line(name, {value}, {1}); }
  void words(const std::vector<std::string>& lines) {
    for (const std::string& one : lines) line(one, {}, {});
  }
  /// Words broken into lines of the card's width.
  std::vector<std::string> broken(const std::string& sentence) const {
    std::vector<std::string> lines = {""};
    for (std::size_t from = 0; from < sentence.size();) {
      const std::size_t end = std::min(sentence.find(' ', from), sentence.size());
      const std::string word = sentence.substr(from, end - from);
      const std::string longer = lines.back().empty() ? word : lines.back() + " " + word;
      if (text_width(longer, kCardText, Weight::Regular) <= area_.width - 2 * kCardMargin)
        lines.back() = longer;
      else
        lines.push_back(word);
      from = end + 1;
    }
    return lines;
  }

 private:
  Drawing& drawing_;
  const Rect area_;
  float y_;
};

std::string times(double factor) { return two_digits(factor) + " \u00D7"; }

void draw_arrangement(Cards& cards, const WavesModel& model, const DeviceWaves& waves) {
  const Plan& plan = model.experiment->workload.scenario.plan;
  const std::optional<double> own = own_offset(model, waves);
  if (!cards.begin("Waves", 4)) return;
  cards.fact("Waves", std::to_string(model.waves));
  cards.fact("Offset",
             own ? two_digits(*own) + " T, " + format_step_time(offset_time(model, waves, *own))
                 : "like phases exclude each other");
  const std::string sync = setting(plan, "tick-tock.sync");
  cards.fact("Gradients", sync == "accumulate" ? "added up, one update a step"
                          : sync == "async"    ? "an update for each wave"
                                               : "of each wave's own weights");
  cards.fact("Weights", sync == "accumulate" ? "one version"
                        : sync == "async"    ? fmt::format("{} older kept", model.waves - 1)
                                             : "one set for each wave");
  cards.end();
}

void draw_staleness(Cards& cards, const WavesModel& model) {
  const std::optional<Asynchrony>& stale = model.experiment->result.asynchrony;
  const double delay = stale ? stale->mean_delay : 0;
  if (!cards.begin("Staleness", 3)) return;
  cards.fact("Gradients are old by", fmt::format("{:.3g} update{}", delay, delay == 1 ? "" : "s"));
  cards.fact("Largest stable rate", times(stable_rate_share(delay)) + " of synchronous");
  cards.fact("Tokens to the same loss", stale ? two_digits(stale->token_overhead.low) + " to " +
                                                    times(stale->token_overhead.high)
                                              : times(1));
  cards.end();
}

void draw_worth(Cards& cards, const WavesModel& model) {
  if (!model.worth) return;
  const Result& own = model.experiment->result;
  const double base = model.alternatives.front().rate;
  const std::vector<float> ends = {0.7f, 1};
  const auto against = [&](double rate) { return base > 0 ? times(rate / base) : "\u2013"; };
  const WavesWorth& worth = *model.worth;
  const std::vector<std::string> first = cards.broken(worth.limit),
                                 second = cards.broken(worth.verdict);
  if (!cards.begin("Is it worth it?", model.alternatives.size() + 2 + first.size() + second.size()))
    return;
  cards.line("", {"throughput", "peak"}, ends, Ink::Text3);
  cards.line(fmt::format("{} waves", model.waves),
             {against(rate(own).value), format_bytes(worst_peak(own))}, ends);
  for (const WaveAlternative& other : model.alternatives)
    cards.line(other.name,
               other.refused.empty()
                   ? std::vector<std::string>{against(other.rate), format_bytes(other.peak)}
                   : std::vector<std::string>{"\u2013", "no such plan"},
               ends, other.fits || !other.refused.empty() ? Ink::Text : Ink::Error);
  cards.words(second);
  cards.words(first);
  cards.end();
}

void draw_period(Cards& cards, const WavesModel& model, const DeviceWaves& waves) {
  const std::vector<PeriodFigures>& figures = waves.period;
  const std::vector<float> ends = {0.52f, 0.8f, 1};
  const std::int64_t capacity = capacity_of(model), one = peak_of(waves.cycle);
  if (!cards.begin("One period of " + format_step_time(waves.cycle.period), figures.size() + 1))
    return;
  cards.line("", {"peak", "mean/peak", "in A"}, ends, Ink::Text3);
  for (const PeriodFigures& each : figures) {
    const bool whole = &each - figures.data() >= model.waves;  // with the model state
    const double held = static_cast<double>(each.peak - (whole ? waves.state : 0));
    cards.line(each.name,
               {format_bytes({each.peak}), format_percent(each.mean_share()),
                one > 0 ? two_digits(held / static_cast<double>(one)) : "\u2013"},
               ends, each.peak > capacity ? Ink::Error : Ink::Text);
  }
  cards.end();
}

}  // namespace

void draw_wave_cards(Drawing& drawing, const Rect& area, const WavesModel& model,
                     const DeviceWaves& waves) {
  const ClipScope clip(drawing, area);
  Cards cards(drawing, area);
  draw_arrangement(cards, model, waves);
  draw_staleness(cards, model);
  draw_worth(cards, model);
  draw_period(cards, model, waves);
}

}  // namespace trainyard
