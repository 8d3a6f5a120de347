#include "core/validation/recorded/trace_match.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace trainyard {
namespace {

struct Sign {
  std::string_view part;  // part of a name in lower case
  KernelFamily family;
};
// The first sign in a name decides: the main work of a fused kernel comes before its secondary work
// in this list.
constexpr Sign kSigns[] = {
    {"nccl", KernelFamily::Communication},
    {"rccl", KernelFamily::Communication},
    {"allreduce", KernelFamily::Communication},
    {"all_reduce", KernelFamily::Communication},
    {"reduce_scatter", KernelFamily::Communication},
    {"all_gather", KernelFamily::Communication},
    {"nvshmem", KernelFamily::Communication},
    {"multi_tensor_apply", KernelFamily::Optimizer},
    {"multitensorapply", KernelFamily::Optimizer},
    {"adam", KernelFamily::Optimizer},
    {"lamb", KernelFamily::Optimizer},
    {"sgd", KernelFamily::Optimizer},
    {"cross_entropy", KernelFamily::Loss},
    {"crossentropy", KernelFamily::Loss},
    {"nll_loss", KernelFamily::Loss},
    {"log_softmax", KernelFamily::Loss},
    {"logsoftmax", KernelFamily::Loss},
    {"flash", KernelFamily::Attention},
    {"fmha", KernelFamily::Attention},
    {"attention", KernelFamily::Attention},
    {"attn", KernelFamily::Attention},
    {"sdpa", KernelFamily::Attention},
    {"embedding", KernelFamily::Gather},
    {"indexselect", KernelFamily::Gather},
    {"index_select", KernelFamily::Gather},
    {"indexing_backward", KernelFamily::Gather},
    {"gemm", KernelFamily::Product},
    {"cutlass", KernelFamily::Product},
    {"cublas", KernelFamily::Product},
    {"wgmma", KernelFamily::Product},
    {"nvjet", KernelFamily::Product},
    {"splitk", KernelFamily::Product},
    {"convolve", KernelFamily::Product},
    {"cudnn", KernelFamily::Product},
    {"elementwise", KernelFamily::Elementwise},
    {"norm", KernelFamily::Elementwise},
    {"softmax", KernelFamily::Elementwise},
    {"gelu", KernelFamily::Elementwise},
    {"silu", KernelFamily::Elementwise},
    {"swiglu", KernelFamily::Elementwise},
    {"dropout", KernelFamily::Elementwise},
    {"rotary", KernelFamily::Elementwise},
    {"rope", KernelFamily::Elementwise},
    {"triton_poi", KernelFamily::Elementwise},
    {"triton_red", KernelFamily::Elementwise},
    {"triton_per", KernelFamily::Elementwise},
    {"reduce_kernel", KernelFamily::Elementwise},
    {"catarray", KernelFamily::Elementwise},
};

// Returns "mlp.c_fc" for "mlp.c_fc 3" of microbatch 3.
std::string_view without_number(std::string_view name) {
  const std::size_t blank = name.rfind(' ');
  if (blank == std::string_view::npos || blank + 1 == name.size()) return name;
  const std::string_view rest = name.substr(blank + 1);
  const bool digits =
      std::all_of(rest.begin(), rest.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return digits ? name.substr(0, blank) : name;
}

// Returns whether a point's name, such as "gate_proj, up_proj weight gradient", contains the node.
bool is_of_node(std::string_view point, std::string_view node) {
  for (std::size_t at = point.find(node); at != std::string_view::npos;
       at = point.find(node, at + 1)) {
    const std::size_t end = at + node.size();
    const bool begins = at == 0 || (at >= 2 && point.substr(at - 2, 2) == ", ");
    const bool ends = end == point.size() || point[end] == ' ' || point[end] == ',';
    if (begins && ends) return true;
  }
  return false;
}

// A recording of a run of the plan itself names its spans like the plan's nodes.
std::optional<KernelFamily> family_of_node(std::string_view kernel, const Roofline& roofline) {
  const std::string_view node = without_number(kernel);
  if (node.empty()) return std::nullopt;
  for (const auto* points : {&roofline.points, &roofline.bare})
    for (const RooflinePoint& p : *points)
      if (is_of_node(p.name, node)) return family_of_work(p.kind);
  return std::nullopt;
}

std::optional<KernelFamily> family_of(const RecordedKernel& kernel, const Roofline& roofline) {
  if (kernel.kind == RecordedKind::Communication) return KernelFamily::Communication;
  if (const auto family = family_of_node(kernel.name, roofline)) return family;
  return family_of_kernel(kernel.name);
}

double ratio(const MatchedFamily& f) { return to_seconds(f.measured) / to_seconds(f.predicted); }

void hold_out(std::vector<MatchedFamily>& families) {
  for (MatchedFamily& one : families) {
    std::vector<double> others;
    for (const MatchedFamily& other : families)
      if (&other != &one) others.push_back(ratio(other));
    if (others.empty()) continue;
    std::sort(others.begin(), others.end());
    const std::size_t half = others.size() / 2;
    const double middle =
        others.size() % 2 == 1 ? others[half] : (others[half - 1] + others[half]) / 2;
    one.held_out = seconds(to_seconds(one.predicted) * middle);
  }
}

void most_time_first(std::vector<UnmatchedWork>& list) {
  std::stable_sort(list.begin(), list.end(),
                   [](const UnmatchedWork& a, const UnmatchedWork& b) { return a.time > b.time; });
}

}  // namespace

const char* to_string(KernelFamily family) {
  constexpr const char* kNames[] = {"products", "attention", "element-wise", "lookups",
                                    "loss",     "optimizer", "communication"};
  return kNames[static_cast<std::size_t>(family)];
}

std::optional<KernelFamily> family_of_kernel(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // PyTorch's element-wise kernels are templates of C++ lambdas, which are not the optimizer LAMB.
  constexpr std::string_view kLambda = "lambda";
  for (std::size_t at = lower.find(kLambda); at != std::string::npos; at = lower.find(kLambda, at))
    lower.erase(at, kLambda.size());
  for (const Sign& sign : kSigns)
    if (lower.find(sign.part) != std::string::npos) return sign.family;
  return std::nullopt;
}

KernelFamily family_of_work(WorkKind kind) {
  switch (kind) {
    case WorkKind::Product:
      return KernelFamily::Product;
    case WorkKind::Attention:
      return KernelFamily::Attention;
    case WorkKind::Gather:
      return KernelFamily::Gather;
    case WorkKind::Loss:
      return KernelFamily::Loss;
    case WorkKind::Optimizer:
      return KernelFamily::Optimizer;
    case WorkKind::Elementwise:
      break;
  }
  return KernelFamily::Elementwise;
}

TraceMatch match_trace(const std::vector<RecordedKernel>& recorded, std::int64_t steps,
                       std::int64_t devices, const Roofline& roofline, std::int64_t ranks) {
  std::array<MatchedFamily, kKernelFamilies> all;
  for (std::size_t i = 0; i < kKernelFamilies; ++i) all[i].family = static_cast<KernelFamily>(i);
  const auto of = [&](KernelFamily f) -> MatchedFamily& {
    return all[static_cast<std::size_t>(f)];
  };
  std::vector<UnmatchedWork> planned;  // by node, with the family in `why`
  const auto plan = [&](KernelFamily family, const std::string& name, Duration time,
                        std::int64_t calls) {
    of(family).predicted += time / ranks;
    of(family).nodes.push_back(name);
    planned.push_back({name, to_string(family), time / ranks, calls / ranks});
  };
  for (const auto* points : {&roofline.points, &roofline.bare})
    for (const RooflinePoint& p : *points) plan(family_of_work(p.kind), p.name, p.time, p.calls);
  for (const LinkPoint& p : roofline.traffic)
    plan(KernelFamily::Communication, p.name + " group", p.time, ranks);

  TraceMatch match;
  std::vector<RecordedKernel> kernels;
  for (const RecordedKernel& kernel : recorded)
    if (kernel.kind != RecordedKind::Transfer && kernel.kind != RecordedKind::Host)
      kernels.push_back(kernel);
  std::stable_sort(
      kernels.begin(), kernels.end(),
      [](const RecordedKernel& a, const RecordedKernel& b) { return a.time > b.time; });
  const std::int64_t share = steps * devices;
  Duration whole{}, matched{};
  for (const RecordedKernel& kernel : kernels) {
    whole += kernel.time;
    const auto family = family_of(kernel, roofline);
    if (!family || of(*family).predicted.count() <= 0) {
      match.kernels.push_back(
          {kernel.name,
           family ? std::string("the plan has no ") + to_string(*family) : "unknown kernel name",
           kernel.time / share, kernel.count / share});
      continue;
    }
    matched += kernel.time;
    of(*family).measured += kernel.time / share;
    of(*family).measured_calls += kernel.count / share;
    of(*family).kernels.push_back(kernel.name);
  }
  for (MatchedFamily& family : all)
    if (family.measured.count() > 0) match.families.push_back(std::move(family));
  for (UnmatchedWork& node : planned)
    if (std::none_of(match.families.begin(), match.families.end(),
                     [&](const MatchedFamily& f) { return node.why == to_string(f.family); })) {
      node.why = "the recording has no kernels of " + node.why;
      match.nodes.push_back(std::move(node));
    }
  hold_out(match.families);
  most_time_first(match.kernels);
  most_time_first(match.nodes);
  match.matched = whole.count() > 0 ? to_seconds(matched) / to_seconds(whole) : 0;
  return match;
}

}  // namespace trainyard
