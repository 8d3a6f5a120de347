#include "app/cli/text/sweep_text.h"

#include <algorithm>
#include <vector>

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/cluster/price.h"
#include "core/io/documents/result_json.h"
#include "core/result/figures.h"

namespace trainyard {
namespace {

std::string money_text(double dollars) {
  return dollars < 99.95 ? fmt::format("{:.3g}", dollars) : fmt::format("{:.0f}", dollars);
}

std::string work_name(const Result& r) { return r.counts_tokens ? "tokens" : "samples"; }

// "bubble: 34.7 % of device time"
std::string limit_text(const Result& r) {
  constexpr std::string_view kLead = "Limited by ";
  const std::string& words = r.verdict.limit;
  return words.starts_with(kLead) ? words.substr(kLead.size()) : words;
}

// Errors of a plan are a line each.
std::string one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
    text.replace(at, 1, "; ");
  return text;
}

// The columns whose cells are padded to equal width. What is behind them may be long.
using TextRow = std::vector<std::string>;

TextRow heads_of(const SweepStudy& study) {
  TextRow heads;
  for (const SweepAxis& axis : study.axes)
    if (axis.values.size() > 1) heads.push_back(axis.name);
  heads.insert(heads.end(), {"verdict", "step", "band", "per second", "per device", "MFU", "memory",
                             "spare", "$/step", "$/work", "energy"});
  return heads;
}

TextRow cells_of(const SweepStudy& study, std::size_t i) {
  const SweepRow& row = study.rows[i];
  TextRow cells;
  for (std::size_t a = 0; a < study.axes.size(); ++a)
    if (study.axes[a].values.size() > 1) cells.push_back(study.value(i, a));
  cells.emplace_back(verdict_word(row));
  if (!row.result) return cells;
  const Result& r = *row.result;
  const std::optional<Banded<double>> money = money_for_work(r);
  cells.push_back(readable_step(r.step.value));
  cells.push_back(fmt::format("{} to {}", readable(r.step.low), readable(r.step.high)));
  cells.push_back(readable_rate(rate(r).value) + (r.counts_tokens ? " tok" : " sam"));
  cells.push_back(readable_rate(rate_per_device(r).value));
  cells.push_back(readable_share(r.mfu));
  cells.push_back(readable(reserved(r)) + " of " + readable(r.capacity));
  cells.push_back(readable(r.verdict.margin));
  cells.push_back(r.money ? money_text(r.money->value) : "-");
  cells.push_back(money ? money_text(money->value) : "-");
  cells.push_back(r.energy ? readable(r.energy->value) : "-");
  return cells;
}

std::string rest_of(const SweepRow& row) {
  if (!row.result) return one_line(row.reason);
  std::string words = row.plan.empty() ? "the only plan" : row.plan;
  if (const std::string limit = limit_text(*row.result); !limit.empty()) words += "; " + limit;
  return row.fits() ? words : words + "; " + one_line(row.reason);
}

void write_rows(Out& out, const SweepStudy& study) {
  const TextRow heads = heads_of(study);
  std::vector<std::size_t> widths;
  for (const std::string& head : heads) widths.push_back(head.size());
  std::vector<TextRow> rows;
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    rows.push_back(cells_of(study, i));
    for (std::size_t c = 0; c < rows.back().size(); ++c)
      widths[c] = std::max(widths[c], rows.back()[c].size());
  }
  // Words are set from the left, figures from the right.
  const auto words =
      static_cast<std::size_t>(std::find(heads.begin(), heads.end(), "verdict") - heads.begin());
  const auto write = [&](const TextRow& cells, const std::string& rest) {
    for (std::size_t c = 0; c < cells.size(); ++c)
      out += c <= words ? fmt::format("{:<{}}  ", cells[c], widths[c])
                        : fmt::format("{:>{}}  ", cells[c], widths[c]);
    line(out, "{}", rest);
  };
  write(heads, "plan; what limits it");
  for (std::size_t i = 0; i < rows.size(); ++i) write(rows[i], rest_of(study.rows[i]));
}

