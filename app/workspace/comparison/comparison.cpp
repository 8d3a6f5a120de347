#include "app/workspace/comparison/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "app/workspace/comparison/judged_runs.h"
#include "app/workspace/runs/run_recording.h"
#include "app/workspace/runs/run_store.h"
#include "app/workspace/scenario/published.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/error.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/result_json.h"
#include "core/io/json/quantity.h"
#include "core/io/json/schema.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr std::string_view kRun = "run:", kRunsFound = "runs:";
constexpr double kNothing = 1e-12;  // seconds, or a share, too small to tell from 0

// Their sum must be in the range too, because the totals are computed like the parts.
ComparedParts parts_of(const JsonCursor& object, const QuantityRange& kind) {
  ComparedParts parts;
  for (const std::string& key : object.keys())
    parts.list.push_back({key, quantity(object.at(key), kind)});
  if (parts.sum() > kind.high)
    object.refuse(fmt::format("expected {} that sum to at most {:g}, found {:g}", kind.what,
                              kind.high, parts.sum()));
  return parts;
}

ComparedParts worst_device(const JsonCursor& memory) {
  ComparedParts worst;
  for (const JsonCursor& stage : memory.at("stages").items()) {
    ComparedParts here = parts_of(stage.at("categories"), kByteCount);
    if (here.sum() > worst.sum() || worst.list.empty()) worst = std::move(here);
  }
  return worst;
}

std::optional<double> highest_peak(const JsonCursor& memory) {
  std::optional<double> most;
  for (const JsonCursor& stage : memory.at("stages").items())
    if (stage.has("peak_bytes"))
      most = std::max(most.value_or(0), quantity(stage.at("peak_bytes"), kByteCount));
  return most;
}

std::optional<double> number_at(const JsonCursor& object, std::string_view key,
                                const QuantityRange& kind) {
  if (!object.has(key)) return std::nullopt;
  const JsonCursor found = object.at(key);
  return quantity(found.value().as_object() ? found.at("value") : found, kind);
}

// A phrase for a change as a share of A.
std::string less_or_more(double change, double of) {
  return format_percent(std::abs(change) / std::max(of, kNothing)) +
         (change < 0 ? " less" : " more");
}

std::string signed_figure(FigureUnit unit, double change) {
  if (unit == FigureUnit::Share) return format_signed(100 * change, 1) + " pp";
  const std::string text = figure_text(unit, change);
  return change > 0 ? "+" + text : text;
}

