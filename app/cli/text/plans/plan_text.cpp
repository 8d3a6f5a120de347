#include "app/cli/text/plans/plan_text.h"
#include "app/cli/text/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/units_text.h"
#include "core/result/figures.h"
#include "planners/plans/exact_price.h"

namespace trainyard {
namespace {

// "1,234,567"
std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string plural(std::uint64_t n, std::string_view word) {
  return fmt::format("{} {}{}", grouped(n), word, n == 1 ? "" : "s");
}

void write_headline(std::string& out, const PlanAnswer& a) {
  const SearchResult& found = a.found;
  const Scenario& base = a.space.base();
  line(out, "{} on {}: a global batch of {}{}", base.model.name, base.cluster.name,
       base.plan.batch.global,
       base.plan.batch.sequence > 1
           ? fmt::format(", sequences of {} tokens", base.plan.batch.sequence)
           : "");
  std::string rate;
  if (found.seconds > 0)
    rate = fmt::format(" in {} ({} a second of pricing; {}, {})", readable(seconds(a.seconds)),
                       readable_count(static_cast<double>(found.tried) / found.seconds),
                       plural(static_cast<std::uint64_t>(a.threads), "thread"),
                       plural(static_cast<std::uint64_t>(a.ranks), "rank"));
  line(out, "tried {}{}", plural(found.tried, "plan"), rate);
  line(out, "{} fit, {} estimated exactly, {} simulated{}", grouped(found.fitting),
       grouped(found.estimated), grouped(found.simulated),
       found.stopped ? "; STOPPED before all were tried: what follows is what was found so far"
                     : "");
}

// Splits the words of plans into those that differ and those that all share.
struct SharedWords {
  std::vector<std::string> own;  // by plan
  std::string shared;
};

SharedWords shared_words(const PlanSpace& space, const std::vector<Candidate>& plans) {
  SharedWords words;
  words.own.resize(plans.size());
  for (std::size_t k = 0; k < space.knobs().size(); ++k) {
    const Knob& knob = space.knobs()[k];
    if (knob.values.size() < 2) continue;
    const bool same = std::all_of(plans.begin(), plans.end(), [&](const Candidate& c) {
      return space.digit(c.id, k) == space.digit(plans.front().id, k);
    });
    const auto add = [&](std::string& text, const Candidate& c) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", knob.key, space.value(c.id, k));
    };
    if (same && plans.size() > 1) {
      if (speaks(space, plans.front().id, k)) add(words.shared, plans.front());
      continue;
    }
    for (std::size_t i = 0; i < plans.size(); ++i)
      if (speaks(space, plans[i].id, k)) add(words.own[i], plans[i]);
  }
  return words;
}

std::string rate_of(const Result& r) {
  const double s = to_seconds(r.step.value);
  if (s <= 0) return "";
  return r.counts_tokens ? fmt::format("{:.0f}", r.tokens_per_step / s)
                         : fmt::format("{:.1f}", r.samples_per_step / s);
}

// The cost of 1e9 tokens if the model counts tokens, else of a step.
std::string money_of(const Result& r) {
  if (!r.money) return "-";
  const double each = r.counts_tokens && r.tokens_per_step > 0 ? 1e9 / r.tokens_per_step : 1;
  const double dollars = r.money->value * each;
  return dollars < 999.5 ? fmt::format("{:.3g}", dollars)
                         : grouped(static_cast<std::uint64_t>(dollars + 0.5));
}

void write_table(std::string& out, const PlanAnswer& a, const std::vector<Candidate>& plans,
                 const std::vector<Result>& results, std::size_t shown) {
  const bool tokens = !results.empty() && results.front().counts_tokens;
  line(out, "  {:>3} {:>9} {:>21} {:>10} {:>6} {:>10} {:>10} {:>9}  {}", "#", "step", "band",
       tokens ? "tokens/s" : "samples/s", "MFU", "memory", "spare", tokens ? "$/1e9 tok" : "$/step",
       "plan");
  const SharedWords words = shared_words(a.space, plans);
  for (std::size_t i = 0; i < std::min(shown, results.size()); ++i) {
    const Result& r = results[i];
    line(out, "  {:>3} {:>9} {:>21} {:>10} {:>6} {:>10} {:>10} {:>9}  {}", i + 1,
         readable_step(r.step.value),
         fmt::format("{} to {}", readable(r.step.low), readable(r.step.high)), rate_of(r),
         readable_share(r.mfu), readable(reserved(r)), readable(r.capacity - reserved(r)),
         money_of(r), words.own[i]);
  }
  if (results.size() > shown) line(out, "  and {} more (--json has them)", results.size() - shown);
  if (!words.shared.empty()) line(out, "  all have {}", words.shared);
}

std::string time_text(std::int64_t ns) {
  return (ns < 0 ? "-" : "") + readable_step(Duration{std::abs(ns)});
}
std::string bytes_text(std::int64_t bytes) {
  return (bytes < 0 ? "-" : "") + readable(Bytes{std::abs(bytes)});
}

void write_fall(std::string& out, const Waterfall& fall, std::string_view title,
                std::string_view mine, std::string_view theirs,
                std::string (*words)(std::int64_t)) {
  line(out, "  {:<24} {:>12} {:>12} {:>12} {:>9}", title, mine, theirs, "difference",
       fmt::format("of {}", mine));
  const double whole = static_cast<double>(std::max<std::int64_t>(1, fall.mine));
  const auto row = [&](std::string_view name, std::int64_t a, std::int64_t b) {
    line(out, "    {:<22} {:>12} {:>12} {:>12} {:>7.1f} %", name, words(a), words(b),
         (b > a ? "+" : "") + words(b - a), 100 * static_cast<double>(b - a) / whole);
  };
  for (const CausePart& part : fall.parts) row(part.name, part.mine, part.theirs);
  row("together", fall.mine, fall.theirs);
}

// Says what would have to change for the second plan to come first.
void write_turn(std::string& out, const Waterfall& fall, std::string (*words)(std::int64_t)) {
  const std::int64_t behind = fall.theirs - fall.mine;
  const auto most = std::max_element(
      fall.parts.begin(), fall.parts.end(),
      [](const CausePart& a, const CausePart& b) { return a.difference() < b.difference(); });
  if (behind <= 0 || most == fall.parts.end() || most->difference() <= 0) return;
  if (most->theirs >= behind)
    line(out, "  #2 would win if its {}, {}, were {} less ({:.1f} % of it)", most->name,
         words(most->theirs), words(behind),
         100 * static_cast<double>(behind) / static_cast<double>(most->theirs));
  else
    line(out, "  #2 would need {} less; even without any {} ({}) it would not win", words(behind),
         most->name, words(most->theirs));
}

// If the band of the peak exceeds the device's memory, suggests what to ask for instead.
void write_spare(std::string& out, const PlanAnswer& a) {
  const StageMemory* most = fullest(a.best.front());
  if (a.best.front().verdict.word != FitWord::MayNotFit || most == nullptr) return;
  const Bytes band = most->peak.high - most->peak.value;
  line(out, "   --spare {}GiB finds plans that fit at the upper end of that band",
       (band.value + (1_GiB).value - 1) / (1_GiB).value);
}

void write_winner(std::string& out, const PlanAnswer& a) {
  const std::string words = telling_words(a.space, a.found.best.front().id);
  line(out, "\n#1 {}", words.empty() ? "is the only plan of the space" : words);
  line(out, "   {}", a.best.front().verdict.sentence);
  write_spare(out, a);
  if (a.best.size() < 2) return;
  const PlanId first = a.found.best[0].id, second = a.found.best[1].id;
  line(out, "\nwhy #1 beats #2, which has {}", words_beside(a.space, second, first));
  if (a.options.objective == PlanObjective::Memory) {
    const Waterfall fall = bytes_by_cause(a.best[0], a.best[1]);
    write_fall(out, fall, "memory by cause", "#1", "#2", bytes_text);
    write_turn(out, fall, bytes_text);
    return;
  }
  const Waterfall fall = time_by_cause(a.best[0], a.best[1]);
  write_fall(out, fall, "critical device's step", "#1", "#2", time_text);
  if (a.found.best[0].devices == a.found.best[1].devices) write_turn(out, fall, time_text);
}

void write_refined(std::string& out, const PlanAnswer& a) {
  if (a.refined.empty()) return;
  const Duration best = a.found.best.front().time();
  line(
      out,
      "\nbeyond the grid: recomputation mixed by layer, layers split by cost, waves of one device");
  line(out, "  {:>3} {:>9} {:>8} {:>10}  {}", "#", "step", "than #1", "memory", "plan");
  for (std::size_t i = 0; i < a.refined.size(); ++i) {
    const RefinedPlan& r = a.refined[i];
    line(out, "  {:>3} {:>9} {:>+6.1f} % {:>10}  {}", i + 1, readable_step(r.time()),
         100 * (to_seconds(r.time()) / to_seconds(best) - 1), readable(r.memory),
         telling_words(a.space, r.from));
    for (const std::string& change : r.changes) line(out, "{:>38}{}", "", change);
  }
}

void write_fates(std::string& out, const PlanAnswer& a) {
  if (a.found.tried == 0) return;
  line(out, "\nwhat became of {}, each with one plan as an example",
       a.found.tried == 1 ? "the one plan" : "all " + plural(a.found.tried, "plan"));
  const bool winner = !a.found.best.empty();
  for (const FateSample& sample : a.fates) {
    std::string words = winner ? words_beside(a.space, sample.id, a.found.best.front().id)
                               : telling_words(a.space, sample.id);
    if (!words.empty()) words += ": ";
    line(
        out, "  {:<9} {:>11}  {}{}", to_string(sample.fate), grouped(sample.count), words,
        sample.fate == Fate::Untried ? "the search was stopped before it" : sample.reason.sentence);
  }
}

void write_none(std::string& out, const PlanAnswer& a) {
  const NoPlan& none = *a.none;
  if (a.found.stopped) line(out, "\nNothing that fits was found before the search was stopped.");
  if (!none.least) {
    if (a.found.stopped) return;
    if (a.found.tried == 0) {
      line(out, "\nNo plan: the knobs allow no combination that makes up {}.",
           plural(static_cast<std::uint64_t>(a.space.base().cluster.count), "device"));
      return;
    }
    line(out, "\nNo plan is legal; most often: {}{}", none.reason.sentence,
         none.reason.field.empty() ? "" : " (" + none.reason.field + ")");
    if (!none.reason.fix.empty()) line(out, "try {}", none.reason.fix);
    return;
  }
  line(out, "\n{} The one that needs least is {} over:",
       a.found.stopped ? "Of what was tried:" : "No plan fits.", readable(none.over));
  line(out, "  {}", telling_words(a.space, *none.least));
  line(out, "  {}", none.reason.sentence);
  if (none.openings.empty()) {
    line(out, "no knob that could be opened frees memory: it takes a smaller model or batch");
    return;
  }
  line(out, "\n{}",
       none.openings.front().fits ? "what could be opened for it to fit, the quickest first"
                                  : "nothing that could be opened makes it fit; these free most");
  for (const Opening& o : none.openings)
    line(out, "  {:<28} {:<26} {} {}, {} a step", o.flag, o.words,
         readable(o.fits ? o.margin : -o.margin), o.fits ? "spare" : "over", readable_step(o.step));
}

// Says how many of the list, from the first on, were ranked by simulation.
std::string by_simulation(const SearchResult& found) {
  const auto count = std::count_if(found.best.begin(), found.best.end(),
                                   [](const Candidate& c) { return c.simulated > Duration{}; });
  if (count == 0) return ", by the closed form";
  if (count == static_cast<std::ptrdiff_t>(found.best.size())) return ", simulated";
  return fmt::format(", the first {} simulated, the others by the closed form", count);
}

}  // namespace

