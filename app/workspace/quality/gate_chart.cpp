#include "app/workspace/quality/gate_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "app/workspace/scenario/setting_words.h"
#include "core/base/units_text.h"
#include "visualizers/analyse/vector_noise_curve.h"

namespace trainyard {
namespace {

constexpr double kPercent = 100;
constexpr float kGateWidth = 900, kCurveHeight = 360, kLeastCurve = 170;
constexpr Ink kCurveInks[] = {Ink::Forward, Ink::Backward, Ink::Recompute, Ink::Optimizer};

std::string row_label(const GateReport& report, const GatedModel& model, std::size_t task) {
  return model.name + ", " + report.tasks[task].name;
}

}  // namespace

std::string side_title(const GateSide& side) {
  std::vector<std::string> words;
  const LossyWeights& loses = side.loses;
  if (!side.file.empty()) words.push_back(side.file.substr(side.file.find_last_of('/') + 1));
  if (loses.sparsity > 0) words.push_back(fmt::format("{:g} % pruned", kPercent * loses.sparsity));
  if (loses.rank > 0) words.push_back(fmt::format("rank {}", loses.rank));
  if (loses.tt_rank > 0) words.push_back(fmt::format("tensor trains of rank {}", loses.tt_rank));
  if (loses.bits > 0) words.push_back(fmt::format("{} bits", loses.bits));
  if (loses.bit_errors)
    words.push_back(fmt::format("{:g} % bit errors", kPercent * *loses.bit_errors));
  if (loses.group > 0) words.push_back(fmt::format("groups of {}", loses.group));
  if (loses.scale_bits > 0) words.push_back(fmt::format("scales of {} bits", loses.scale_bits));
  if (!side.precision.empty()) words.push_back(side.precision);
  if (side.reference) words.emplace_back("8-byte maths");
  return fmt::format("{}", fmt::join(words, ", "));
}

DataTable gate_table(const GateReport& report) {
  std::vector<std::vector<DataCell>> rows;
  for (const GatedModel& model : report.models)
    for (std::size_t t = 0; t < model.tasks.size(); ++t) {
      const JudgedAnswers& judged = model.tasks[t];
      rows.push_back({model.name, report.tasks[t].name, judged.first_accuracy(),
                      judged.second_accuracy(), judged.excess_error(), judged.excess_error_band(),
                      judged.instability(), judged.flips(), model.losses[t],
                      model.chips ? DataCell(model.chips->tasks[t].deviation) : DataCell(),
                      static_cast<std::int64_t>(model.bytes),
                      model.lossless ? DataCell(static_cast<std::int64_t>(model.lossless->bytes))
                                     : DataCell()});
    }
  return listed_table("Gate of quality",
                      {{"model", DataUnit::Words},
                       {"task", DataUnit::Words},
                       {"accuracy of the reference", DataUnit::Share},
                       {"accuracy", DataUnit::Share},
                       {"excess error", DataUnit::Share},
                       {"half of its 95 % interval", DataUnit::Share},
                       {"instability", DataUnit::Share},
                       {"flips", DataUnit::Share},
                       {"loss", DataUnit::Digits},
                       {"deviation of the error over chips", DataUnit::Share},
                       {"weights", DataUnit::ByteCount},
                       {"weights without loss", DataUnit::ByteCount}},
                      std::move(rows));
}

DataTable lossless_table(const GateReport& report) {
  std::vector<std::vector<DataCell>> rows;
  for (const LosslessTensor& tensor : report.tensors)
    rows.push_back({tensor.name, tensor.activation ? "activation" : "parameter", tensor.numbers,
                    tensor.ratio, tensor.worst_ratio});
  return listed_table("Stored without loss",
                      {{"tensor of the reference", DataUnit::Words},
                       {"kind", DataUnit::Words},
                       {"numbers", DataUnit::Count},
                       {"of the bytes of 8-bit numbers", DataUnit::Share},
                       {"in the worst tile", DataUnit::Share}},
                      std::move(rows));
}

std::vector<std::string> gate_sentences(const GateReport& report) {
  std::vector<std::string> said = {"Limits: " + limit_words(report.limits) + "."};
  for (const GatedModel& model : report.models) {
    if (model.passes()) said.push_back(model.name + " passes.");
    for (std::size_t t = 0; t < model.areas.size(); ++t)
      if (report.tasks[t].area)
        said.push_back(
            fmt::format("{} on {} has an area under the curve of {:.4f}, the reference "
                        "{:.4f}.",
                        model.name, report.tasks[t].name, model.areas[t], *report.tasks[t].area));
    for (const std::string& sentence : model.beyond)
      said.push_back(model.name + " is beyond a limit on " + sentence + ".");
    if (model.decibels)
      said.push_back(
          fmt::format("The weights of {} have a signal of {:.1f} dB over what they lost.",
                      model.name, *model.decibels));
    if (model.lossless)
      said.push_back(
          fmt::format("{} takes {} where groups of 8 have as many bits as their widest number, "
                      "{:.3f} of those of 8 bits, {:.3f} in the worst tile.",
                      model.name, readable(Bytes{static_cast<std::int64_t>(model.lossless->bytes)}),
                      model.lossless->ratio, model.lossless->worst_ratio));
    if (model.chips)
      for (std::size_t t = 0; t < report.tasks.size(); ++t) {
        const ChipErrors& errors = model.chips->tasks[t];
        said.push_back(fmt::format(
            "{} answers {:.2f} % of {} wrongly, the mean of {} {} with a standard deviation of "
            "{:.2f} percentage points, from {:.2f} to {:.2f} %.",
            model.name, kPercent * errors.mean, report.tasks[t].name, model.chips->count,
            model.chips->count == 1 ? "chip" : "chips", kPercent * errors.deviation,
            kPercent * errors.least, kPercent * errors.most));
      }
    if (model.tasks.size() > 1)
      said.push_back(
          fmt::format("{} answers {:.2f} % of questions rightly on some tasks and wrongly "
                      "on others, the reference {:.2f} %.",
                      model.name, kPercent * model.across, kPercent * report.reference_across));
    const std::optional<std::size_t> worst = report.worst_corrupted(model);
    if (worst && model.tasks[0].excess_error() > 0 &&
        model.tasks[*worst].excess_error() > model.tasks[0].excess_error())
      said.push_back(
          fmt::format("The excess error of {} on {} is {:.3g} times that on clean "
                      "samples.",
                      model.name, report.tasks[*worst].name,
                      model.tasks[*worst].excess_error() / model.tasks[0].excess_error()));
    for (const GatedTable& table : model.tables)
      said.push_back(fmt::format("{} moves the eigenspace of {} by {:.4f}.", model.name, table.name,
                                 table.instability));
  }
  return said;
}

BarsModel gate_bars(const GateReport& report) {
  BarsModel bars;
  bars.title = "Answers that one model alone has right";
  bars.unit = "%";
  bars.parts = {{"the reference", Ink::Backward}, {"the model", Ink::Forward}};
  for (const GatedModel& model : report.models)
    for (std::size_t t = 0; t < model.tasks.size(); ++t) {
      const JudgedAnswers& judged = model.tasks[t];
      const double questions = std::max(1.0, static_cast<double>(judged.questions));
      if (report.limits.instability)
        bars.marks.push_back({bars.rows.size(), kPercent * *report.limits.instability, "limit",
                              /*truth=*/true});
      bars.rows.push_back({row_label(report, model, t),
                           {kPercent * static_cast<double>(judged.lost) / questions,
                            kPercent * static_cast<double>(judged.won) / questions}});
    }
  return bars;
}

std::optional<CurveModel> gate_curve(const GateReport& report) {
  std::map<std::string, std::map<double, const GatedModel*>> forms;
  std::set<double> rates;
  for (const GatedModel& model : report.models)
    if (model.chips && model.chips->rate > 0) {
      forms[model.chips->form][model.chips->rate] = &model;
      rates.insert(model.chips->rate);
    }
  if (rates.size() < 2) return std::nullopt;
  CurveModel curve;
  curve.title = "Error in memories that flip bits";
  curve.unit = "%", curve.x_label = "bits that are flipped", curve.log_x = true;
  curve.x.assign(rates.begin(), rates.end());
  for (const double rate : curve.x) curve.x_names.push_back(fmt::format("{:g} %", kPercent * rate));
  for (const auto& [form, by_rate] : forms)
    for (std::size_t t = 0; t < report.tasks.size(); ++t) {
      CurveModel::Line line{form + ", " + report.tasks[t].name,
                            kCurveInks[curve.lines.size() % std::size(kCurveInks)],
                            {},
                            t > 0};
      for (const double rate : curve.x) {
        const auto at = by_rate.find(rate);
        line.values.push_back(at == by_rate.end() ? std::nan("")
                                                  : kPercent * at->second->chips->tasks[t].mean);
      }
      curve.lines.push_back(std::move(line));
    }
  return curve;
}

GateCharts gate_charts(const GateReport& report) {
  GateCharts charts{gate_bars(report), gate_curve(report)};
  if (!charts.curve) charts.curve = vector_noise_curve(report.vectors);
  return charts;
}

void draw_gate(Drawing& drawing, const Rect& area, const GateCharts& charts) {
  const float below = charts.curve ? std::max(area.height - bars_height(charts.bars),
                                              std::min(area.height / 2, kLeastCurve))
                                   : 0;
  draw_bars(drawing, {area.x, area.y, area.width, area.height - below}, charts.bars);
  if (charts.curve)
    draw_curve(drawing, {area.x, area.y + area.height - below, area.width, below}, *charts.curve);
}

Hover describe_gate(const GateCharts& charts, Item item) {
  if (item.kind == ItemKind::Dot && charts.curve)
    return describe_curve(*charts.curve, item, charts.curve->unit);
  return describe_bars(charts.bars, item);
}

std::string gate_words(const GateCharts& charts) {
  return bars_words(charts.bars) + (charts.curve ? " " + curve_words(*charts.curve) : "");
}

Drawing gate_picture(const GateReport& report) {
  const GateCharts charts = gate_charts(report);
  const float bars = bars_height(charts.bars);
  Drawing drawing({kGateWidth, bars + (charts.curve ? std::max(bars / 3, kCurveHeight) : 0)});
  draw_gate(drawing, whole(drawing.size), charts);
  return drawing;
}

std::string limit_words(const GateLimits& limits) {
  std::string words;
  const auto add = [&](const std::optional<double>& limit, const std::string& name, bool share) {
    if (!limit) return;
    words += words.empty() ? "" : ", ";
    words += share ? fmt::format("{} {:g} %", name, kPercent * *limit)
                   : fmt::format("{} {:g}", name, *limit);
  };
  add(limits.excess_error, "excess error", true);
  add(limits.instability, "instability", true);
  add(limits.flips, "flips", true);
  add(limits.eigenspace, "eigenspace", false);
  return words.empty() ? "none" : words;
}

std::string gate_command(const Request& request, const GateWords& words) {
  std::string command = "trainyard gate " + shell_word(words.reference);
  for (const std::string& model : words.models) command += " " + shell_word(model);
  command += " --model " + shell_word(request.model);
  if (!words.data.empty()) command += " --data " + shell_word(words.data);
  if (!words.corruptions.empty()) command += " --on " + shell_word(words.corruptions);
  if (!words.limits.empty()) command += " --limit " + shell_word(words.limits);
  if (words.vector_bits > 0) command += fmt::format(" --vectors {}", words.vector_bits);
  if (!words.error_rates.empty()) command += " --error-rates " + shell_word(words.error_rates);
  if (words.lossless) command += " --lossless";
  if (words.samples > 0) command += fmt::format(" --samples {}", words.samples);
  return command;
}

}  // namespace trainyard
