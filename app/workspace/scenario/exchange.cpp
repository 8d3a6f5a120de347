#include "app/workspace/scenario/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "app/workspace/scenario/microcontroller.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/nearest.h"
#include "core/estimate/estimate.h"
#include "core/exporters/deepspeed.h"
#include "core/exporters/megatron_bridge.h"
#include "core/exporters/megatron_lm.h"
#include "core/exporters/slurm.h"
#include "core/exporters/torchtitan.h"
#include "core/io/plans/megatron_layout.h"
#include "core/io/plans/pipeline_csv.h"
#include "core/methods/catalogue.h"
#include "core/model/op.h"

namespace trainyard {
namespace {

bool lives_there(const Order& order, int devices, int stages, Placement placement) {
  for (const Lane& lane : order.lanes)
    for (const Action& a : lane.actions)
      if (device_of(a.stage, devices, stages, placement) != lane.device) return false;
  return true;
}

// Returns whether the schedule's own rules allow this shape.
bool legal(const Method& schedule, const PipelineCsv& csv, int devices) {
  if (!schedule.check) return true;
  Scenario bare;
  bare.plan.mesh.pp = devices;
  bare.plan.mesh.dp = 1;
  bare.plan.virtual_stages = csv.stages / devices;
  bare.plan.batch.global = csv.microbatches;
  return !has_errors(schedule.check(bare, with_defaults({}, schedule.params)));
}

// The schedule whose stages are placed as in the file: the plan's own if it is one, else the first.
std::string schedule_for(const PipelineCsv& csv, int devices, const Plan& plan) {
  const auto fits = [&](const Method& m) {
    return m.axis == MethodAxis::Schedule && !m.settles && copies(m.placement) == 1 &&
           lives_there(csv.order, devices, csv.stages, m.placement) && legal(m, csv, devices);
  };
  if (const Choice* own = chosen_on(plan, MethodAxis::Schedule);
      own != nullptr && fits(method(own->method)))
    return own->method;
  if (csv.stages == devices && fits(method("1f1b"))) return "1f1b";
  for (const Method& m : methods())
    if (m.name != "gpipe" && fits(m)) return std::string(m.name);
  return "";
}

Import import_csv(std::string_view content, const std::string& source, const Scenario& into) {
  const PipelineCsv csv = parse_pipeline_csv(content, source);
  const int devices = static_cast<int>(csv.order.lanes.size());
  const auto refuse = [&](const std::string& message) {
    throw Error(Error::Kind::InvalidInput, message, {source});
  };
  if (csv.stages % devices != 0)
    refuse(fmt::format("{} stages on {} ranks: each rank needs as many as the others", csv.stages,
                       devices));
  const ScheduleShape shape{
      .devices = devices, .stages = csv.stages, .microbatches = csv.microbatches};
  for (const Diagnostic& d : check(csv.order, shape))
    if (d.severity == Diagnostic::Severity::Error) refuse(d.message);
  const std::string schedule = schedule_for(csv, devices, into.plan);
  if (schedule.empty())
    refuse("no schedule of the catalogue has its stages where this file has them");

  Import found{"PyTorch pipeline CSV", {}, {}};
  found.settings = {fmt::format("pp={}", devices),
                    fmt::format("virtual-stages={}", csv.stages / devices), "schedule=" + schedule};
  const std::vector<int>& split = into.plan.split.layers;
  if (!split.empty() && split.size() != static_cast<std::size_t>(csv.stages))
    found.settings.emplace_back("split=even");
  if (!into.cluster.levels.empty()) {
    Plan plan = into.plan;
    plan.mesh.pp = devices;
    plan.mesh.dp.reset();
    found.settings.push_back(fmt::format("global-batch={}", csv.microbatches * plan.batch.micro *
                                                                data_parallel(plan, into.cluster)));
    if (into.plan.mesh.dp) found.settings.emplace_back("dp=rest");
  } else {
    found.notes.push_back(fmt::format(
        "the order has {} microbatches: global-batch must make as many", csv.microbatches));
  }
  found.settings.push_back("order=" + to_text(csv.order));
  if (csv.left_out > 0)
    found.notes.push_back(
        fmt::format("{} communication actions left out: they follow from the order", csv.left_out));
  if (csv.in_turn > 0)
    found.notes.push_back(fmt::format(
        "{} overlapped cells run one after the other: they are not a forward and a backward",
        csv.in_turn));
  if (csv.older)
    found.notes.emplace_back("letters of PyTorch 2.5: B beside W is read as I, and BW as B");
  return found;
}

Import import_layout(std::string_view content, const std::string& source, const Scenario& into) {
  const std::vector<LayoutStage> layout = parse_megatron_layout(content, source);
  if (into.model.blocks.empty())
    throw Error(
        Error::Kind::InvalidInput,
        "expected a model beside the layout, which says nothing of how many layers it is of",
        {"--model"});
  const StageSplit split = split_of(layout, into.model, source);
  const auto stages = static_cast<int>(layout.size());
  const int pp = into.plan.mesh.pp > 1 ? into.plan.mesh.pp : stages;
  if (stages % pp != 0)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("{} stages do not divide over pp {}", stages, pp), {source});
  Import found{"Megatron pipeline layout", {}, {}};
  found.settings = {fmt::format("pp={}", pp), fmt::format("virtual-stages={}", stages / pp),
                    fmt::format("schedule={}", stages > pp ? "interleaved" : "1f1b"),
                    fmt::format("split={}", fmt::join(split.layers, ","))};
  return found;
}

Exported write_csv(const Workload& w) {
  return {pipeline_csv(order(w, schedule_shape(w, phase_times(w, *cost_model(w.scenario)))))};
}

Exported write_layout(const Workload& w) { return {megatron_layout(w.scenario)}; }

// Arithmetic of one sample's forward pass.
double forward_flops(const Model& model) {
  double flops = 0;
  const Binding binding;
  const Precision precision;
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      flops += block.count *
               node.op->work({block.graph, node, binding, precision}, Pass::Forward).flops.value;
  return flops;
}

Exported write_program_of(const Workload& w, const std::string& checkpoint) {
  constexpr double kMostFlops = 4e9;  // a person waits for them
  check_for_microcontroller(w.scenario.model);
  MicrocontrollerQuestion question;
  question.start_from = checkpoint;
  question.calibration = question.samples = static_cast<std::int64_t>(
      std::clamp(kMostFlops / forward_flops(w.scenario.model), 1.0, 100.0));
  return microcontroller_program(microcontroller_network(w, question), nullptr);
}

Exported write_program(const Workload& w) { return write_program_of(w, ""); }

template <Exported (*write)(const Scenario&)>
Exported of_scenario(const Workload& w) {
  return write(w.scenario);
}

constexpr std::array kFormats = {
    ExportFormat{"megatron-lm", "Megatron-LM launch script", "sh", of_scenario<megatron_lm>},
    ExportFormat{"megatron-bridge", "Megatron-Bridge launch script", "sh",
                 of_scenario<megatron_bridge>},
    ExportFormat{"deepspeed", "DeepSpeed configuration", "json", of_scenario<deepspeed>},
    ExportFormat{"slurm", "Slurm job", "sbatch", of_scenario<slurm>},
    ExportFormat{"torchtitan", "torchtitan configuration", "toml", of_scenario<torchtitan>},
    ExportFormat{"pytorch-csv", "PyTorch pipeline CSV", "csv", write_csv},
    ExportFormat{"megatron-layout", "Megatron pipeline layout", "txt", write_layout},
    ExportFormat{kMicrocontrollerFormat, "Microcontroller program (C99)", "c", write_program,
                 write_program_of}};

}  // namespace

