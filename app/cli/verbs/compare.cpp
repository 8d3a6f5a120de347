// compare: shows two results or runs side by side, in time by cause and bytes by category, in parts
// that sum to the difference.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/pictures/picture_files.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verbs/json_schemas.h"
#include "app/workspace/comparison/comparison.h"
#include "app/workspace/comparison/comparison_files.h"
#include "app/workspace/comparison/run_report.h"
#include "app/workspace/runs/repeats.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/documents/benchmark_report_json.h"
#include "core/io/json/fields.h"

namespace trainyard {
namespace {

std::string time_text(double s) {
  return (s < 0 ? "-" : "") + readable_step(Duration{std::llround(std::abs(s) * 1e9)});
}
std::string bytes_text(double b) {
  return (b < 0 ? "-" : "") + readable(Bytes{std::llround(std::abs(b))});
}

std::string waterfall(const char* title, const ComparedParts& a, const ComparedParts& b,
                      std::string (*words)(double)) {
  std::string out =
      fmt::format("\n{:<22} {:>12} {:>12} {:>12} {:>9}\n", title, "A", "B", "difference", "of A");
  const double whole = std::max(a.sum(), 1e-30);
  const auto row = [&](std::string name, double x, double y) {
    std::replace(name.begin(), name.end(), '_', ' ');
    out += fmt::format("{:<22} {:>12} {:>12} {:>12} {:>7.1f} %\n", "  " + name, words(x), words(y),
                       (y > x ? "+" : "") + words(y - x), 100 * (y - x) / whole);
  };
  for (const std::string& name : part_names(a, b)) row(name, a.of(name), b.of(name));
  row("together", a.sum(), b.sum());
  return out;
}

std::string fields_text(const Difference& d) {
  std::size_t width = 14;
  for (const FieldDifference& f : d.fields)
    width = std::max({width, f.mine.size(), f.theirs.size()});
  std::string out = fmt::format(
      "\nfield by field, by the closed form, each on top of those above it\n  {:<20} {:>{}} {:>{}} "
      "{:>12} {:>12}\n",
      "", "A", width, "B", width, "step", "peak");
  const auto row = [&](const std::string& field, const std::string& a, const std::string& b,
                       Duration step, Bytes peak) {
    const double s = to_seconds(step), bytes = static_cast<double>(peak.value);
    out +=
        fmt::format("  {:<20} {:>{}} {:>{}} {:>12} {:>12}\n", field, a, width, b, width,
                    (s > 0 ? "+" : "") + time_text(s), (bytes > 0 ? "+" : "") + bytes_text(bytes));
  };
  for (const FieldDifference& f : d.fields) row(f.field, f.mine, f.theirs, f.step, f.peak);
  row("together", "", "", d.theirs.step - d.mine.step, d.theirs.peak - d.mine.peak);
  return out;
}

Fields<FieldDifference> field_difference_fields() {
  return {{"field", &FieldDifference::field},
          {"a", &FieldDifference::mine},
          {"b", &FieldDifference::theirs},
          {"seconds", &FieldDifference::step, number()},
          {"bytes", &FieldDifference::peak}};
}

struct TwoParts {
  const ComparedParts *a, *b;
};

struct PartOfTwo {
  std::string name;
  double a, b;
};

std::vector<PartOfTwo> parts_of_two(const TwoParts& of) {
  std::vector<PartOfTwo> list;
  for (const std::string& name : part_names(*of.a, *of.b))
    list.push_back({name, of.a->of(name), of.b->of(name)});
  return list;
}

Form<TwoParts> two_parts() {
  const Fields<PartOfTwo> part = {{"name", &PartOfTwo::name},
                                  {"a", &PartOfTwo::a},
                                  {"b", &PartOfTwo::b},
                                  {"difference", [](const PartOfTwo& p) { return p.b - p.a; }}};
  return object(Fields<TwoParts>{{"a", in(&TwoParts::a, &ComparedParts::sum)},
                                 {"b", in(&TwoParts::b, &ComparedParts::sum)},
                                 {"parts", parts_of_two, list_of(object(part))}});
}

Fields<ComparedFigure> compared_figure_fields() {
  return {{"name", &ComparedFigure::key},
          {"a", &ComparedFigure::a},
          {"b", &ComparedFigure::b},
          {"less_is_better", &ComparedFigure::less_is_better}};
}

const std::vector<FieldDifference>* differing_fields(const ResultComparison& c) {
  return c.fields ? &c.fields->fields : nullptr;
}

Fields<JudgedFigure> judged_fields() {
  const auto verdict = [](auto member) { return in(&JudgedFigure::verdict, member); };
  const auto scores = [](auto member) { return in(&JudgedFigure::scores, member); };
  return {
      {"name", &JudgedFigure::key},
      {"unit", &JudgedFigure::unit, kWhereSet},
      {"less_is_better", scores(&OutperformingScores::less_is_better)},
      {"paired", scores(&OutperformingScores::paired), "runs share their seeds, in one order"},
      {"a", scores(&OutperformingScores::a), list_of(number())},
      {"b", scores(&OutperformingScores::b), list_of(number())},
      {"probability_b_better", verdict(&Outperforming::probability), "ties count half"},
      {"low", verdict(&Outperforming::low), "of its interval of 95 %"},
      {"high", verdict(&Outperforming::high)},
      {"p_value", verdict(&Outperforming::p_value), "two-sided, of a rank test"},
      {"outcome", [](const JudgedFigure& f) { return std::string(to_string(f.verdict.outcome)); },
       "too-few, not-significant, not-meaningful or better"},
      {"runs_needed", verdict(&Outperforming::needed), "further ones of each side"}};
}

Fields<ResultComparison> comparison_fields() {
  using C = ResultComparison;
  const auto parts = [](ComparedParts ComparedResult::* kind) {
    return [kind](const C& c) { return TwoParts{&(c.a.*kind), &(c.b.*kind)}; };
  };
  return document_fields<C>(
      "trainyard/comparison",
      {{"a", in(&C::a, &ComparedResult::name)},
       {"b", in(&C::b, &ComparedResult::name)},
       {"headline", &C::headline},
       {"reasons", &C::reasons},
       {"judged", &C::judged, list_of(object(judged_fields())), kWhereSet,
        "where both sides are recorded runs: whether one is better than chance"},
       {"figures", &C::figures, list_of(object(compared_figure_fields())),
        "seconds, shares, bytes, dollars; absent where a document does not say"},
       {"seconds", parts(&ComparedResult::seconds), two_parts(), "by cause"},
       {"bytes", parts(&ComparedResult::bytes), two_parts(), "by category"},
       {"fields", differing_fields, list_of(object(field_difference_fields())),
        "of two plans: what each field adds, by the closed form, on top of those before it"}});
}

std::string reasons_text(const ResultComparison& c) {
  std::string text;
  for (const std::string& reason : c.reasons) text += "  " + reason + "\n";
  return text;
}

std::string figures_text(const ResultComparison& c) {
  std::string text = fmt::format("\n{:<20} {:>12} {:>12}  {}\n", "figures", "A", "B", "difference");
  for (const FigureCard& card : figure_cards(c)) {
    std::string judged = card.judgement == Judgement::Better  ? ", better"
                         : card.judgement == Judgement::Worse ? ", worse"
                                                              : "";
    text += fmt::format("{:<20} {:>12} {:>12}  {}{}\n", "  " + card.title, card.a, card.b,
                        card.change, judged);
  }
  return text;
}

/// Where both sides are recorded runs: each figure's mean, range and deviation, and the verdict.
std::string judged_table(const ResultComparison& c) {
  if (c.judged.empty()) return "";
  std::string text = fmt::format("\n{:<28} {:>5} {:>12} {:>12} {:>12} {:>12}\n",
                                 c.judged.front().scores.paired ? "runs, in pairs" : "runs", "runs",
                                 "mean", "deviation", "lowest", "highest");
  for (const JudgedFigure& figure : c.judged) {
    for (const auto& [name, scores] :
         {std::pair{"A", &figure.scores.a}, std::pair{"B", &figure.scores.b}}) {
      const ScoreSummary s = summarise(*scores);
      text += fmt::format("{:<28} {:>5} {:>12} {:>12} {:>12} {:>12}\n",
                          "  " + figure.title + ", " + name, s.runs, judged_text(figure, s.mean),
                          judged_text(figure, s.deviation), judged_text(figure, s.lowest),
                          judged_text(figure, s.highest));
    }
    const Outperforming& v = figure.verdict;
    text += fmt::format(
        "    B better in {:.0f} % of {} (95 % interval {:.0f} % to {:.0f} %), p = {:.2g}: {}\n",
        100 * v.probability, v.paired ? "pairs" : "all pairings", 100 * v.low, 100 * v.high,
        v.p_value, outcome_words(v));
  }
  return text;
}

void write_pictures(const ResultComparison& c, const Words& words, Streams& streams) {
  const auto write = [&](std::string_view flag, const std::string& bytes) {
    write_file(words.text(flag), bytes);
    if (!words.has("quiet")) streams.err << "wrote " << words.text(flag) << "\n";
  };
  if (asks_for_picture(words)) write_picture(comparison_picture(c), Theme::Dark, words, streams);
  if (words.has("csv")) write("csv", comparison_csv(c));
  if (words.has("html")) write("html", comparison_html(c, "", Theme::Light));
}

void write_report(const std::vector<std::string>& sides, const Words& words, Streams& streams) {
  for (const std::string& side : sides)
    if (!names_runs(side))
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected recorded runs on both sides, as run:1..10, found \"{}\"",
                              side.substr(0, 80)),
                  {"--report"});
  const BenchmarkReport report = report_of_runs(sides[0], sides[1], RunStore(run_store_path()));
  write_file(words.text("report"), write_json(benchmark_report_fields().write(report)));
  if (!words.has("quiet")) streams.err << "wrote " << words.text("report") << "\n";
}

