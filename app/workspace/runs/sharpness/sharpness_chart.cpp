#include "app/workspace/runs/sharpness/sharpness_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/workspace/scenario/setting_words.h"

namespace trainyard {
namespace {

constexpr double kMostLinear = 30;  // a larger spread of rates has a logarithmic axis
constexpr double kLargeResidual = 0.1;
constexpr float kChartWidth = 900, kChartHeight = 380;

std::string updates_old(double delay) {
  return fmt::format("{:.3g} update{} old", delay, delay == 1 ? "" : "s");
}

std::string plan_bound(const SharpnessAnswer& a) {
  const double own = a.own_stable_rate().value_or(0);
  const std::string judged =
      fmt::format("the training's rate of {:g} is {:.3g} times that{}.", a.rate, a.rate / own,
                  a.rate > own ? ": descent leaves this place" : "");
  if (const StageRates* const stage = a.strictest_stage())
    return fmt::format(
        "Stage {} of {} leaves the least room: with gradients up to {} its largest "
        "stable rate is {:.4g}, and {}",
        stage->stage, a.schedule, updates_old(static_cast<double>(stage->oldest)), own, judged);
  return fmt::format("The largest stable rate is {:.4g}, and {}", own, judged);
}

// PipeMare lowers the first rates of stages with old gradients (T1).
std::string first_rates(const SharpnessAnswer& a) {
  double least = a.rate;
  for (const StageRates& stage : a.stages) least = std::min(least, stage.first_rate);
  if (!(least < a.rate)) return {};
  return fmt::format(
      "The schedule begins with rates down to {:.3g} and ends with {:g}, to which "
      "the bounds apply.",
      least, a.rate);
}

// Returns the largest over the smallest positive value.
double spread(const CurveModel& model) {
  double least = INFINITY, most = 0;
  for (const CurveModel::Line& line : model.lines)
    for (const double value : line.values)
      if (value > 0) least = std::min(least, value), most = std::max(most, value);
  return most > 0 ? most / least : 1;
}

std::vector<double> flat(std::size_t points, double value) {
  return std::vector<double>(points, value);
}

}  // namespace

std::vector<StableRate> stable_rates(const SharpnessAnswer& a) {
  if (!a.stable_rate(0)) return {};
  std::vector<StableRate> rates = {{"plain descent", 0, *a.stable_rate(0)}};
  if (a.momentum > 0)
    rates.push_back({fmt::format("momentum {:g}", a.momentum), 0, *a.stable_rate_of_momentum()});
  for (const StageRates& stage : a.stages)
    rates.push_back({fmt::format("stage {}", stage.stage), static_cast<double>(stage.oldest),
                     stage.own.value_or(0)});
  if (a.stages.empty())
    for (const double delay : kJudgedDelays)
      rates.push_back({"gradients " + updates_old(delay), delay, *a.stable_rate(delay)});
  return rates;
}

DataTable sharpness_table(const SharpnessAnswer& a) {
  std::vector<std::vector<DataCell>> rows;
  for (const StableRate& each : stable_rates(a))
    rows.push_back({each.of, each.delay, each.rate, a.rate, a.rate / each.rate});
  return listed_table("Stable rates",
                      {{"updates", DataUnit::Words},
                       {"gradients old, updates", DataUnit::Digits},
                       {"largest stable rate", DataUnit::Digits},
                       {"rate of the training", DataUnit::Digits},
                       {"share of the stable one", DataUnit::Share}},
                      std::move(rows));
}

std::vector<std::string> sharpness_sentences(const SharpnessAnswer& a) {
  const Sharpness& s = a.sharpness;
  if (!s.found())
    return {fmt::format(
        "No largest eigenvalue of the Hessian was found by {} products: what they gave lies {:.2g} "
        "times as far from an eigenvector as it is long, as where gradients jump at the bends of "
        "ReLUs, and bounds no rate. More samples in an update smooth the loss; a longer or shorter "
        "difference of gradients may miss the jumps.",
        s.products, s.residual)};
  std::vector<std::string> said = {fmt::format(
      "The largest eigenvalue of the Hessian is {:.4g}, with a residual of {:.2g} %; the last of "
      "{} products changed it by {:.2g} %{}.",
      s.eigenvalue, 100 * s.residual, s.products, 100 * s.change,
      s.settled && s.residual > kLargeResidual
          ? ", but so large a residual says that it may be larger"
      : s.settled ? ""
                  : ", so that it has not settled: more products go on, and a shorter difference "
                    "meets fewer bends")};
  if (!a.stable_rate(0)) {
    said.emplace_back(s.settled
                          ? "The loss is nowhere convex here, so that curvature bounds no rate."
                          : "No positive curvature was found yet, which would bound the rate.");
    return said;
  }
  if (a.bounds_its_optimizer()) {
    said.push_back(plan_bound(a));
    if (const std::string first = first_rates(a); !first.empty()) said.push_back(first);
  } else {
    said.push_back(
        fmt::format("These bounds are those of plain descent: {} scales each coordinate "
                    "by itself and has others.",
                    a.optimizer));
  }
  if (!a.stages.empty())
    said.emplace_back(
        a.consistent ? "Each stage is bounded by the curvature of the whole model, which is at "
                       "least its own."
                     : "Each stage is bounded by the curvature of the whole model, which is at "
                       "least its own; backward passes read newer weights than their forward "
                       "passes, which may leave less stable than is said here.");
  const double own = *a.own_stable_rate();
  if (a.rate > 0 && a.rate <= own && a.bounds_its_optimizer())
    said.push_back(
        fmt::format("A rate that grows in proportion to the batch of {} reaches {:.4g} "
                    "at {:.0f} samples.",
                    a.batch, own, *a.largest_batch()));
  return said;
}

CurveModel slice_curve(const SharpnessAnswer& answer) {
  CurveModel model;
  model.title = "Loss of " + answer.model + " along two lines through its weights";
  model.x_label = "distance from the weights";
  model.x = answer.slice.offsets;
  for (const double offset : model.x) model.x_names.push_back(fmt::format("{:.2g}", offset));
  model.lines = {{"sharpest direction", Ink::Backward, answer.slice.sharpest},
                 {"random direction", Ink::Forward, answer.slice.random}};
  model.now = 0;
  model.fitted = true;
  return model;
}

CurveModel stable_rates_curve(const SharpnessAnswer& a) {
  CurveModel model;
  // A line needs two stages.
  if (a.stages.size() > 1) {
    model.title = "Largest stable rate of each stage of " + a.schedule;
    model.x_label = "stage";
    model.lines = {{"with the plan's updates", Ink::Backward, {}},
                   {"plain descent as old on average", Ink::Forward, {}}};
    for (const StageRates& stage : a.stages) {
      model.x.push_back(static_cast<double>(stage.stage));
      model.x_names.push_back(std::to_string(stage.stage));
      model.lines[0].values.push_back(stage.own.value_or(NAN));
      model.lines[1].values.push_back(stage.plain.value_or(NAN));
    }
  } else {
    model.title = "Largest stable rate of plain descent with old gradients";
    model.x_label = "updates that gradients are old";
    model.lines = {{"largest stable rate", Ink::Backward, {}}};
    for (int delay = 0; delay <= static_cast<int>(kJudgedDelays[std::size(kJudgedDelays) - 1]);
         ++delay) {
      model.x.push_back(delay);
      model.x_names.push_back(std::to_string(delay));
      model.lines[0].values.push_back(a.stable_rate(delay).value_or(NAN));
    }
  }
  model.lines.push_back(
      {"rate of the training", Ink::Accent, flat(model.x.size(), a.rate), /*dashed=*/true});
  model.log_y = spread(model) > kMostLinear;
  return model;
}

Drawing sharpness_picture(const SharpnessAnswer& answer) {
  Drawing drawing({kChartWidth, 2 * kChartHeight});
  draw_curve(drawing, {0, 0, kChartWidth, kChartHeight}, slice_curve(answer));
  draw_curve(drawing, {0, kChartHeight, kChartWidth, kChartHeight}, stable_rates_curve(answer));
  return drawing;
}

std::string sharpness_command(const Request& request, const SharpnessQuestion& question,
                              const std::vector<std::string>& training) {
  std::string command = "trainyard sharpness" + scenario_flags(request);
  for (const std::string& word : training) command += " --train " + shell_word(word);
  if (!question.data.empty()) command += " --data " + shell_word(question.data);
  if (!question.start_from.empty()) command += " --start-from " + shell_word(question.start_from);
  const SharpnessQuestion usual;
  if (question.steps != usual.steps) command += fmt::format(" --steps {}", question.steps);
  if (question.options.most_products != usual.options.most_products)
    command += fmt::format(" --products {}", question.options.most_products);
  if (question.options.difference != usual.options.difference)
    command += fmt::format(" --difference {:g}", question.options.difference);
  return command;
}

}  // namespace trainyard
