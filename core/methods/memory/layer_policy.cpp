#include "core/methods/memory/layer_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "core/base/nearest.h"

namespace trainyard {
namespace {

using PolicyKind = LayerPolicy::Kind;
constexpr std::string_view kInput = "input";  // always kept, so keep=input means that nothing else
                                              // is
struct Vocabulary {
  std::string_view key;               // of --set
  std::span<const PolicyKind> words;  // kinds that are one word
  PolicyKind listed;                  // the kind that lists nodes
  std::string_view fix;               // what every model has
};
constexpr PolicyKind kRecomputeWords[] = {PolicyKind::None, PolicyKind::Selective, PolicyKind::Op,
                                          PolicyKind::Full};
constexpr PolicyKind kOffloadWords[] = {PolicyKind::None, PolicyKind::All,
                                        PolicyKind::Convolutions};

Vocabulary vocabulary(PolicyWords words) {
  if (words == PolicyWords::Recompute)
    return {"recompute", kRecomputeWords, PolicyKind::Keep, "recompute=full"};
  return {"offload-layers", kOffloadWords, PolicyKind::Made, "offload-layers=all"};
}

// Returns the word of a kind, or what a list of nodes begins with.
std::string_view word(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::None:
      return "none";
    case PolicyKind::Selective:
      return "selective";
    case PolicyKind::Op:
      return "op";
    case PolicyKind::Full:
      return "full";
    case PolicyKind::Keep:
      return "keep=";
    case PolicyKind::All:
      return "all";
    case PolicyKind::Convolutions:
      return "convolutions";
    case PolicyKind::Made:
      return "made=";
  }
  return "";
}

constexpr int kMostLayers = 1'000'000;
constexpr std::size_t kMostRuns = 100'000;
// Returns the parts between separators; empty parts are refused.
std::vector<std::string_view> parts(std::string_view text, char separator, const Place& place) {
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t at = text.find(separator);
    found.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return found;
    text.remove_prefix(at + 1);
    if (found.size() > kMostRuns)
      refuse(place.text, "expected at most 100000 runs of layers, found more");
  }
}

bool stands_as_written(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

std::string written(std::string_view name) {
  std::string text;
  for (const char c : name)
    text += stands_as_written(c) ? std::string(1, c)
                                 : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return text;
}

std::string read_name(std::string_view text, std::string_view list, const Place& place) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const std::string_view digits = text[i] == '%' ? text.substr(i + 1, 2) : std::string_view();
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const bool escaped =
        digits.size() == 2 && failure == std::errc() && end == digits.data() + digits.size();
    if (!escaped && !stands_as_written(text[i])) {
      name.clear();
      break;
    }
    name += escaped ? static_cast<char>(value) : text[i];
    if (escaped) i += 2;
  }
  if (name.empty())
    refuse(place.text,
           fmt::format("expected names of nodes joined by +, as in {}attention+act, found \"{}\"",
                       list, text.substr(0, 80)));
  return name;
}

LayerPolicy parse_list(PolicyKind kind, std::string_view names, const Place& place) {
  LayerPolicy policy{kind};
  for (const std::string_view text : parts(names, '+', place))
    if (std::string name = read_name(text, word(kind), place);
        kind != PolicyKind::Keep || name != kInput)
      policy.kept.push_back(std::move(name));
  std::sort(policy.kept.begin(), policy.kept.end());
  policy.kept.erase(std::unique(policy.kept.begin(), policy.kept.end()), policy.kept.end());
  return policy;
}

PolicyRun parse_run(std::string_view text, const Place& place, PolicyWords words) {
  PolicyRun run;
  const std::size_t star = text.find('*');
  run.policy = parse_layer_policy(text.substr(0, star), place, words);
  if (star == std::string_view::npos) return run;
  const std::string_view count = text.substr(star + 1);
  const auto [end, failure] =
      std::from_chars(count.data(), count.data() + count.size(), run.layers);
  if (failure != std::errc() || end != count.data() + count.size() || run.layers < 1 ||
      run.layers > kMostLayers)
    refuse(place.text,
           fmt::format("expected a whole number of layers from 1 to {} after *, found \"{}\"",
                       kMostLayers, count.substr(0, 80)));
  return run;
}

StagePolicies parse_stage(std::string_view text, const Place& place, PolicyWords words) {
  StagePolicies runs;
  for (const std::string_view one : parts(text, ',', place)) {
    if (!runs.empty() && runs.back().layers == 0)
      refuse(place.text,
             fmt::format("expected a count, as in {}*4: only the last run takes what is left",
                         to_text(runs.back().policy).substr(0, 80)));
    runs.push_back(parse_run(one, place, words));
  }
  return runs;
}

std::int64_t counted(const StagePolicies& runs) {
  std::int64_t sum = 0;
  for (const PolicyRun& run : runs) sum += run.layers;
  return sum;
}

std::vector<std::string_view> layer_nodes(const Model& model) {
  std::vector<std::string_view> names;
  for (const Block& block : model.blocks)
    if (block.layer)
      for (const Node& node : block.graph.nodes) names.push_back(node.name);
  return names;
}

}  // namespace