int run_compare(const Words& words, Streams& streams) {
  const std::vector<std::string> sides = words.texts("");
  if (words.has("report")) write_report(sides, words, streams);
  const Request base{words.text("model"), words.text("cluster"), words.text("plan"),
                     words.texts("set")};
  ComparedResult first = open_compared(sides[0], base), second = open_compared(sides[1], base);
  const ResultComparison c = compare_results(std::move(first), std::move(second));
  write_pictures(c, words, streams);
  if (words.has("json")) {
    deliver(write_json(comparison_fields().write(c)), words, streams);
    return kDone;
  }
  const char* stop = c.headline.ends_with('.') ? "" : ".";
  deliver(fmt::format("A  {}\nB  {}\n\n{}{}\n", c.a.name, c.b.name, c.headline, stop) +
              reasons_text(c) + judged_table(c) + figures_text(c) +
              waterfall("critical device's step", c.a.seconds, c.b.seconds, time_text) +
              waterfall("worst device's peak", c.a.bytes, c.b.bytes, bytes_text) +
              (c.fields ? fields_text(*c.fields) : ""),
          words, streams);
  return kDone;
}

}  // namespace

Json comparison_schema() { return comparison_fields().schema(); }

Verb compare_verb() {
  return {
      .name = "compare",
      .summary =
          "Two plans, results or runs: time and bytes by cause, summing to the "
          "difference.",
      .positional = "A B",
      .positional_doc =
          "each settings of a plan, as \"tp=2 zero=1\", published:ID, run:ID, run:FIRST..LAST, "
          "runs:WORDS as \"trainyard runs\" finds them, or a trainyard/result or trainyard/run "
          "document",
      .positional_required = true,
      .positionals = 2,
      .flags = with_scenario_flags(
          {{"json", "", "one trainyard/comparison@1 document and nothing else"},
           {"svg", "FILE", "draws both over each other there, with causes, beside the text"},
           {"png", "FILE", "the same as pixels, two a logical one"},
           {"csv", "FILE", "every figure, cause, category, rank and field as a row"},
           {"report", "FILE",
            "writes a benchmark report of recorded runs for lint: runs, seeds, trials, evaluation"},
           {"html", "FILE", "one page with all of it, which needs no other file"}}),
      .examples = {"compare \"pp=2\" \"dp=2 zero=1\" --model gpt-tiny --cluster cpu:2 --set "
                   "global-batch=8"},
      .run = run_compare};
}

}  // namespace trainyard
