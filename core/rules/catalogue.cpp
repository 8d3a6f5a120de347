#include "core/rules/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/base/nearest.h"

namespace trainyard {
namespace {

std::vector<std::string_view> rule_names() {
  std::vector<std::string_view> names;
  for (const Rule* one : rules()) names.push_back(one->name);
  return names;
}

const ParamSpec& spec_of(const Rule& of, std::string_view name, const Place& place) {
  std::vector<std::string_view> names;
  for (const ParamSpec& spec : of.params) {
    if (spec.name == name) return spec;
    names.push_back(spec.name);
  }
  throw Error(Error::Kind::InvalidInput,
              fmt::format("the rule \"{}\" has no setting \"{}\"{}", of.name, name.substr(0, 80),
                          did_you_mean(name.substr(0, 80), names)),
              place);
}

std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  while (true) {
    const std::size_t comma = text.find(',');
    items.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::span<const Rule* const> rules() {
  static const std::array all = {&vanishing_gradient(),
                                 &exploding_tensor(),
                                 &weight_update_ratio(),
                                 &all_zero(),
                                 &unchanged_tensor(),
                                 &cancelled_updates(),
                                 &dead_relu(),
                                 &saturated_activation(),
                                 &poor_weight_initialization(),
                                 &tensor_variance(),
                                 &check_input_images(),
                                 &nlp_sequence_ratio(),
                                 &loss_not_decreasing(),
                                 &overfit(),
                                 &overtraining(),
                                 &class_imbalance(),
                                 &confusion(),
                                 &loss_scale_collapse(),
                                 &stash_leak(),
                                 &arena_overflow(),
                                 &similar_across_runs(),
                                 &low_gpu_utilization(),
                                 &load_balancing(),
                                 &io_bottleneck(),
                                 &cpu_bottleneck(),
                                 &step_outlier(),
                                 &gpu_memory_increase(),
                                 &max_initialization_time(),
                                 &staleness_beyond_bound(),
                                 &plan_drift(),
                                 &batch_size()};
  return all;
}

const Rule& rule(std::string_view name, const Place& place) {
  for (const Rule* one : rules())
    if (one->name == name) return *one;
  throw Error(Error::Kind::InvalidInput,
              fmt::format("no rule is called \"{}\"{}", name.substr(0, 80),
                          did_you_mean(name.substr(0, 80), rule_names())),
              place);
}

RuleSet usual_rules() {
  RuleSet set;
  for (const Rule* one : rules())
    if (!one->by_name) set.push_back({one, with_defaults({}, one->params)});
  return set;
}

RuleSet parse_rules(std::string_view text, const Place& place) {
  if (text.empty()) return usual_rules();
  bool all = false;
  std::set<std::string_view> named;
  std::map<std::string_view, Params> given;
  const auto refuse_twice = [&](bool twice, std::string_view item) {
    if (twice)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected each rule and setting once, found \"{}\" again", item),
                  place);
  };
  for (const std::string_view item : items_of(text)) {
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      if (item == "all") {
        refuse_twice(all, item);
        all = true;
        continue;
      }
      refuse_twice(!named.insert(rule(item, place).name).second, item);
      continue;
    }
    const std::string_view key = item.substr(0, equals);
    const std::size_t dot = key.find('.');
    if (dot == std::string_view::npos)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected a rule, or RULE.SETTING=VALUE such as "
                              "dead-relu.inactivity=5, found \"{}\"",
                              item.substr(0, 80)),
                  place);
    const Rule& of = rule(key.substr(0, dot), place);
    const ParamSpec& spec = spec_of(of, key.substr(dot + 1), place);
    Params& params = given[of.name];
    refuse_twice(params.has(spec.name), key);
    params.set(std::string(spec.name),
               parse_param(spec, item.substr(equals + 1), {place.text + " " + std::string(key)}));
  }
  RuleSet set;
  for (const Rule* one : rules()) {
    const auto own = given.find(one->name);
    if ((all && !one->by_name) || named.count(one->name) > 0 || own != given.end())
      set.push_back({one, with_defaults(own == given.end() ? Params{} : own->second, one->params)});
  }
  return set;
}

std::string to_text(const RuleSet& set) {
  std::size_t usual = 0;
  for (const ChosenRule& chosen : set) usual += chosen.rule->by_name ? 0 : 1;
  const bool all = usual == usual_rules().size();
  std::string text = all ? "all" : "";
  const auto add = [&](const std::string& item) { text += (text.empty() ? "" : ",") + item; };
  for (const ChosenRule& chosen : set) {
    bool stated = all && !chosen.rule->by_name;
    for (const ParamSpec& spec : chosen.rule->params) {
      const ParamValue& value = chosen.params.values().find(spec.name)->second;
      if (value == spec.fallback) continue;
      add(fmt::format("{}.{}={}", chosen.rule->name, spec.name, to_text(value)));
      stated = true;
    }
    if (!stated) add(std::string(chosen.rule->name));
  }
  return text;
}

RuleReads reads_of(const RuleSet& set) {
  RuleReads all = RuleReads::None;
  for (const ChosenRule& chosen : set) all = all | chosen.rule->reads;
  return all;
}

FiredRules judge_timeline(const RuleSet& set, const TimelineFacts& facts) {
  FiredRules all;
  for (const ChosenRule& chosen : set) {
    if (chosen.rule->of_timeline == nullptr) continue;
    FiredRules own;
    chosen.rule->of_timeline(chosen.params, facts, own);
    for (FiredRule& one : own) {
      one.rule = chosen.rule->name;
      one.advice = chosen.rule->advice;
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace trainyard