std::string search_text(const PlanAnswer& a) {
  constexpr std::size_t kFrontShown = 20;
  std::string out;
  write_headline(out, a);
  if (a.none) write_none(out, a);
  if (!a.best.empty()) {
    line(out, "\nbest by {}{}", to_string(a.options.objective), by_simulation(a.found));
    write_table(out, a, a.found.best, a.best, a.best.size());
    line(out, "\nfront of {}, by the closed form: no plan is better in all",
         a.space.knobs()[a.space.knob("devices")].values.size() > 1 ? "time, memory and money"
                                                                    : "time and memory");
    write_table(out, a, a.found.front, a.front, kFrontShown);
    write_winner(out, a);
  }
  write_refined(out, a);
  write_fates(out, a);
  return out;
}

std::string why_text(const PlanAnswer& a) {
  const WhyPlan& why = *a.why;
  std::string out;
  write_headline(out, a);
  out += '\n';
  if (why.id && why.matches > 1)
    line(out, "of {} with these words the one that does best", plural(why.matches, "plan"));
  if (!why.outside.empty()) line(out, "outside the space: {}", why.outside);
  line(out, "plan     {}",
       why.id ? telling_words(a.space, *why.id) : fmt::format("{}", fmt::join(why.words, " ")));
  const bool outside_fits = !why.id && why.reason.fate == Fate::Untried;
  line(out, "fate     {}", outside_fits ? "not in the space" : to_string(why.reason.fate));
  line(out, "reason   {}", why.reason.sentence);
  if (!why.reason.field.empty()) line(out, "field    {}", why.reason.field);
  if (!why.reason.fix.empty()) line(out, "try      {}", why.reason.fix);
  if (why.nearest)
    line(out, "nearest  {}",
         why.change.empty() ? "the best: " + telling_words(a.space, *why.nearest)
                            : "of the plans that win, the one with " + why.change);
  if (why.mine && why.best && why.reason.fate != Fate::Best) {
    out += '\n';
    write_fall(out, time_by_cause(*why.best, *why.mine), "critical device's step", "best", "this",
               time_text);
    out += '\n';
    write_fall(out, bytes_by_cause(*why.best, *why.mine), "fullest device's memory", "best", "this",
               bytes_text);
  }
  return out;
}

}  // namespace trainyard
