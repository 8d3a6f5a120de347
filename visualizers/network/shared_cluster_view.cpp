#include "visualizers/network/shared_cluster_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr float kSharedWidth = 1000, kSharedHeight = 420;
constexpr float kSharedBars = 0.45f;  // of the width, where there are curves
constexpr std::array kReductionInks = {Ink::Backward, Ink::Communication, Ink::Forward};

struct TimeUnit {
  const char* name;
  double seconds;
};

TimeUnit unit_of_seconds(double longest) {
  if (longest < 1e-3) return {"µs", 1e-6};
  return longest < 1 ? TimeUnit{"ms", 1e-3} : TimeUnit{"s", 1};
}

BarsModel job_bars(const SharedClusterAnswer& a) {
  double longest = 0;
  for (const SharedClusterRow& row : a.rows)
    longest = std::max({longest, row.lone_seconds, row.all_reduce_seconds});
  const TimeUnit unit = unit_of_seconds(a.compute_seconds + longest);
  BarsModel bars;
  bars.title = "A step of a job";
  bars.unit = unit.name;
  bars.parts = {{"computes", Ink::Forward}, {"reduces", Ink::Communication}};
  const auto add = [&](const std::string& label, double reducing) {
    bars.rows.push_back({label, {a.compute_seconds / unit.seconds, reducing / unit.seconds}});
  };
  for (const SharedClusterRow& row : a.rows) {
    add(row.reduction + ", alone", row.lone_seconds);
    add(row.reduction + ", with all", row.all_reduce_seconds);
  }
  return bars;
}

std::optional<CurveModel> completion_curves(const SharedClusterAnswer& a) {
  double longest = 0;
  for (const SharedClusterRow& row : a.rows) {
    if (row.completions.empty()) return std::nullopt;
    longest = std::max(longest, row.completions.back());
  }
  const TimeUnit unit = unit_of_seconds(longest);
  CurveModel curve;
  curve.title = fmt::format("Short flows complete within, {}", unit.name);
  curve.unit = unit.name;
  curve.x_label = "% of short flows";
  curve.log_y = true;
  std::vector<std::size_t> drawn;
  for (std::size_t percent = 0; percent < 100; percent += 5) drawn.push_back(percent);
  drawn.push_back(99);
  for (const std::size_t percent : drawn) {
    curve.x.push_back(static_cast<double>(percent));
    curve.x_names.push_back(std::to_string(percent));
  }
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    CurveModel::Line line{a.rows[i].reduction, kReductionInks[i % kReductionInks.size()], {}};
    for (const std::size_t percent : drawn)
      line.values.push_back(a.rows[i].completions[percent] / unit.seconds);
    curve.lines.push_back(std::move(line));
  }
  return curve;
}

// "0.53 of its ring's time", "52 times its ring's time".
std::string share_of(double ratio, std::string_view whole) {
  constexpr double kEqual = 0.005;
  if (std::abs(ratio - 1) < kEqual) return fmt::format("all of {}", whole);
  return ratio < 1 ? fmt::format("{:.2f} of {}", ratio, whole)
                   : fmt::format("{:.3g} times {}", ratio, whole);
}

DataCell taken_cell(double taken) {
  return taken > 0 ? DataCell{seconds(taken).count()} : DataCell{};
}

// Reductions in switches that are repeated do not end at the same bits.
std::string sums_sentence(const SharedClusterAnswer& a) {
  std::string others;
  for (const SwitchSums& row : a.sums)
    if (row.adder != SwitchAdder::Arrival)
      others +=
          fmt::format("{}in {} {} (error {:.1g})", others.empty() ? "" : ", ", to_string(row.adder),
                      row.differing > 0 ? readable_share(row.differing) : "none", row.error);
  return fmt::format(
      "Of the sums of {} workers' drawn gradients {} change bits with the order in which packets "
      "come to a switch that adds in fp32 (error {:.1g} of the root mean square); {}.",
      a.question.leaves, readable_share(a.sums.front().differing), a.sums.front().error, others);
}

}  // namespace

SharedClusterModel shared_cluster_model(const SharedClusterAnswer& a) {
  return {job_bars(a), completion_curves(a)};
}