// A name from a document in readable form.
std::string spoken(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// Uses whole nanoseconds or bytes, so that the bars sum exactly to the difference of the totals.
WaterfallModel waterfall_of(const char* title, WaterfallUnit unit, const ComparedResult& a,
                            const ComparedResult& b) {
  const bool time = unit == WaterfallUnit::Time;
  const ComparedParts &mine = time ? a.seconds : a.bytes, &theirs = time ? b.seconds : b.bytes;
  WaterfallModel model{unit, title, "A", "B", {}};
  const double size = time ? 1e9 : 1;
  for (const std::string& name : part_names(mine, theirs))
    model.parts.push_back({spoken(name), "", std::llround(mine.of(name) * size),
                           std::llround(theirs.of(name) * size)});
  return model;
}

std::vector<ComparedFigure> figures_of(const ComparedResult& a, const ComparedResult& b) {
  const char* rate = a.counts_tokens ? "Tokens/s per device" : "Samples/s per device";
  const bool alike = a.counts_tokens == b.counts_tokens;
  std::vector<ComparedFigure> all = {
      {"step", "Step time", FigureUnit::Seconds, true, a.step, b.step},
      {"mfu", "MFU", FigureUnit::Share, false, a.mfu, b.mfu},
      {"bubble", "Bubble", FigureUnit::Share, true, a.bubble, b.bubble},
      {"exposed_communication", "Exposed comm", FigureUnit::Share, true, a.exposed, b.exposed},
      {"peak", "Peak memory", FigureUnit::Memory, true, a.peak, b.peak},
      {"rate", rate, FigureUnit::PerSecond, false, alike ? a.rate : std::nullopt,
       alike ? b.rate : std::nullopt},
      {"energy", "Energy of a step", FigureUnit::Energy, true, a.energy, b.energy},
      {"money", "Cost of a step", FigureUnit::Dollars, true, a.money, b.money},
      {"carbon", "CO2 equivalents of a step", FigureUnit::Kilograms, true, a.carbon, b.carbon}};
  all.erase(
      std::remove_if(all.begin(), all.end(), [](const ComparedFigure& f) { return !f.a && !f.b; }),
      all.end());
  return all;
}

// The verdict's word, with the margin unless it simply fits. A measured result has no verdict; its
// peak decides.
std::string fit_words(const JsonCursor& root, const ComparedResult& side, bool measured) {
  std::string word;
  std::optional<double> margin;
  if (!measured && root.has("verdict")) {
    const JsonCursor verdict = root.at("verdict");
    margin = number_at(verdict, "margin_bytes", kMargin);
    if (verdict.has("word")) word = verdict.at("word").text();
  } else if (side.peak && side.capacity) {
    margin = *side.capacity - *side.peak;
  }
  if (!margin) return word;
  const FitWord by_margin = *margin >= 0 ? FitWord::Fits : FitWord::DoesNotFit;
  if (word.empty()) word = to_string(by_margin);
  if (word == to_string(FitWord::Fits)) return word;
  return word + ", " + format_bytes(Bytes{std::llround(std::abs(*margin))}) +
         (*margin >= 0 ? " spare" : " over");
}

std::string headline_of(const ComparedResult& a, const ComparedResult& b) {
  if (!a.step || !b.step) return "No step time is known of both.";
  const double change = *b.step - *a.step;
  const bool same = std::abs(change) <= 1e-9;
  std::string text = same ? "Both take " + figure_text(FigureUnit::Seconds, *a.step)
                          : "B takes " + less_or_more(change, *a.step) + " time";
  if (!b.fit.empty()) text += same ? "; B " + b.fit : " and " + b.fit;
  return text;
}

// Names the causes of the difference, and the largest cause that acts against it.
void explain_time(const WaterfallModel& time, std::vector<std::string>& reasons) {
  const std::int64_t whole = time.b() - time.a();
  if (whole == 0) return;
  const char* quicker = whole < 0 ? "B" : "A";
  const WaterfallPart* against = nullptr;
  int told = 0;
  for (const WaterfallPart& part : time.parts) {
    const bool with = (part.change() < 0) == (whole < 0);
    if (part.change() == 0) continue;
    if (!with && against == nullptr) against = &part;
    const double share = static_cast<double>(part.change()) / static_cast<double>(whole);
    if (!with || told == 2 || share < 0.05) continue;
    // Opposing causes can make one cause larger than the whole difference.
    const std::string of = share > 1 ? "more than the whole" : format_percent(share) + " of the";
    reasons.push_back(fmt::format("{} wins by {}: {} in A, {} in B, {} difference.", quicker,
                                  part.name, format_step_time(Duration{part.a}),
                                  format_step_time(Duration{part.b}), of));
    ++told;
  }
  if (against != nullptr && std::abs(against->change()) * 20 >= std::abs(whole))
    reasons.push_back(fmt::format("{} partly offsets this: {} in A, {} in B.", against->name,
                                  format_step_time(Duration{against->a}),
                                  format_step_time(Duration{against->b})));
}

void explain_memory(const ResultComparison& c, std::vector<std::string>& reasons) {
  if (!c.a.peak || !c.b.peak) return;
  const auto a = Bytes{std::llround(*c.a.peak)}, b = Bytes{std::llround(*c.b.peak)};
  if (a == b) {
    reasons.push_back("The fullest device holds " + format_bytes(a) + " in both.");
    return;
  }
  std::string text = fmt::format("The fullest device of B holds {} {}: {} in A, {} in B",
                                 format_bytes(b > a ? b - a : a - b), b > a ? "more" : "less",
                                 format_bytes(a), format_bytes(b));
  if (!c.memory.parts.empty() && c.memory.parts.front().change() != 0)
    text += ", most of it " + c.memory.parts.front().name;
  reasons.push_back(text + ".");
}

void explain_fields(const std::optional<Difference>& fields, std::vector<std::string>& reasons) {
  if (!fields || fields->fields.empty()) return;
  std::string list;
  for (const FieldDifference& f : fields->fields)
    list += (list.empty() ? "" : "; ") + f.field + " " + (f.mine.empty() ? "\u2013" : f.mine) +
            " to " + (f.theirs.empty() ? "\u2013" : f.theirs);
  reasons.push_back("What differs: " + list + ".");
}

/// Returns whether one side's steps are shorter by more than chance. Predictions have none.
bool steps_differ(const ResultComparison& c) {
  for (const JudgedFigure& figure : c.judged)
    if (figure.key == "step")
      return figure.verdict.outcome == RunsVerdict::Better ||
             figure.verdict.outcome == RunsVerdict::NotMeaningful;
  return c.judged.empty();
}

/// Figures that a plan has in every run of it, so that chance has no part in them.
bool is_of_the_plan(const ComparedFigure& figure) { return figure.unit == FigureUnit::Memory; }

}  // namespace