std::string figure_text(const SweepRow& row, SweepFigure figure) {
  const Result& r = *row.result;
  const Banded<double> value = figure_of(row, figure).value_or(Banded<double>{});
  switch (figure) {
    case SweepFigure::Step:
      return readable_step(r.step.value);
    case SweepFigure::Throughput:
      return readable_rate(value.value) + " " + work_name(r) + " per second";
    case SweepFigure::Cost:
      return fmt::format("{} US dollars for 1 {} {}", money_text(value.value),
                         r.counts_tokens ? "billion" : "million", work_name(r));
    case SweepFigure::Mfu:
      return "MFU " + readable_share(value.value);
    case SweepFigure::Peak:
      break;
  }
  return readable(Bytes{static_cast<std::int64_t>(value.value)}) + " at the peak";
}

// One row and its combination.
struct Numbered {
  const SweepStudy* study;
  std::size_t index;
  const SweepRow& row() const { return study->rows[index]; }
};

std::vector<Numbered> numbered(const SweepStudy& study) {
  std::vector<Numbered> list;
  for (std::size_t i = 0; i < study.rows.size(); ++i) list.push_back({&study, i});
  return list;
}

// The values of a row on the axes, with the axis before them where that is a setting.
std::optional<std::string> value_on(const Numbered& n, std::string_view name) {
  for (std::size_t a = 0; a < n.study->axes.size(); ++a)
    if (n.study->axes[a].name == name) return n.study->value(n.index, a);
  return std::nullopt;
}

std::vector<std::string> varied(const Numbered& n) {
  std::vector<std::string> words;
  for (std::size_t a = 2; a < n.study->axes.size(); ++a)
    if (const std::string& name = n.study->axes[a].name; name != "price")
      words.push_back(name + "=" + n.study->value(n.index, a));
  return words;
}

// Present where a plan is legal.
template <class F>
auto of_result(F f) {
  return [f](const Numbered& n) {
    return n.row().result ? std::optional(std::invoke(f, *n.row().result)) : std::nullopt;
  };
}

// Present where a plan is legal and has the figure.
template <class F>
auto known(F f) {
  return [f](const Numbered& n) {
    using Value = std::remove_cvref_t<std::invoke_result_t<F, const Result&>>;
    return n.row().result ? Value(std::invoke(f, *n.row().result)) : Value();
  };
}

auto rate_of(bool tokens, Banded<double> (*figure)(const Result&)) {
  return [tokens, figure](const Numbered& n) {
    return n.row().result && n.row().result->counts_tokens == tokens
               ? std::optional(figure(*n.row().result))
               : std::nullopt;
  };
}

std::optional<Banded<Bytes>> peak_of(const Result& r) {
  const StageMemory* most = fullest(r);
  return most == nullptr ? std::nullopt : std::optional(most->peak);
}

