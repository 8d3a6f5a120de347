#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/methods/settings/settings.h"
#include "visualizers/validation/validation_view.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

std::string plan_of(const PreparedRow& prepared) {
  const Plan& plan = prepared.workload.scenario.plan;
  std::string text;
  for (const char* key : {"tp", "cp", "ep", "etp", "pp", "virtual-stages", "micro-batch",
                          "global-batch", "seq", "schedule", "zero", "recompute", "precision"})
    if (const std::string value = setting(plan, key);
        !value.empty() && value != "none" && value != (std::string_view(key) == "etp" ? "tp" : "1"))
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  return text;
}

std::string note_of(const PreparedRow& prepared) {
  if (prepared.tunable) return "";
  if (!prepared.row.suspect.empty()) return prepared.row.suspect;
  return "trust C: shown, never tuned on";
}

bool is_memory(RowMetric metric) {
  return metric == RowMetric::Memory || metric == RowMetric::MemoryTotal;
}

ErrorSpread spread(const std::vector<ValidationPoint>& points, std::optional<std::size_t> source,
                   bool memory) {
  ErrorSpread found;
  std::vector<double> errors, weights;
  double inside = 0, whole = 0;
  for (const ValidationPoint& p : points) {
    if (p.memory != memory || (source && p.source != *source)) continue;
    if (!p.counts) {
      ++found.shown;
      continue;
    }
    ++found.rows;
    errors.push_back(std::log1p(p.error));  // as weighted_quantile reads them
    weights.push_back(p.weight);
    whole += p.weight;
    if (p.low <= p.measured && p.measured <= p.high) inside += p.weight;
  }
  if (errors.empty()) return found;
  found.median = weighted_quantile(errors, weights, 0.5);
  found.p90 = weighted_quantile(errors, weights, 0.9);
  found.inside = inside / whole;
  return found;
}

std::string words_of(const char* what, const ErrorSpread& s) {
  return fmt::format("{} of {} rows: median {}, 90th percentile {}, {} inside their band", what,
                     s.rows, format_percent(s.median), format_percent(s.p90),
                     format_percent(s.inside));
}

}  // namespace

ValidationModel validation_model(const RowSet& set, const Validation& validation) {
  ValidationModel model;
  model.skipped = static_cast<int>(set.skipped.size());
  std::map<std::string, std::size_t> index;
  std::map<std::pair<std::string, bool>, int> groups;
  for (const RowVerdict& verdict : validation.rows) {
    const PreparedRow& prepared = set.rows.at(verdict.row);
    const auto [source, fresh] =
        index.try_emplace(prepared.row.source_family, model.sources.size());
    if (fresh) model.sources.push_back({prepared.row.source_family, prepared.row.source, {}, {}});
    ValidationPoint point;
    point.id = prepared.row.id;
    point.model = prepared.row.model_family.empty() ? prepared.workload.scenario.model.name
                                                    : prepared.row.model_family;
    point.cluster = prepared.workload.scenario.cluster.name;
    point.plan = plan_of(prepared);
    point.note = note_of(prepared);
    point.measured = prepared.measured;
    point.predicted = verdict.predicted;
    point.low = verdict.low;
    point.high = verdict.high;
    point.error = verdict.error;
    point.cross_error = verdict.cross_error;
    point.source = source->second;
    point.memory = is_memory(prepared.metric);
    point.counts = prepared.tunable;
    if (point.counts) ++groups[{prepared.row.group, point.memory}];
    model.points.push_back(std::move(point));
  }
  for (std::size_t i = 0; i < model.points.size(); ++i) {
    ValidationPoint& point = model.points[i];
    const std::string& group = set.rows[validation.rows[i].row].row.group;
    if (point.counts) point.weight = 1.0 / groups.at({group, point.memory});
  }
  for (std::size_t s = 0; s < model.sources.size(); ++s) {
    model.sources[s].time = spread(model.points, s, false);
    model.sources[s].memory = spread(model.points, s, true);
  }
  model.time = spread(model.points, std::nullopt, false);
  model.memory = spread(model.points, std::nullopt, true);
  // Sources with time first, the best first.
  std::vector<std::size_t> order(model.sources.size());
  for (std::size_t s = 0; s < order.size(); ++s) order[s] = s;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto rank = [&](std::size_t s) {
      const ValidationSource& source = model.sources[s];
      const bool none = source.time.rows == 0;
      return std::tuple(none, none ? source.memory.rows == 0 : false,
                        none ? source.memory.median : source.time.median, source.name);
    };
    return rank(a) < rank(b);
  });
  std::vector<std::size_t> place(order.size());
  std::vector<ValidationSource> sorted;
  for (const std::size_t s : order) {
    place[s] = sorted.size();
    sorted.push_back(std::move(model.sources[s]));
  }
  model.sources = std::move(sorted);
  for (ValidationPoint& point : model.points) point.source = place[point.source];
  return model;
}

std::string validation_words(const ValidationModel& model) {
  std::string text;
  if (model.time.rows > 0) text = words_of("Time", model.time);
  if (model.memory.rows > 0) text += (text.empty() ? "" : ". ") + words_of("Memory", model.memory);
  return text;
}

std::string measure_text(double value, bool memory) {
  return memory ? format_bytes({std::llround(value)}) : format_duration(seconds(value));
}

std::string predicted_text(const ValidationPoint& p) {
  if (!p.memory)
    return band_text(Banded<Duration>{seconds(p.predicted), seconds(p.low), seconds(p.high), ""})
        .text();
  const auto bytes = [](double value) { return Bytes{std::llround(value)}; };
  return band_text(Banded<Bytes>{bytes(p.predicted), bytes(p.low), bytes(p.high), ""}).text();
}

Hover describe_validation(const ValidationModel& model, Item item) {
  if (item.kind == ItemKind::Legend && item.tag < model.sources.size()) {
    const ValidationSource& source = model.sources[item.tag];
    Hover hover{source.full, "source " + source.name, "", {}};
    for (const auto& [what, s] : {std::pair("time", &source.time), {"memory", &source.memory}}) {
      if (s->rows > 0) hover.lines.push_back(words_of(what, *s));
      if (s->shown > 0)
        hover.lines.push_back(fmt::format("{} rows of {} shown, not counted", s->shown, what));
    }
    return hover;
  }
  if (item.kind != ItemKind::Dot || item.tag >= model.points.size()) return {};
  const ValidationPoint& p = model.points[item.tag];
  const auto sign = [](double error) { return format_signed(100 * error, 1) + " %"; };
  Hover hover{p.id, model.sources[p.source].full, sign(p.error), {}};
  hover.lines.push_back(p.model + " on " + p.cluster + ", " + p.plan);
  hover.lines.push_back("measured " + measure_text(p.measured, p.memory) + ", predicted " +
                        predicted_text(p));
  if (p.cross_error)
    hover.lines.push_back(sign(*p.cross_error) + " with its source left out of the fit");
  if (!p.note.empty()) hover.lines.push_back(p.note);
  return hover;
}

}  // namespace trainyard
