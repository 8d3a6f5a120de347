#include "core/exporters/exported.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cluster/mixed.h"
#include "core/methods/catalogue.h"
#include "core/methods/data/evaluation.h"
#include "core/methods/data/input.h"
#include "core/methods/parallel/adasum.h"
#include "core/methods/parallel/compression.h"
#include "core/methods/parallel/operator_stages.h"
#include "core/methods/parallel/optimizer_norms.h"
#include "core/methods/parallel/relaxed_synchrony.h"
#include "core/methods/parallel/ulysses_layers.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/methods/settings/settings.h"
#include "core/plan/batch_ramp.h"
#include "core/plan/shared_statistics.h"
#include "core/plan/spatial_partition.h"

namespace trainyard {
namespace {

constexpr std::size_t kWidth = 96;

std::string printable(std::string_view text) {
  std::string plain(text);
  for (char& c : plain)
    if (c < ' ' || c > '~') c = '?';
  return plain;
}

}  // namespace

void Limits::refuse(std::string_view place, std::string sentence, std::string fix) {
  found_.push_back({Diagnostic::Severity::Error,
                    fmt::format("{} cannot say it: {}", target_, sentence),
                    {std::string(place)},
                    std::move(fix)});
}

void Limits::warn(std::string_view place, std::string sentence, std::string fix) {
  found_.push_back(
      {Diagnostic::Severity::Warning, std::move(sentence), {std::string(place)}, std::move(fix)});
}

void Limits::throw_if_refused() const {
  try {
    throw_if_errors(found_);
  } catch (const Error& all) {
    throw Error(Error::Kind::Unsupported, all.what(), all.place());
  }
}

Diagnostics Limits::of(Diagnostic::Severity severity) const {
  Diagnostics some;
  std::copy_if(found_.begin(), found_.end(), std::back_inserter(some),
               [&](const Diagnostic& d) { return d.severity == severity; });
  return some;
}

void refuse_frozen(const Scenario& s, Limits& limits, std::string_view instead) {
  if (find_choice(s.plan, "tensor-train") != nullptr)
    limits.refuse("plan#/choices/tensor-train", "it keeps embedding tables whole", "tt-rank=off");
  for (const char* method : {"lora", "frozen"})
    if (find_choice(s.plan, method) != nullptr)
      limits.refuse(fmt::format("plan#/choices/{}", method),
                    fmt::format("it trains all weights of a model; {}", instead),
                    method == std::string_view("lora") ? "lora=off" : "frozen=none");
}

World world_of(const Scenario& s, Limits& limits) {
  if (is_mixed(s.cluster))
    limits.refuse("cluster#/mixed",
                  fmt::format("it is written for equal devices, and this cluster has {} kinds",
                              kinds(s.cluster)));
  World world{s.cluster.count, 1, std::min(devices_per_node(s.cluster), s.cluster.count)};
  world.nodes = (world.devices + world.per_node - 1) / world.per_node;
  if (world.devices % world.per_node != 0)
    limits.refuse("cluster",
                  fmt::format("launchers start as many processes on every node, and {} devices "
                              "leave a node of {} filled in part",
                              world.devices, world.per_node),
                  fmt::format("{} devices", world.devices / world.per_node * world.per_node));
  return world;
}

std::vector<std::string> about_lines(const Scenario& s, std::string_view program) {
  std::vector<std::string> lines = {fmt::format("{} on {} x {}", printable(s.model.name),
                                                s.cluster.count, printable(s.cluster.device.name)),
                                    fmt::format("For {}.", program),
                                    "Written by Trainyard from this plan:", ""};
  for (const Setting& setting : settings()) {
    const std::string value = printable(setting.read(s.plan));
    if (value.empty() || value == "own") continue;
    const std::string word = fmt::format("{}={}", setting.key, value);
    std::string& line = lines.back();
    if (line.empty())
      line = fmt::format("  {}", word);
    else if (line.size() + 1 + word.size() <= kWidth)
      line += fmt::format(" {}", word);
    else
      lines.push_back(fmt::format("  {}", word));
  }
  return lines;
}

std::string plain_name(std::string_view text) {
  std::string plain(text.substr(0, 64));
  for (char& c : plain) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '.' && c != '-' && c != '_') c = '-';
  }
  return plain.empty() ? "plan" : plain;
}

std::string one_stage_a_device(const Plan& plan) {
  if (plan.virtual_stages == 1) return "schedule=1f1b";
  return chosen_on(plan, MethodAxis::Schedule) == nullptr ? "virtual-stages=1"
                                                          : "virtual-stages=1 schedule=1f1b";
}

