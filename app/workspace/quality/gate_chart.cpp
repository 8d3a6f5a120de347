#include "app/workspace/quality/gate_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/workspace/scenario/setting_words.h"

namespace trainyard {
namespace {

constexpr double kPercent = 100;
constexpr float kGateWidth = 900;

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
  if (loses.group > 0) words.push_back(fmt::format("groups of {}", loses.group));
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
                      static_cast<std::int64_t>(model.bytes)});
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
                       {"weights", DataUnit::ByteCount}},
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

Drawing gate_picture(const GateReport& report) {
  const BarsModel bars = gate_bars(report);
  Drawing drawing({kGateWidth, bars_height(bars)});
  draw_bars(drawing, whole(drawing.size), bars);
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
  if (words.samples > 0) command += fmt::format(" --samples {}", words.samples);
  return command;
}

}  // namespace trainyard