void draw_shared_cluster(Drawing& drawing, const Rect& area, const SharedClusterModel& model) {
  Rect bars = area;
  if (model.completions) bars.width *= kSharedBars;
  draw_bars(drawing, bars, model.jobs);
  if (model.completions)
    draw_curve(drawing, {bars.right(), area.y, area.width - bars.width, area.height},
               *model.completions);
}

Hover describe_shared_cluster(const SharedClusterModel& model, Item item) {
  if (item.kind == ItemKind::Dot && model.completions)
    return describe_curve(*model.completions, item, model.completions->unit);
  return describe_bars(model.jobs, item);
}

std::string shared_cluster_words(const SharedClusterModel& model) {
  std::string words = bars_words(model.jobs);
  if (model.completions) words += " " + curve_words(*model.completions);
  return words;
}

Drawing shared_cluster_picture(const SharedClusterAnswer& a) {
  Drawing drawing({kSharedWidth, kSharedHeight});
  draw_shared_cluster(drawing, {0, 0, kSharedWidth, kSharedHeight}, shared_cluster_model(a));
  return drawing;
}

DataTable shared_cluster_table(const SharedClusterAnswer& a) {
  std::vector<std::vector<DataCell>> rows;
  for (const SharedClusterRow& row : a.rows)
    rows.push_back({row.reduction, taken_cell(row.lone_seconds), taken_cell(row.all_reduce_seconds),
                    taken_cell(a.compute_seconds + row.lone_seconds),
                    taken_cell(a.compute_seconds + row.all_reduce_seconds),
                    taken_cell(row.mean_completion),
                    taken_cell(row.completions.empty() ? 0 : row.completions[50]),
                    taken_cell(row.p99_completion),
                    static_cast<std::int64_t>(std::llround(row.worst_link)), row.in_switches});
  return listed_table("Jobs that share a network",
                      {{"reduced in", DataUnit::Words},
                       {"all-reduce alone", DataUnit::Time},
                       {"all-reduce with all", DataUnit::Time},
                       {"step of a job alone", DataUnit::Time},
                       {"step of a job with all", DataUnit::Time},
                       {"short flow, mean", DataUnit::Time},
                       {"half within", DataUnit::Time},
                       {"99 of 100 within", DataUnit::Time},
                       {"worst link", DataUnit::ByteCount},
                       {"added up in switches", DataUnit::Share}},
                      std::move(rows));
}

std::vector<std::string> shared_cluster_sentences(const SharedClusterAnswer& a) {
  const SharedClusterQuestion& q = a.question;
  const SharedClusterRow &ring = a.rows.front(), &trees = a.rows.back();
  std::vector<std::string> said = {
      fmt::format("In {} a lone job takes {}.", trees.reduction,
                  share_of(trees.lone_seconds / ring.lone_seconds, "its ring's time"))};
  if (trees.in_switches < 1)
    said.push_back(fmt::format(
        "The slots of a switch hold {} of what a job reduces; packets without a slot go around its "
        "ring.",
        readable_share(trees.in_switches)));
  if (!a.sums.empty()) said.push_back(sums_sentence(a));
  if (q.jobs > 1 || trees.p99_completion > 0)
    said.push_back(fmt::format(
        "With all that share the network a step of a job, which computes and reduces, takes {}.",
        share_of((a.compute_seconds + trees.all_reduce_seconds) /
                     (a.compute_seconds + ring.all_reduce_seconds),
                 "that with rings")));
  if (trees.p99_completion <= 0) return said;
  const double slowest = ring.p99_completion / trees.p99_completion,
               mean = ring.mean_completion / trees.mean_completion;
  const std::string rings = fmt::format("beside rings with {} connection{} between neighbours",
                                        q.connections, q.connections == 1 ? "" : "s");
  constexpr double kAlike = 0.05;
  if (std::abs(slowest - 1) < kAlike && std::abs(mean - 1) < kAlike)
    said.push_back(fmt::format("Short flows complete as fast as {}.", rings));
  else
    said.push_back(fmt::format(
        "99 of 100 short flows complete {:.2g} times as fast, {:.2g} times in the mean, as {}.",
        slowest, mean, rings));
  return said;
}

}  // namespace trainyard