Fields<Numbered> row_fields() {
  const Form<Banded<double>> range = band<double>(number());
  const auto row = [](auto member) {
    return in([](const Numbered& n) -> const SweepRow& { return n.row(); }, member);
  };
  const auto on = [](std::string_view name) {
    return [name](const Numbered& n) { return value_on(n, name); };
  };
  const auto price = [](const Numbered& n) -> std::optional<double> {
    const auto words = value_on(n, "price");
    return words ? std::optional(parse_price(*words)) : std::nullopt;
  };
  Fields<Numbered> fields = {
      {"model", on("model"), "as it was typed"},
      {"cluster", on("cluster"), "as it was typed"},
      {"price", price, "US dollars of a device-hour, where it was swept"},
      {"varied", varied, kWhereSet, "settings of this combination"},
      {"verdict", [](const Numbered& n) { return verdict_word(n.row()); },
       one_of({"fits", "may not fit", "does not fit", "no plan"})},
      {"reason", row(&SweepRow::reason), "the verdict as a sentence, or why there is no plan"},
      {"set", row(&SweepRow::set), "arguments of --set that make the plan"}};
  fields.add({{"fidelity", of_result(&Result::fidelity), "how the figures were found"},
              {"devices", of_result(&Result::devices), whole(1), "that the plan uses"},
              {"step_seconds", of_result(&Result::step), band<Duration>(nearest_seconds())},
              {"tokens_per_second", rate_of(true, rate), range, "on all devices"},
              {"tokens_per_second_per_device", rate_of(true, rate_per_device), range},
              {"samples_per_second", rate_of(false, rate), range, "of a model without tokens"},
              {"samples_per_second_per_device", rate_of(false, rate_per_device), range},
              {"mfu", of_result(utilisation), range, "share of the peak"},
              {"peak_bytes", known(peak_of), band<Bytes>(whole()), "of the fullest device"},
              {"reserved_bytes", of_result(reserved), "on the fullest device"},
              {"capacity_bytes", of_result(&Result::capacity)},
              {"margin_bytes", of_result([](const Result& r) { return r.verdict.margin; }),
               signed_whole(), "negative = over"},
              {"money_per_step", known(&Result::money), range, "US dollars"},
              {"money_per_work", known(money_for_work), range,
               "US dollars for 1e9 tokens, or 1e6 samples of a model without tokens"},
              {"energy_joules", known(&Result::energy), band<Joules>(number(kAmount)), "of a step"},
              {"limit", of_result([](const Result& r) { return r.verdict.limit; }), kWhereSet}});
  return fields;
}

Fields<SweepStudy> sweep_fields() {
  const Fields<SweepAxis> axis = {{"name", &SweepAxis::name}, {"values", &SweepAxis::values}};
  return document_fields<SweepStudy>(
      "trainyard/sweep",
      {{"plans", [](const SweepStudy& s) { return s.searched ? "searched" : "as given"; },
        one_of({"searched", "as given"})},
       {"objective",
        [](const SweepStudy& s) { return s.searched ? std::optional(s.objective) : std::nullopt; },
        "of the searches: time, memory or money"},
       {"axes", &SweepStudy::axes, list_of(object(axis)), "the last one varies fastest"},
       {"combinations", [](const SweepStudy& s) { return combinations(s.axes); }, whole(1)},
       {"stopped", &SweepStudy::stopped, "before all combinations were done"},
       {"rows", numbered, list_of(object(row_fields())), "by combination"}});
}

}  // namespace

std::string sweep_text(const SweepStudy& study, SweepFigure by) {
  Out out;
  std::string fixed;
  for (const SweepAxis& axis : study.axes)
    if (axis.values.size() == 1) fixed += fmt::format(", {} {}", axis.name, axis.values.front());
  const std::size_t all = combinations(study.axes);
  line(out, "{} {}{}{}", all, all == 1 ? "combination" : "combinations",
       study.searched ? ", each with its best plan by " + study.objective
                      : ", each with the plan as given",
       fixed);
  if (study.stopped())
    line(out, "STOPPED after {} of them: what follows is what was found so far", study.rows.size());
  line(out,
       "$/work: US dollars for 1e9 tokens, or for 1e6 samples of a model without tokens\n"
       "plan: what tells it from others; --csv and --json have all words of --set\n");
  write_rows(out, study);
  const auto fitting = std::count_if(study.rows.begin(), study.rows.end(),
                                     [](const SweepRow& row) { return row.fits(); });
  line(out, "\n{} of {} fit", fitting, study.rows.size());
  if (const auto best = best_row(study, by)) {
    const std::string words = combination_words(study, *best);
    line(out, "best by {}: {}{}", to_string(by), words.empty() ? "" : words + ": ",
         figure_text(study.rows[*best], by));
    line(out, "  --set {}", fmt::join(study.rows[*best].set, " --set "));
  }
  return out;
}

Json sweep_schema() { return sweep_fields().schema(); }

std::string sweep_document(const SweepStudy& study) {
  return write_json(sweep_fields().write(study));
}

}  // namespace trainyard