Params params_of(const Plan& plan, std::string_view name) {
  const Choice* chosen = find_choice(plan, name);
  return with_defaults(chosen == nullptr ? Params{} : chosen->params, method(name).params);
}

void refuse_batch_ramp(const Plan& plan, Limits& limits) {
  if (batch_phases(plan).size() > 1)
    limits.refuse(
        "plan#/choices/batch-ramp",
        "its batch is one number for the whole training; Megatron-LM has batches that grow",
        "batch-ramp=off");
}

void refuse_evaluation(const Plan& plan, Limits& limits) {
  if (evaluation_of(plan))
    limits.refuse("plan#/choices/evaluation",
                  "it is told when to evaluate where it is started, and not by a plan",
                  "evaluation=none");
}

void refuse_input(const Plan& plan, Limits& limits) {
  if (input_of(plan))
    limits.refuse("plan#/choices/input",
                  "it reads samples as its data loader is told where it is started, and not by a "
                  "plan",
                  "input=none");
}

void refuse_reduce(const Plan& plan, Limits& limits) {
  if (reduce_of(plan) != Reduce::Mean)
    limits.refuse("plan#/choices/adasum",
                  std::string("its replicas take the mean of their gradients") +
                      (reduce_of(plan) == Reduce::Sum ? "" : "; Horovod has Adasum (op=Adasum)"),
                  "reduce=mean");
  if (compression_of(plan).how != Compress::None)
    limits.refuse("plan#/choices/compression", "its replicas send their gradients whole",
                  "compression=none");
  if (shares_norms(plan))
    limits.refuse("plan#/choices/optimizer-norms", "each of its replicas finds all norms",
                  "optimizer-norms=replicated");
  if (shares_statistics(plan))
    limits.refuse("plan#/choices/batch-norm-statistics",
                  "its batch norms see the samples of their own replica", "batch-norm=replica");
  if (synchrony_of(plan).relaxed())
    limits.refuse("plan#/choices/sync", "its replicas add up their gradients in every step",
                  "sync=bsp");
}

void refuse_divided_images(const Plan& plan, Limits& limits) {
  if (divides_images(plan))
    limits.refuse("plan#/mesh/cp", "each of its devices has whole images", "cp=1");
}

void refuse_sparse(const Plan& plan, Limits& limits) {
  if (find_choice(plan, "sparse") != nullptr)
    limits.refuse("plan#/choices/sparse", "it stores all weights of a model as matrices",
                  "sparsity=off");
}

void refuse_formats(const Plan& plan, std::initializer_list<std::string_view> params,
                    Limits& limits) {
  if (find_choice(plan, kTensorFormats) == nullptr) return;
  struct Words {
    std::string_view param, sentence, fix;
  };
  constexpr Words kWords[] = {
      {kFirstMoment, "its optimizer keeps moments in fp32", "first-moment-dtype=fp32"},
      {kSecondMoment, "its optimizer keeps moments in fp32", "second-moment-dtype=fp32"},
      {kMainWeights, "it keeps main weights whole", "main-weights-dtype=fp32"},
      {kReduceFormat, "its gradients travel in the format in which they add up",
       "reduce-dtype=gradients"},
      {kBoundaryFormat, "its stages send activations in the format that they have",
       "boundary-dtype=activations"},
      {kGatherFormat, "it gathers weights in the format that they have", "gather-dtype=weights"}};
  const Params chosen = params_of(plan, kTensorFormats);
  const Params own = with_defaults({}, method(kTensorFormats).params);
  for (const Words& words : kWords) {
    const bool asked = std::find(params.begin(), params.end(), words.param) != params.end();
    if (asked && chosen.text(words.param) != own.text(words.param))
      limits.refuse(fmt::format("plan#/choices/{}/{}", kTensorFormats, words.param),
                    std::string(words.sentence), std::string(words.fix));
  }
}

void refuse_operator_stages(const Plan& plan, Limits& limits) {
  if (cores_of_device(plan) > 1)
    limits.refuse("plan#/choices/operator-stages", "its devices run one operator after another",
                  "operator-stages=off");
}

void refuse_ulysses_layers(const Plan& plan, Limits& limits) {
  if (plan.mesh.tp > 1 && params_of(plan, "tensor-parallel").text(kUlyssesLayers) != "none")
    limits.refuse("plan#/choices/tensor-parallel",
                  "its tensor ranks divide the weights of all layers",
                  "tensor-parallel.ulysses-layers=none");
}

void warn_of_documents(const Plan& plan, Limits& limits) {
  if (params_of(plan, "packing").text("samples") == "none") return;
  limits.warn("plan#/choices/packing",
              "which documents a sample has is a matter of data there: what is written reads "
              "samples of one text each, and attention goes across all of it",
              "packing=none");
}

}  // namespace trainyard