double ComparedParts::sum() const {
  double all = 0;
  for (const auto& part : list) all += part.second;
  return all;
}

double ComparedParts::of(const std::string& name) const {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& part) { return part.first == name; });
  return found == list.end() ? 0 : found->second;
}

std::vector<std::string> part_names(const ComparedParts& a, const ComparedParts& b) {
  std::vector<std::string> names;
  for (const ComparedParts* parts : {&a, &b})
    for (const auto& [name, value] : parts->list)
      if ((a.of(name) != 0 || b.of(name) != 0) &&
          std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  std::stable_sort(names.begin(), names.end(), [&](const std::string& x, const std::string& y) {
    return std::abs(b.of(x) - a.of(x)) > std::abs(b.of(y) - a.of(y));
  });
  return names;
}

namespace {

ComparedResult side_of(const JsonCursor& root, const std::string& path,
                       const QuantityRange& share) {
  const bool run = has_schema(root.value(), "trainyard/run");
  const JsonCursor about = run ? root.at("predicted") : root;
  ComparedResult side;
  side.title = path;
  side.name =
      fmt::format("{} {} on {}", run ? "run of" : about.at("fidelity").text() + " of",
                  about.at("model").at("name").text(), about.at("cluster").at("name").text());
  if (!root.has("breakdown_seconds"))
    root.refuse(
        "expected a key \"breakdown_seconds\", which an estimate does not have; simulate "
        "writes one");
  side.seconds = parts_of(root.at("breakdown_seconds"), kSeconds);
  side.bytes = worst_device(root.at("memory"));
  side.step = number_at(root, "step_seconds", kSeconds);
  side.mfu = number_at(root, "mfu", share);
  side.bubble = number_at(root, "bubble_fraction", share);
  side.exposed = number_at(root, "exposed_communication_fraction", share);
  side.energy = number_at(root, "energy_joules", kAmount);
  side.money = number_at(root, "money", kAmount);
  if (const auto site = root.find("site")) side.carbon = number_at(*site, "carbon_kg", kAmount);
  side.peak = highest_peak(root.at("memory"));
  side.capacity = number_at(root.at("memory"), "capacity_bytes", kByteCount);
  side.fit = fit_words(root, side, run);
  side.counts_tokens = about.has("tokens_per_second_per_device");
  const std::int64_t devices = about.at("cluster").at("devices").integer(1);
  if (run)
    side.rate = number_at(root, "samples_per_second", kAmount), side.counts_tokens = false;
  else
    side.rate =
        number_at(root, side.counts_tokens ? "tokens_per_second" : "samples_per_second", kAmount);
  if (side.rate) *side.rate /= static_cast<double>(devices);
  return side;
}

}  // namespace

ComparedResult compared_document(const Json& raw, const std::string& path) {
  const bool run = has_schema(raw, "trainyard/run");
  const Json json = upgraded(raw, schema(run ? "trainyard/run" : "trainyard/result"), path);
  return side_of(JsonCursor(json, path), path, kShare);
}

ComparedResult compared(ExperimentPtr experiment, std::string title) {
  // What was measured here may do more than the peak that its device states.
  const Json json = to_json(experiment->result);
  ComparedResult side = side_of(JsonCursor(json, title), title, kAmount);
  side.title = std::move(title);
  side.experiment = std::move(experiment);
  return side;
}

ComparedResult compared_plan(Scenario scenario, std::string title, std::stop_token stop,
                             const CostModel* cost) {
  throw_if_errors(check(scenario));
  const Grain grain = natural_grain(scenario);
  ComparedResult side = compared(
      simulate(scenario, {.grain = grain, .fixes = false, .cost = cost, .stop = std::move(stop)}),
      title);
  side.name += " with " + std::move(title);
  side.scenario = std::move(scenario);
  return side;
}

bool names_runs(std::string_view word) {
  return word.starts_with(kRun) || word.starts_with(kRunsFound);
}

std::vector<std::int64_t> runs_named(std::string_view word, const RunStore& store) {
  constexpr std::size_t kMost = 10'000;
  const auto refuse = [&](const std::string& expected) {
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected {}, found \"{}\"", expected, word.substr(0, 80)),
                {"compare"});
  };
  const bool found = word.starts_with(kRunsFound);
  std::int64_t first = 1, last = INT64_MAX;
  if (!found) {
    const std::string_view text = word.substr(kRun.size());
    const char* const end = text.data() + text.size();
    auto read = std::from_chars(text.data(), end, first);
    last = first;
    if (read.ec == std::errc() && std::string_view(read.ptr, end).starts_with(".."))
      read = std::from_chars(read.ptr + 2, end, last);
    if (read.ec != std::errc() || read.ptr != end || first < 1 || last < first)
      refuse("the number of a run, as run:7, or a range of them, as run:7..35");
    if (first == last) return {first};
  }
  std::vector<std::int64_t> ids;
  for (const RunEntry& entry : store.list(found ? word.substr(kRunsFound.size()) : ""))
    if (entry.id >= first && entry.id <= last) ids.push_back(entry.id);
  if (ids.empty()) refuse("words by which \"trainyard runs\" finds a run, or a range with one");
  if (ids.size() > kMost)
    refuse(fmt::format("at most {} runs on a side, which these {} are not", kMost, ids.size()));
  std::sort(ids.begin(), ids.end());
  return ids;
}