Import import_text(std::string_view content, const std::string& source, const Scenario& into) {
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos)
    throw Error(Error::Kind::InvalidInput,
                "expected PyTorch's pipeline CSV or Megatron's pipeline layout, found nothing",
                {source});
  if (std::string_view(",\"0123456789").find(content[first]) != std::string_view::npos)
    return import_csv(content, source, into);
  if (std::string_view("EtmL(|").find(content[first]) != std::string_view::npos)
    return content[first] == '(' && looks_like_pipeline_csv(content) &&
                   content.find(';') != std::string_view::npos
               ? import_csv(content, source, into)
               : import_layout(content, source, into);
  throw Error(Error::Kind::InvalidInput,
              "expected PyTorch's pipeline CSV (\"0F0,0F1,...\") or Megatron's pipeline layout "
              "(\"Et*3|t*4L\")",
              {source});
}

std::span<const ExportFormat> export_formats() { return kFormats; }

std::string export_names() {
  std::string text;
  for (const ExportFormat& format : kFormats) {
    if (&format != &kFormats.front()) text += &format == &kFormats.back() ? " or " : ", ";
    text += format.name;
  }
  return text;
}

const ExportFormat& export_format(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ExportFormat& format : kFormats) {
    if (format.name == name) return format;
    names.push_back(format.name);
  }
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected {}, found \"{}\"{}", export_names(), name.substr(0, 80),
                          did_you_mean(name.substr(0, 80), names)),
              {"--to"});
}

}  // namespace trainyard