LayerPolicy parse_layer_policy(std::string_view text, const Place& place, PolicyWords words) {
  const Vocabulary of = vocabulary(words);
  for (const PolicyKind kind : of.words)
    if (text == word(kind)) return {kind};
  const std::string_view list = word(of.listed);
  if (text.substr(0, list.size()) == list)
    return parse_list(of.listed, text.substr(list.size()), place);
  std::vector<std::string_view> legal;
  std::string named;
  for (const PolicyKind kind : of.words) {
    legal.push_back(word(kind));
    named += (named.empty() ? "" : ", ") + std::string(word(kind));
  }
  refuse(place.text, fmt::format("expected {} or {}<nodes>, found \"{}\"{}", named, list,
                                 text.substr(0, 80), did_you_mean(text.substr(0, 80), legal)));
}

RecomputePolicies parse_policies(std::string_view text, const Place& place, PolicyWords words) {
  RecomputePolicies policies;
  for (const std::string_view stage : parts(text, '/', place))
    policies.stages.push_back(parse_stage(stage, place, words));
  return policies;
}

std::string to_text(const LayerPolicy& policy) {
  std::string text(word(policy.kind));
  if (policy.kind != PolicyKind::Keep && policy.kind != PolicyKind::Made) return text;
  for (std::size_t i = 0; i < policy.kept.size(); ++i)
    text += (i == 0 ? "" : "+") + written(policy.kept[i]);
  return text + (policy.kept.empty() ? std::string(kInput) : "");
}

std::string to_text(const StagePolicies& runs) {
  std::string text;
  for (const PolicyRun& run : runs) {
    text += (text.empty() ? "" : ",") + to_text(run.policy);
    if (run.layers > 0) text += "*" + std::to_string(run.layers);
  }
  return text;
}

std::string to_text(const RecomputePolicies& policies) {
  std::string text;
  for (const StagePolicies& stage : policies.stages)
    text += (text.empty() ? "" : "/") + to_text(stage);
  return text;
}

RecomputePolicies policies_of(const Plan& plan) {
  const Choice* chosen = find_choice(plan, "recompute");
  if (chosen == nullptr || !chosen->params.has("policy")) return {{{PolicyRun{}}}};
  const std::string& policy = chosen->params.text("policy");
  if (policy != "blocks") return parse_policies(policy, {"plan#/choices/recompute/policy"});
  const std::int64_t blocks =
      chosen->params.has("blocks") ? chosen->params.integer("blocks") : std::int64_t{0};
  if (blocks <= 0) return {{{PolicyRun{}}}};
  return {{{PolicyRun{{LayerPolicy::Kind::Full}, static_cast<int>(blocks)}, PolicyRun{}}}};
}

StagePolicies policies_of(const RecomputePolicies& policies, std::size_t stage, int layers) {
  const StagePolicies& runs =
      policies
          .stages[policies.stages.size() == 1 ? 0 : std::min(stage, policies.stages.size() - 1)];
  StagePolicies found;
  const auto add = [&](const LayerPolicy& policy, int count) {
    if (count == 0) return;
    if (!found.empty() && found.back().policy == policy)
      found.back().layers += count;
    else
      found.push_back({policy, count});
    layers -= count;
  };
  for (const PolicyRun& run : runs)
    add(run.policy, run.layers == 0 ? layers : std::min(run.layers, layers));
  add({}, layers);
  return found;
}

Diagnostics check_policies(const RecomputePolicies& policies, const Model& model,
                           const std::vector<int>& layers, const Place& place, PolicyWords words) {
  const Vocabulary of = vocabulary(words);
  Diagnostics found;
  const auto wrong = [&](std::string sentence) {
    found.push_back({Diagnostic::Severity::Error, std::move(sentence), place, std::string(of.fix)});
  };
  const std::vector<std::string_view> nodes = layer_nodes(model);
  for (const StagePolicies& stage : policies.stages)
    for (const PolicyRun& run : stage)
      for (const std::string& name : run.policy.kept)
        if (found.empty() && name != kInput &&
            std::find(nodes.begin(), nodes.end(), name) == nodes.end())
          wrong(fmt::format("no layer of {} has a node \"{}\"{}", model.name, name.substr(0, 80),
                            did_you_mean(name.substr(0, 80), nodes)));
  const bool each = policies.stages.size() > 1;
  if (each && policies.stages.size() != layers.size()) {
    wrong(fmt::format("{} lists {} stages, and the plan has {}", of.key, policies.stages.size(),
                      layers.size()));
    return found;
  }
  const int most = *std::max_element(layers.begin(), layers.end());
  for (std::size_t s = 0; s < policies.stages.size(); ++s)
    if (const std::int64_t wanted = counted(policies.stages[s]), have = each ? layers[s] : most;
        wanted > have)
      wrong(fmt::format("{}={} asks for more layers than {} has ({} of {})", of.key,
                        to_text(policies.stages[s]).substr(0, 80),
                        each ? fmt::format("stage {}", s) : "a stage", wanted, have));
  return found;
}

}  // namespace trainyard