ComparedResult compared_runs(std::string_view word, const RunStore& store) {
  const std::vector<std::int64_t> ids = runs_named(word, store);
  std::vector<RunScore> scores;
  for (const std::int64_t id : ids) scores.push_back(score_of(store.get(id)));
  std::vector<std::pair<double, std::int64_t>> by_step;
  for (const RunScore& score : scores) by_step.push_back({score.step.value_or(0), score.id});
  std::sort(by_step.begin(), by_step.end());
  const std::int64_t median = by_step[(by_step.size() - 1) / 2].second;
  const bool one = ids.size() == 1;
  std::string title = one ? fmt::format("run {}", median) : fmt::format("{} runs", ids.size());
  ComparedResult side = compared(open_run(store.get(median)).measured, title);
  side.name +=
      one ? ", " + title
          : fmt::format(", {} of {}; time and memory are run {}'s, whose step is the median", title,
                        word, median);
  side.runs = std::move(scores);
  return side;
}

ComparedResult open_compared(const std::string& word, const Request& base) {
  if (published_id(word)) {
    ComparedResult side = compared_plan(open({word, word, word, {}}), word);
    const std::string said = " with " + word;
    side.name.replace(side.name.size() - said.size(), said.size(), ", " + word);
    return side;
  }
  if (names_runs(word)) return compared_runs(word, RunStore(run_store_path()));
  if (word.find('=') == std::string::npos)
    return compared_document(parse_json(read_file(word), word), word);
  refuse_repeated_keys(std::span(&word, 1), {"compare"});
  Scenario scenario = open(base);
  apply_words(scenario.plan, word, {"compare"});
  return compared_plan(std::move(scenario), word);
}

