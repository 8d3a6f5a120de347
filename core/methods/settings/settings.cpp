#include "core/methods/settings/settings.h"

#include <algorithm>
#include <charconv>

#include "core/base/nearest.h"
#include "core/methods/catalogue.h"
#include "core/methods/memory/layer_policy.h"
#include "core/methods/settings/software_settings.h"
#include "core/methods/settings/trained_settings.h"
#include "core/plan/balanced.h"
#include "core/plan/batch_ramp.h"
#include "core/plan/plan_limits.h"
#include "core/program/order.h"

namespace trainyard {
namespace {

[[noreturn]] void refuse_value(const Place& place, const std::string& expected,
                               std::string_view found) {
  throw Error(Error::Kind::InvalidInput,
              "expected " + expected + ", found \"" + std::string(found.substr(0, 80)) + "\"",
              place);
}

std::int64_t whole_number(std::string_view value, std::int64_t low, std::int64_t high,
                          const Place& place) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool all = end == value.data() + value.size() && !value.empty();
  if (failure == std::errc::result_out_of_range ||
      (failure == std::errc() && all && (number < low || number > high)))
    refuse_value(
        place, "a whole number from " + std::to_string(low) + " to " + std::to_string(high), value);
  if (failure != std::errc() || !all)
    refuse_value(place, "a whole number such as " + std::to_string(std::max<std::int64_t>(low, 8)),
                 value);
  return number;
}

bool on_off(std::string_view value, const Place& place) {
  if (value == "on" || value == "true") return true;
  if (value == "off" || value == "false") return false;
  refuse_value(place, "on or off", value);
}

std::string on_off(bool value) { return value ? "on" : "off"; }

int degree(std::string_view value, const Place& place) {
  return static_cast<int>(whole_number(value, 1, 1'000'000, place));
}

/// A parameter of a chosen method, or of its defaults where the plan does not choose it.
const ParamSpec& spec_of(const Method& m, std::string_view name) {
  return *std::find_if(m.params.begin(), m.params.end(),
                       [&](const ParamSpec& s) { return s.name == name; });
}

void set_param(Plan& plan, std::string_view method_name, std::string_view param,
               std::string_view value, const Place& place) {
  const Method& m = method(method_name);
  choice(plan, method_name)
      .params.set(std::string(param), parse_param(spec_of(m, param), value, place));
}

std::string read_param(const Plan& plan, std::string_view method_name, std::string_view param) {
  const Choice* chosen = find_choice(plan, method_name);
  if (chosen == nullptr) return "";
  const auto found = chosen->params.values().find(param);
  return to_text(found != chosen->params.values().end()
                     ? found->second
                     : spec_of(method(method_name), param).fallback);
}

std::vector<std::string_view> names_on(MethodAxis axis) {
  std::vector<std::string_view> names;
  for (const Method& m : methods())
    if (m.axis == axis) names.push_back(m.name);
  return names;
}

std::string list(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += std::string(i == 0                  ? ""
                        : i + 1 == words.size() ? " or "
                                                : ", ") +
            std::string(words[i]);
  return text;
}

// A plan has only one method on an exclusive axis, so choosing another replaces it.
void choose_on(Plan& plan, MethodAxis axis, std::string_view value, const Place& place) {
  const std::vector<std::string_view> names = names_on(axis);
  if (std::find(names.begin(), names.end(), value) == names.end())
    throw Error(Error::Kind::InvalidInput,
                "expected " + list(names) + ", found \"" + std::string(value.substr(0, 80)) + "\"" +
                    did_you_mean(value.substr(0, 80), names),
                place);
  for (std::string_view name : names)
    if (name != value) remove_choice(plan, name);
  choice(plan, value);
}

void set_schedule(Plan& plan, std::string_view value, const Place& place) {
  choose_on(plan, MethodAxis::Schedule, value, place);
}

bool has_gradient_dtype(std::string_view precision) {
  const std::vector<ParamSpec>& params = method(precision).params;
  return std::any_of(params.begin(), params.end(),
                     [](const ParamSpec& s) { return s.name == "gradient-dtype"; });
}

void set_precision(Plan& plan, std::string_view value, const Place& place) {
  std::string gradient;
  if (const Choice* before = chosen_on(plan, MethodAxis::Precision);
      before != nullptr && before->params.has("gradient-dtype"))
    gradient = before->params.text("gradient-dtype");
  choose_on(plan, MethodAxis::Precision, value, place);
  if (gradient == "fp32" && has_gradient_dtype(value))
    choice(plan, value).params.set("gradient-dtype", gradient);
}

void set_gradient_dtype(Plan& plan, std::string_view value, const Place& place) {
  const Choice* precision = chosen_on(plan, MethodAxis::Precision);
  const std::string name = precision == nullptr ? "bf16" : precision->method;
  if (!has_gradient_dtype(name))
    refuse_value(place, "precision bf16, fp16, fp8, mxfp8 or nvfp4 beside gradient-dtype",
                 "precision=" + name);
  set_param(plan, name, "gradient-dtype", value, place);
}

void set_loss_scale(Plan& plan, std::string_view value, const Place& place) {
  const Choice* precision = chosen_on(plan, MethodAxis::Precision);
  if (precision == nullptr || precision->method != "fp16")
    refuse_value(place, "precision=fp16 before loss-scale",
                 precision == nullptr ? "no precision" : "precision=" + precision->method);
  if (value == "dynamic") return set_param(plan, "fp16", "dynamic", "true", place);
  set_param(plan, "fp16", "loss-scale", value, place);
  set_param(plan, "fp16", "dynamic", "false", place);
}

std::string read_loss_scale(const Plan& plan) {
  if (find_choice(plan, "fp16") == nullptr) return "";
  return read_param(plan, "fp16", "dynamic") == "true" ? "dynamic"
                                                       : read_param(plan, "fp16", "loss-scale");
}

void set_zero(Plan& plan, std::string_view value, const Place& place) {
  constexpr std::string_view kHybrid = "hybrid=";
  if (value.substr(0, kHybrid.size()) == kHybrid) {
    set_param(plan, "zero", "stage", "3", place);
    return set_param(plan, "zero", "shard", value.substr(kHybrid.size()), place);
  }
  if (value == "fsdp") value = "3";
  if (value.size() != 1 || value[0] < '0' || value[0] > '3')
    refuse_value(place, "0, 1, 2, 3 (FSDP) or hybrid=<ranks>", value);
  set_param(plan, "zero", "stage", value, place);
}

// This accepts torchtitan's words beside on and off; its default depends on the pipeline.
void set_reshard(Plan& plan, std::string_view value, const Place& place) {
  if (value == "default") value = plan.mesh.pp == 1 ? "on" : "off";
  if (value == "always" || value == "never") value = value == "always" ? "on" : "off";
  set_param(plan, "zero", "reshard", value, place);
}

// Reads "4,4,2,0": the number of layers of each virtual stage that recompute in full.
RecomputePolicies full_blocks(std::string_view counts, const Place& place) {
  RecomputePolicies policies;
  for (std::string_view rest = counts;;) {
    const std::size_t comma = rest.find(',');
    const auto count = static_cast<int>(whole_number(rest.substr(0, comma), 0, 1'000'000, place));
    StagePolicies stage;
    if (count > 0) stage.push_back({{LayerPolicy::Kind::Full}, count});
    stage.push_back({});
    policies.stages.push_back(std::move(stage));
    if (comma == std::string_view::npos) return policies;
    rest.remove_prefix(comma + 1);
    if (policies.stages.size() > 100'000) refuse_value(place, "at most 100000 stages", "more");
  }
}

void set_policies(Plan& plan, const RecomputePolicies& policies) {
  choice(plan, "recompute").params.set("policy", to_text(policies));
  choice(plan, "recompute").params.set("blocks", std::int64_t{0});
}

void set_recompute(Plan& plan, std::string_view value, const Place& place) {
  constexpr std::string_view kBlocks = "blocks=";
  if (value.substr(0, kBlocks.size()) == kBlocks) {
    const std::string_view counts = value.substr(kBlocks.size());
    if (counts.find(',') != std::string_view::npos)
      return set_policies(plan, full_blocks(counts, place));
    whole_number(counts, 1, 1'000'000, place);
    set_param(plan, "recompute", "policy", "blocks", place);
    return set_param(plan, "recompute", "blocks", counts, place);
  }
  if (value == "optimal" || value.substr(0, 8) == "optimal:")
    throw Error(Error::Kind::InvalidInput,
                "expected a plan's own recomputation, found \"" + std::string(value.substr(0, 80)) +
                    "\", which is chosen when a model and a cluster are opened with --set "
                    "recompute=optimal",
                place);
  const std::vector<std::string_view> words = {
      "none",    "selective",       "op",
      "full",    "blocks=<n>",      "keep=<nodes>",
      "optimal", "optimal:<bytes>", "runs such as full*4,none"};
  const bool legal = std::find(words.begin(), words.begin() + 4, value) != words.begin() + 4;
  if (!legal && value.find_first_of("=*,/") == std::string_view::npos)
    throw Error(Error::Kind::InvalidInput,
                "expected " + list(words) + ", found \"" + std::string(value.substr(0, 80)) + "\"" +
                    did_you_mean(value.substr(0, 80), words),
                place);
  set_policies(plan, parse_policies(value, place));
}

std::string read_recompute(const Plan& plan) {
  const std::string policy = read_param(plan, "recompute", "policy");
  return policy == "blocks" ? "blocks=" + read_param(plan, "recompute", "blocks") : policy;
}

constexpr std::string_view kNoPacking = "none";

// A plan that keeps everything on its devices does not mention the host.
void set_offload(Plan& plan, std::string_view value, const Place& place) {
  set_param(plan, "offload", "host", value, place);
  if (value == "none") remove_choice(plan, "offload");
}

std::string read_offload(const Plan& plan) {
  const std::string kept = read_param(plan, "offload", "host");
  return kept.empty() ? "none" : kept;
}

void set_tier(Plan& plan, std::string_view value, const Place& place) {
  set_param(plan, "offload", "tier", value, place);
}

// The tier is of optimizer state: of a plan that moves activations alone, it is said where it is
// wrong.
std::string read_tier(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, "offload");
  if (chosen == nullptr) return "";
  const Params params = with_defaults(chosen->params, method("offload").params);
  const std::string& tier = params.text("tier");
  return params.text("host") == "activations" && tier == "host" ? "" : tier;
}

// A plan whose samples are whole texts does not mention documents, unless it states something else
// of them.
void set_packing(Plan& plan, std::string_view value, const Place& place) {
  const std::vector<std::string_view> words = {kNoPacking, "pad", "longest", "packed"};
  if (std::find(words.begin(), words.end(), value) == words.end())
    throw Error(Error::Kind::InvalidInput,
                "expected " + list(words) + ", found \"" + std::string(value.substr(0, 80)) + "\"" +
                    did_you_mean(value.substr(0, 80), words),
                place);
  const Choice* const chosen = find_choice(plan, "packing");
  const bool states_more =
      chosen != nullptr && (chosen->params.has("widths") || chosen->params.has("order") ||
                            !read_param(plan, "packing", "lengths").empty());
  if (value == kNoPacking && !states_more) return remove_choice(plan, "packing");
  set_param(plan, "packing", "samples", value, place);
}

std::string read_packing(const Plan& plan) {
  const std::string samples = read_param(plan, "packing", "samples");
  return samples.empty() ? std::string(kNoPacking) : samples;
}

// A plan whose batches are all the global one does not mention a ramp.
void set_batch_ramp(Plan& plan, std::string_view value, const Place& place) {
  set_param(plan, kBatchRamp, kBatchRampSizes, value, place);
  if (value == kNoBatchRamp) remove_choice(plan, kBatchRamp);
}

constexpr std::string_view kMean = "mean";

// A plan that takes the mean does not mention it.
void set_reduce(Plan& plan, std::string_view value, const Place& place) {
  set_param(plan, "adasum", "reduce", value, place);
  if (value == kMean) remove_choice(plan, "adasum");
}

std::string read_reduce(const Plan& plan) {
  const std::string word = read_param(plan, "adasum", "reduce");
  return word.empty() ? std::string(kMean) : word;
}

// A plan that compresses nothing does not mention it.
void set_compression(Plan& plan, std::string_view value, const Place& place) {
  set_param(plan, "compression", "kind", value, place);
  if (value == "none") remove_choice(plan, "compression");
}

std::string read_compression(const Plan& plan) {
  const std::string word = read_param(plan, "compression", "kind");
  return word.empty() ? "none" : word;
}

void set_overlap(Plan& plan, std::string_view value, const Place& place) {
  const bool on = on_off(value, place);
  for (const ParamSpec& spec : method("overlap").params)
    if (std::holds_alternative<bool>(spec.fallback))
      choice(plan, "overlap").params.set(std::string(spec.name), on);
}

// A plan file may turn the parts of overlap on and off one by one; then no single word describes
// it.
std::string read_overlap(const Plan& plan) {
  const Choice* chosen = find_choice(plan, "overlap");
  if (chosen == nullptr) return "";
  const Method& m = method("overlap");
  const Params params = with_defaults(chosen->params, m.params);
  const bool first = params.flag(m.params.front().name);
  for (const ParamSpec& spec : m.params)
    if (std::holds_alternative<bool>(spec.fallback) && params.flag(spec.name) != first) return "";
  return on_off(first);
}

constexpr std::string_view kBalanced = "balanced";

void set_split(Plan& plan, std::string_view value, const Place& place) {
  StageSplit split;
  if (value == kBalanced) {
    split = balanced_later();
  } else if (value != "even") {
    if (value.find_first_of("0123456789") == std::string_view::npos)
      refuse_value(place, "even, balanced or layers of each stage such as 10,10,9", value);
    while (true) {
      const std::size_t comma = value.find(',');
      split.layers.push_back(
          static_cast<int>(whole_number(value.substr(0, comma), 0, 1'000'000, place)));
      if (comma == std::string_view::npos) break;
      value.remove_prefix(comma + 1);
      if (split.layers.size() > 100'000) refuse_value(place, "at most 100000 stages", "more");
    }
  }
  plan.split = std::move(split);
}

std::string read_split(const Plan& plan) {
  if (plan.split.layers.empty()) return "even";
  if (is_balanced_later(plan.split)) return std::string(kBalanced);
  std::string text;
  for (int n : plan.split.layers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

void set_rank_order(Plan& plan, std::string_view value, const Place& place) {
  std::vector<std::string> axes;
  for (std::string_view rest = value;;) {
    const std::size_t dash = rest.find('-');
    axes.emplace_back(rest.substr(0, dash));
    if (dash == std::string_view::npos) break;
    rest.remove_prefix(dash + 1);
  }
  std::vector<std::string> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != std::vector<std::string>{"cp", "dp", "ep", "pp", "tp"})
    refuse_value(place, "tp, cp, ep, dp and pp once each, fastest first, as in tp-cp-ep-dp-pp",
                 value);
  plan.mesh.order = value;
}

constexpr std::string_view kOwnOrder = "own";

void set_order(Plan& plan, std::string_view value, const Place& place) {
  plan.order = value == kOwnOrder ? std::string() : to_text(parse_order(value, place));
}

std::string number(std::int64_t n) { return std::to_string(n); }
std::string given(std::int64_t n) { return n == 0 ? "" : std::to_string(n); }

std::vector<Setting> make_settings() {
  using P = Plan;
  using V = std::string_view;
  using L = const Place;
  return {
      {"tp",
       {"tensor-parallel", "tensor-model-parallel-size", "tensor-parallel-degree",
        "tensor-parallel-size"},
       "tensor-parallel degree",
       {},
       [](P& p, V v, L& l) { p.mesh.tp = degree(v, l); },
       [](const P& p) { return number(p.mesh.tp); }},
      {"pp",
       {"pipeline-parallel", "pipeline-model-parallel-size", "pipeline-parallel-degree",
        "pipeline-parallel-size"},
       "pipeline stages (devices in a row)",
       {},
       [](P& p, V v, L& l) { p.mesh.pp = degree(v, l); },
       [](const P& p) { return number(p.mesh.pp); }},
      {"dp",
       {"data-parallel", "data-parallel-size"},
       "data-parallel degree; rest = derived from the other degrees",
       {},
       [](P& p, V v, L& l) {
         if (v == "rest")
           p.mesh.dp.reset();
         else
           p.mesh.dp = degree(v, l);
       },
       [](const P& p) { return p.mesh.dp ? number(*p.mesh.dp) : std::string("rest"); }},
      {"cp",
       {"context-parallel", "context-parallel-size", "context-parallel-degree"},
       "context-parallel degree",
       {},
       [](P& p, V v, L& l) { p.mesh.cp = degree(v, l); },
       [](const P& p) { return number(p.mesh.cp); }},
      {"ep",
       {"expert-parallel", "expert-model-parallel-size", "expert-parallel-degree",
        "expert-parallel-size"},
       "expert-parallel degree, taken from dp x cp, or from tp x cp x dp if experts have no tensor "
       "parallelism",
       {},
       [](P& p, V v, L& l) { p.mesh.ep = degree(v, l); },
       [](const P& p) { return number(p.mesh.ep); }},
      {"etp",
       {"expert-tensor-parallel", "expert-tensor-parallel-size", "expert-tensor-parallel-degree"},
       "tensor ranks over which an expert is cut: tp, or 1 = each expert whole on one rank",
       {"tp", "1"},
       [](P& p, V v, L& l) {
         if (v == "tp")
           p.mesh.etp.reset();
         else
           p.mesh.etp = degree(v, l);
       },
       [](const P& p) { return p.mesh.etp ? number(*p.mesh.etp) : std::string("tp"); }},
      {"virtual-stages",
       {"virtual-pipeline-stages", "num-virtual-stages-per-pipeline-rank",
        "virtual-pipeline-model-parallel-size"},
       "virtual stages (chunks of layers) per device, interleaved",
       {},
       [](P& p, V v, L& l) {
         p.virtual_stages = static_cast<int>(whole_number(v, 1, kMostVirtualStages, l));
       },
       [](const P& p) { return number(p.virtual_stages); }},
      {"micro-batch",
       {"micro-batch-size", "train-micro-batch-size-per-gpu", "local-batch-size",
        "microbatch-size"},
       "samples of one microbatch on one data-parallel rank",
       {},
       [](P& p, V v, L& l) { p.batch.micro = whole_number(v, 1, 100'000'000, l); },
       [](const P& p) { return number(p.batch.micro); }},
      {"global-batch",
       {"global-batch-size", "train-batch-size"},
       "samples of one optimizer step",
       {},
       [](P& p, V v, L& l) { p.batch.global = whole_number(v, 1, 10'000'000'000, l); },
       [](const P& p) { return given(p.batch.global); }},
      {"batch-ramp",
       {"rampup-batch-size", "batch-rampup", "batch-size-rampup"},
       "batches that grow to the global one: off, START:INCREMENT:SAMPLES as in 16:16:5000000 "
       "(reached after SAMPLES samples), or steps:256@0,512@63000 (512 from 63,000 samples on)",
       {},
       set_batch_ramp,
       [](const P& p) { return read_param(p, kBatchRamp, kBatchRampSizes); }},
      {"seq",
       {"sequence", "seq-length", "seq-len", "sequence-length"},
       "tokens a sample",
       {},
       [](P& p, V v, L& l) { p.batch.sequence = whole_number(v, 1, 1'000'000'000, l); },
       [](const P& p) { return given(p.batch.sequence); }},
      {"packing",
       {"sequence-packing", "packed-sequence", "packed-sequences"},
       "documents in samples: none (a sample is one text), pad (one and padding), longest (padded "
       "to the longest of its microbatch), or packed (several, attention inside each)",
       {kNoPacking, "pad", "longest", "packed"},
       set_packing,
       read_packing},
      {"lengths",
       {"document-lengths"},
       "tokens of documents to pack or pad: fixed:512, uniform:64-1024, lognormal:600,1.1 (median, "
       "deviation of the logarithm) or histogram:128*3,512*1",
       {},
       [](P& p, V v, L& l) { set_param(p, "packing", "lengths", v, l); },
       [](const P& p) { return read_param(p, "packing", "lengths"); }},
      {"widths",
       {"packing-widths", "pad-to-multiple-of"},
       "with packing=longest, tokens that a microbatch may have: any, multiple:64, or buckets such "
       "as 128,256,512",
       {},
       [](P& p, V v, L& l) { set_param(p, "packing", "widths", v, l); },
       [](const P& p) { return read_param(p, "packing", "widths"); }},
      {"packing-order",
       {"group-by-length"},
       "with packing=longest, how documents of a step come to microbatches: drawn, or by-length",
       {"drawn", "by-length"},
       [](P& p, V v, L& l) { set_param(p, "packing", "order", v, l); },
       [](const P& p) { return read_param(p, "packing", "order"); }},
      {"split",
       {"stage-split", "layers-per-stage"},
       "layers of each virtual stage in order, even, or balanced (what makes the step shortest)",
       {},
       set_split,
       read_split},
      {"schedule",
       {"pipeline-schedule", "pipeline-parallel-schedule"},
       "order of work in the pipeline",
       names_on(MethodAxis::Schedule),
       set_schedule,
       [](const P& p) {
         const Choice* c = chosen_on(p, MethodAxis::Schedule);
         return c == nullptr ? std::string() : c->method;
       }},
      {"order",
       {},
       "own = the schedule's; else an edited one, as \"trainyard schedule\" prints it",
       {},
       set_order,
       [](const P& p) { return p.order.empty() ? std::string(kOwnOrder) : p.order; }},
      {"zero",
       {"zero-stage", "zero-optimization.stage", "sharding"},
       "training state divided over replicas: 3 is FSDP",
       {"0", "1", "2", "3"},
       set_zero,
       [](const P& p) { return read_param(p, "zero", "stage"); }},
      {"hybrid",
       {"hybrid-shard", "shard-group", "data-parallel-shard-degree", "mics-shard-size"},
       "ranks among which zero divides state; 0 = all",
       {},
       [](P& p, V v, L& l) { set_param(p, "zero", "shard", v, l); },
       [](const P& p) { return read_param(p, "zero", "shard"); }},
      {"reshard-after-forward",
       {"reshard", "fsdp-reshard-after-forward"},
       "ZeRO 3: let go of gathered weights after forward, and gather them again for backward",
       {"framework", "on", "off"},
       set_reshard,
       [](const P& p) { return read_param(p, "zero", "reshard"); }},
      {"zero-reduce",
       {},
       "ZeRO 2 and 3: gradients leave with every microbatch, or are added up for the step",
       {"framework", "microbatch", "step"},
       [](P& p, V v, L& l) { set_param(p, "zero", "reduce", v, l); },
       [](const P& p) { return read_param(p, "zero", "reduce"); }},
      {"reduce",
       {"gradient-reduction"},
       "what replicas' steps become: mean or sum of gradients; Adasum of updates by halves "
       "(adasum), over whole tensors (adasum-tree), or between nodes, which take the mean inside "
       "(adasum-hierarchical)",
       {kMean, "sum", "adasum", "adasum-tree", "adasum-hierarchical"},
       set_reduce,
       read_reduce},
      {"compression",
       {"gradient-compression"},
       "what replicas send of their gradients: all (none), the largest velocities (dgc) or "
       "gradients (topk, mstopk, hitopk between nodes); compression.ratio says how many, and the "
       "rest waits",
       {"none", "dgc", "topk", "mstopk", "hitopk"},
       set_compression,
       read_compression},
      {"sequence-parallel",
       {"sp"},
       "divide norms and residuals over tensor ranks",
       {"on", "off"},
       [](P& p, V v, L& l) {
         choice(p, "tensor-parallel").params.set("sequence-parallel", on_off(v, l));
       },
       [](const P& p) {
         const std::string text = read_param(p, "tensor-parallel", "sequence-parallel");
         return text.empty() ? text : on_off(text == "true");
       }},
      {"recompute",
       {"recompute-granularity", "activation-checkpointing", "activation-checkpoint.mode"},
       "what forward keeps: none, selective, op, full or blocks=<n> of each stage done again, "
       "keep=<nodes> kept; by layer full*4,none, by stage full*4,none/none; optimal: the mix that "
       "fits in least time, optimal:20GiB within that much of each device",
       {"none", "selective", "op", "full"},
       set_recompute,
       read_recompute},
      {"offload",
       {"cpu-offload", "offload-optimizer", "offload-to-host"},
       "what the host keeps: optimizer state and the update of weights, activations until their "
       "backward, or both",
       {"none", "optimizer", "activations", "both"},
       set_offload,
       read_offload},
      {"offload-tier",
       {"offload-optimizer-device"},
       "where offloaded optimizer state lives: host memory, or the node's NVMe, through buffers in "
       "host memory",
       {"host", "nvme"},
       set_tier,
       read_tier},
      {"precision",
       {"dtype", "mixed-precision"},
       "number format of weights and products",
       names_on(MethodAxis::Precision),
       set_precision,
       [](const P& p) {
         const Choice* c = chosen_on(p, MethodAxis::Precision);
         return c == nullptr ? std::string() : c->method;
       }},
      {"gradient-dtype",
       {"grad-dtype", "grad-reduce-dtype"},
       "format of gradients while they add up and are reduced",
       {"fp32", "bf16", "fp16"},
       set_gradient_dtype,
       [](const P& p) {
         const Choice* c = chosen_on(p, MethodAxis::Precision);
         return c == nullptr || !has_gradient_dtype(c->method)
                    ? std::string()
                    : read_param(p, c->method, "gradient-dtype");
       }},
      {"loss-scale",
       {"initial-loss-scale", "fp16.loss-scale"},
       "fp16: dynamic, or a power of two",
       {},
       set_loss_scale,
       read_loss_scale},
      {"flash-attention",
       {"use-flash-attn", "flash"},
       "fused attention kernel",
       {"on", "off"},
       [](P& p, V v, L& l) {
         p.flash_attention = on_off(v, l);
         if (!p.flash_attention) p.software.attention.clear();
       },
       [](const P& p) { return on_off(p.flash_attention); }},
      {"overlap",
       {"overlap-grad-reduce", "overlap-comm"},
       "gradient, weight and key/value traffic beside computation",
       {"on", "off"},
       set_overlap,
       read_overlap},
      {"tensor-overlap",
       {"tp-comm-overlap"},
       "tensor parallel traffic beside the products it belongs to",
       {"framework", "off", "backward", "on"},
       [](P& p, V v, L& l) { set_param(p, "overlap", "tensor", v, l); },
       [](const P& p) { return read_param(p, "overlap", "tensor"); }},
      {"optimizer",
       {},
       "update rule: decides the state per parameter",
       {},
       [](P& p, V v, L& l) {
         try {
           p.optimizer = optimizer(v).name;
         } catch (const Error& e) {
           throw Error(e.kind(), e.what(), l);
         }
       },
       [](const P& p) { return p.optimizer; }},
      {"rank-order",
       {"mesh-order"},
       "which ranks sit next to each other, fastest first",
       {},
       set_rank_order,
       [](const P& p) { return p.mesh.order; }},
  };
}

// Dashes and underscores are treated alike, because frameworks differ in them:
// "--tensor_parallel_size" is "tensor-parallel-size".
std::string normal(std::string_view key) {
  while (key.size() > 1 && key.front() == '-') key.remove_prefix(1);
  std::string text(key);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

}  // namespace

std::span<const Setting> settings() {
  static const std::vector<Setting> list = [] {
    std::vector<Setting> all = make_settings();
    for (Setting& one : trained_settings()) all.push_back(std::move(one));
    for (Setting& one : software_settings()) all.push_back(std::move(one));
    return all;
  }();
  return list;
}

const Setting* find_setting(std::string_view typed) {
  const std::string key = normal(typed);
  for (const Setting& s : settings())
    if (s.key == key || std::find(s.aliases.begin(), s.aliases.end(), key) != s.aliases.end())
      return &s;
  return nullptr;
}

void apply_setting(Plan& plan, std::string_view key, std::string_view value, const Place& place) {
  if (is_choice_param(key))
    return apply_choice_param(plan, key, value,
                              {place.text + " " + std::string(key.substr(0, 80))});
  const Setting* found = find_setting(key);
  if (found == nullptr) {
    std::vector<std::string_view> names;
    for (const Setting& s : settings()) names.push_back(s.key);
    for (const Setting& s : settings())
      names.insert(names.end(), s.aliases.begin(), s.aliases.end());
    const std::string typed = normal(key).substr(0, 80);
    throw Error(Error::Kind::InvalidInput,
                "no setting is called \"" + typed + "\"" + did_you_mean(typed, names), place);
  }
  found->apply(plan, value, {place.text + " " + std::string(found->key)});
}

void apply_setting(Plan& plan, std::string_view assignment, const Place& place) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw Error(
        Error::Kind::InvalidInput,
        "expected key=value such as tp=8, found \"" + std::string(assignment.substr(0, 80)) + "\"",
        place);
  apply_setting(plan, assignment.substr(0, equals), assignment.substr(equals + 1), place);
}

std::string setting(const Plan& plan, std::string_view key) {
  if (is_choice_param(key)) return choice_param(plan, key);
  const Setting* found = find_setting(key);
  return found == nullptr ? "" : found->read(plan);
}

}  // namespace trainyard
