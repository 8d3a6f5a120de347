#include "core/methods/settings/settings.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/nearest.h"
#include "core/methods/settings/gradient_settings.h"
#include "core/methods/settings/memory_settings.h"
#include "core/methods/settings/setting_values.h"
#include "core/methods/settings/software_settings.h"
#include "core/methods/settings/trained_settings.h"
#include "core/plan/balanced.h"
#include "core/plan/batch_ramp.h"
#include "core/plan/halp.h"
#include "core/plan/plan_limits.h"
#include "core/program/order.h"

namespace trainyard {
namespace {

int degree(std::string_view value, const Place& place) {
  return static_cast<int>(whole_number(value, 1, 1'000'000, place));
}

void set_schedule(Plan& plan, std::string_view value, const Place& place) {
  choose_on(plan, MethodAxis::Schedule, value, place);
}

constexpr std::string_view kNoPacking = "none", kNoEvaluation = "none", kAtHand = "none";

// A plan whose samples are whole texts does not mention documents, unless it states something else
// of them.
void set_packing(Plan& plan, std::string_view value, const Place& place) {
  const std::vector<std::string_view> words = {kNoPacking, "pad", "longest", "packed"};
  expect_word(value, words, place);
  const Choice* const chosen = find_choice(plan, "packing");
  const bool states_more =
      chosen != nullptr && (chosen->params.has("widths") || chosen->params.has("order") ||
                            !read_param(plan, "packing", "lengths").empty());
  if (value == kNoPacking && !states_more) return remove_choice(plan, "packing");
  set_param(plan, "packing", "samples", value, place);
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

constexpr std::string_view kOwnOrder = "own", kOneAfterAnother = "off";

void set_order(Plan& plan, std::string_view value, const Place& place) {
  plan.order = value == kOwnOrder ? std::string() : to_text(parse_order(value, place));
}

std::string number(std::int64_t n) { return std::to_string(n); }
std::string given(std::int64_t n) { return n == 0 ? "" : std::to_string(n); }

// These say where a step's work goes: degrees, batch, stages and their order.
std::vector<Setting> placement_settings() {
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
       {"context-parallel", "context-parallel-size", "context-parallel-degree",
        "spatial-partition"},
       "context-parallel degree: ranks that divide the sequence, or the rows of images",
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
       [](P& p, V v, L& l) { set_optional(p, kBatchRamp, kBatchRampSizes, v, kNoBatchRamp, l); },
       [](const P& p) { return read_param(p, kBatchRamp, kBatchRampSizes); }},
      {"evaluation",
       {"distributed-evaluation"},
       "who evaluates held-out samples every evaluation.every steps: nobody (none), one replica "
       "(one) or all of them a part each (distributed); it counts in the time to train",
       {kNoEvaluation, "one", "distributed"},
       [](P& p, V v, L& l) { set_optional(p, "evaluation", "by", v, kNoEvaluation, l); },
       [](const P& p) { return read_optional(p, "evaluation", "by", kNoEvaluation); }},
      {"input",
       {"input-pipeline", "data-loading"},
       "where samples come from: at hand when a step begins (none), storage that nodes share in "
       "every epoch (storage), or caches of each node too (cached); a step waits for the slowest "
       "stage of its input",
       {kAtHand, "storage", "cached"},
       [](P& p, V v, L& l) { set_optional(p, "input", "from", v, kAtHand, l); },
       [](const P& p) { return read_optional(p, "input", "from", kAtHand); }},
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
       [](const P& p) { return read_optional(p, "packing", "samples", kNoPacking); }},
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
  };
}

std::vector<Setting> execution_settings() {
  using P = Plan;
  using V = std::string_view;
  using L = const Place;
  return {
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
      {"operator-stages",
       {"inter-operator", "inter-op"},
       "independent operators beside each other on the cores of a device: off, concurrent (the "
       "stages of least time), or stages such as 0.forward:0-2;3,4|5;6",
       {kOneAfterAnother, "concurrent"},
       [](P& p, V v, L& l) {
         set_optional(p, "operator-stages", "stages", v, kOneAfterAnother, l);
       },
       [](const P& p) { return read_optional(p, "operator-stages", "stages", kOneAfterAnother); }},
      {"optimizer",
       {},
       "update rule: decides the state per parameter",
       {},
       [](P& p, V v, L& l) {
         try {
           p.optimizer = optimizer(v).name;
           if (!trains_by_halp(p)) remove_choice(p, kHalp);
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
    std::vector<Setting> all;
    for (std::vector<Setting> some :
         {placement_settings(), gradient_settings(), memory_settings(), execution_settings(),
          trained_settings(), software_settings()})
      std::move(some.begin(), some.end(), std::back_inserter(all));
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