std::string figure_text(FigureUnit unit, std::optional<double> value) {
  if (!value) return "\u2013";
  switch (unit) {
    case FigureUnit::Seconds:
      return format_step_time(Duration{std::llround(*value * 1e9)});
    case FigureUnit::Share:
      return format_percent(*value);
    case FigureUnit::Memory:
      return format_bytes(Bytes{std::llround(*value)});
    case FigureUnit::PerSecond:
      return format_large(*value);
    case FigureUnit::Energy: {
      const Joules size{std::abs(*value)};
      return (*value < 0 ? "\u2212" : "") + band_text({size, size, size, {}}).value;
    }
    case FigureUnit::Dollars:
      return fmt::format("{}{:.3g} $", *value < 0 ? "\u2212" : "", std::abs(*value));
    case FigureUnit::Kilograms:
      return fmt::format("{}{:.3g} kg", *value < 0 ? "\u2212" : "", std::abs(*value));
  }
  return "";
}

ResultComparison compare_results(ComparedResult a, ComparedResult b) {
  ResultComparison c{std::move(a), std::move(b), {}, {}, {}, {}, {}, {}, {}, {}};
  c.figures = figures_of(c.a, c.b);
  c.time = waterfall_of("Critical device's step by cause", WaterfallUnit::Time, c.a, c.b);
  c.memory = waterfall_of("Worst device's peak", WaterfallUnit::Memory, c.a, c.b);
  if (c.a.experiment && c.b.experiment) c.ranks = rank_deltas(*c.a.experiment, *c.b.experiment);
  if (c.a.scenario && c.b.scenario)
    c.fields = difference(*c.a.scenario, *c.b.scenario, estimated_cost);
  c.judged = judge(c.a.runs, c.b.runs);
  c.headline = c.judged.empty() ? headline_of(c.a, c.b) : judged_sentence(c.judged.front());
  for (std::size_t i = 1; i < c.judged.size(); ++i)
    c.reasons.push_back(judged_sentence(c.judged[i]));
  if (!c.judged.empty() && steps_differ(c) && came_apart(c.a.runs, c.b.runs))
    c.reasons.push_back(
        "All runs of one side began before those of the other, so that a drift of the machine is "
        "in "
        "the difference of their steps.");
  if (steps_differ(c)) explain_time(c.time, c.reasons);
  explain_memory(c, c.reasons);
  explain_fields(c.fields, c.reasons);
  return c;
}

std::vector<FigureCard> figure_cards(const ResultComparison& c) {
  std::vector<FigureCard> cards;
  for (const ComparedFigure& f : c.figures) {
    FigureCard card{f.title, figure_text(f.unit, f.a), figure_text(f.unit, f.b), "",
                    false,   Judgement::Same};
    if (f.a && f.b) {
      const double change = *f.b - *f.a;
      const bool same = std::abs(change) <= kNothing * std::max(1.0, std::abs(*f.a));
      card.change = same ? "no change" : signed_figure(f.unit, change);
      if (!same && f.unit != FigureUnit::Share && *f.a != 0)
        card.change += "  " + format_signed(100 * change / *f.a, 1) + " %";
      card.up = change > 0;
      if (!same && (is_of_the_plan(f) || steps_differ(c)))
        card.judgement = (change < 0) == f.less_is_better ? Judgement::Better : Judgement::Worse;
    }
    cards.push_back(std::move(card));
  }
  return cards;
}

}  // namespace trainyard
