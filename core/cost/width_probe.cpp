#include "core/cost/width_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace trainyard {
namespace {

std::string percent_more(double ratio) { return fmt::format("{:.1f} %", 100 * (ratio - 1)); }

std::string percent_range(const Banded<double>& ratio) {
  return fmt::format("{:.1f} to {:.1f} %", 100 * (ratio.low - 1), 100 * (ratio.high - 1));
}

// Adds a sentence for each of the list, the first of `better` first, and says how many more there
// are.
void add_sentences(std::vector<std::string>& all, std::vector<WidthRatio> list, std::size_t most,
                   const std::function<bool(const WidthRatio&, const WidthRatio&)>& better,
                   const char* what, const std::function<std::string(const WidthRatio&)>& words) {
  std::stable_sort(list.begin(), list.end(), better);
  for (std::size_t i = 0; i < std::min(most, list.size()); ++i) all.push_back(words(list[i]));
  if (list.size() > most)
    all.push_back(fmt::format("Further {} in the table: {}.", what, list.size() - most));
}

std::string steps_sentence(const WidthProbe& probe) {
  const auto up = std::count_if(probe.stairs.steps.begin(), probe.stairs.steps.end(),
                                [&](std::size_t s) { return probe.stairs.jumps[s].up; });
  const std::string confidence = fmt::format("{:.0f} %", 100 * probe.rule.confidence);
  if (up == 0)
    return fmt::format(
        "No step up was found: with {} confidence no width takes more than {} longer than its "
        "narrower neighbour beyond what the roofline says.",
        confidence, percent_more(1 + largest_unseen_step(probe)));
  const std::int64_t tread = common_tread(probe.widths, probe.stairs);
  return fmt::format("{} step{} up among {} widths with {} confidence{}.", up, up == 1 ? "" : "s",
                     probe.widths.size(), confidence,
                     tread > 1 ? fmt::format(", all past multiples of {}", tread) : "");
}

}  // namespace

std::string probed_words(const WidthProbe& probe) {
  std::string words = probe.op + " " + probe.pass;
  for (std::size_t i = 0; i < probe.sizes.size(); ++i)
    words +=
        fmt::format("{} {}={}", i == 0 ? "," : "", probe.sizes[i].first, probe.sizes[i].second);
  return words;
}

double largest_unseen_step(const WidthProbe& probe) {
  double most = 0;
  for (const StairStep& jump : probe.stairs.jumps)
    most = std::max(most, jump.jump.ratio.high / jump.roofline - 1);
  return most;
}

std::vector<std::string> probe_sentences(const WidthProbe& probe, std::size_t most) {
  std::vector<std::string> all{steps_sentence(probe)};
  const auto width = [&](std::size_t at) { return probe.widths[at].width; };
  std::vector<WidthRatio> past_steps;
  for (const WidthRatio& dear : probe.stairs.dear)
    if (dear.from < dear.to) past_steps.push_back(dear);
  // A wider one that is quicker than a width past a step is the other way out.
  const auto wider = [&](std::size_t at) {
    for (const WidthRatio& dear : probe.stairs.dear)
      if (dear.to == at && dear.from > at)
        return fmt::format(", and the wider {} saves {:.1f} %", width(dear.from),
                           100 * (1 - 1 / dear.ratio.value));
    return std::string();
  };
  const auto dearer = [](const WidthRatio& a, const WidthRatio& b) {
    return a.ratio.value > b.ratio.value;
  };
  add_sentences(all, past_steps, most, dearer, "steps", [&](const WidthRatio& r) {
    return fmt::format("{}={} instead of {} costs {} more ({}); {} saves {:.1f} %{}.", probe.varied,
                       width(r.to), width(r.from), percent_more(r.ratio.value),
                       percent_range(r.ratio), width(r.from), 100 * (1 - 1 / r.ratio.value),
                       wider(r.to));
  });
  add_sentences(
      all, probe.stairs.free, most,
      [&](const WidthRatio& a, const WidthRatio& b) {
        return width(a.to) - width(a.from) > width(b.to) - width(b.from);
      },
      "free paddings",
      [&](const WidthRatio& r) {
        const std::string padding = fmt::format("Padding {}={} to {} costs nothing", probe.varied,
                                                width(r.from), width(r.to));
        return r.ratio.value <= 1 - probe.rule.least
                   ? fmt::format("{} and saves {:.1f} %.", padding, 100 * (1 - r.ratio.value))
                   : fmt::format("{} ({:.1f} % at most).", padding,
                                 100 * std::max(0.0, r.ratio.high - 1));
      });
  return all;
}

}  // namespace trainyard
