#include "planners/sensitivity/knob_values.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/number_text.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

using Words = std::vector<std::string>;

// No list is longer, since values far from the plan's own say little about it.
constexpr std::size_t kMostValues = 64;

std::vector<std::int64_t> up_to(std::int64_t last) {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 1; n <= last && all.size() < 4 * kMostValues; ++n) all.push_back(n);
  return all;
}

std::vector<std::int64_t> powers_around(std::int64_t now) {
  std::vector<std::int64_t> all;
  for (std::int64_t n = now / 2; n >= 1; n /= 2) all.push_back(n);
  std::reverse(all.begin(), all.end());
  for (std::int64_t n = std::max<std::int64_t>(1, now);
       n <= (std::int64_t{1} << 40) && all.size() < kMostValues; n *= 2)
    all.push_back(n);
  return all;
}

// Splits ascending values into those below and those above the present one.
KnobValues around(std::int64_t now, const std::vector<std::int64_t>& rising) {
  KnobValues values;
  values.now = std::to_string(now);
  for (const std::int64_t v : rising) {
    if (v < now) values.below.push_back(std::to_string(v));
    if (v > now && values.above.size() < kMostValues) values.above.push_back(std::to_string(v));
  }
  std::reverse(values.below.begin(), values.below.end());
  if (values.below.size() > kMostValues) values.below.resize(kMostValues);
  return values;
}

std::int64_t layers_a_device(const Scenario& s) {
  return std::max<std::int64_t>(1, layer_count(s.model) / s.plan.mesh.pp);
}

// 0 means all ranks, and so ranks above every part.
KnobValues hybrid_values(std::int64_t now, std::int64_t data) {
  std::vector<std::int64_t> groups = divisors(data);
  if (!groups.empty()) groups.pop_back();
  KnobValues values = around(now == 0 ? data : now, groups);
  values.now = std::to_string(now);
  if (now != 0) values.above.emplace_back("0");
  return values;
}

// Whole nodes and, below one node, its divisors; the data-parallel degree follows.
std::vector<std::int64_t> device_counts(const Scenario& s) {
  const Mesh& mesh = s.plan.mesh;
  const std::int64_t each = std::int64_t{mesh.tp} * mesh.cp * mesh.pp,
                     now = s.cluster.count / std::max<std::int64_t>(1, each);
  std::vector<std::int64_t> counts;
  for (const std::int64_t dp : divisors(now)) counts.push_back(dp * each);
  for (std::int64_t n = 2 * s.cluster.count; n <= kMostDevices && n <= 64 * s.cluster.count; n *= 2)
    counts.push_back(n);
  return counts;
}

std::optional<KnobValues> number_values(std::string_view key, const Scenario& s, std::int64_t now) {
  const Mesh& mesh = s.plan.mesh;
  const std::int64_t data = ranks(mesh, Group::Data);
  if (key == kDevicesKnob) return around(now, device_counts(s));
  if (key == "tp" || key == "pp" || key == "cp" || key == "dp")
    return around(now, divisors(s.cluster.count));
  if (key == "ep") return around(now, divisors(expert_pool(mesh)));
  if (key == "hybrid") return hybrid_values(now, data);
  if (key == "virtual-stages") return around(now, up_to(layers_a_device(s)));
  if (key == "micro-batch")
    return around(now, divisors(s.plan.batch.global / std::max(1, mesh.dp.value_or(1))));
  if (key == "seq" && !s.model.tokens && s.plan.batch.sequence <= 1) return std::nullopt;
  return around(now, powers_around(now));
}

// Only neighbours in the mesh change places, since all orders would be 120.
Words rank_orders(const std::string& now) {
  Words orders;
  Words axes{""};
  for (const char c : now)
    if (c == '-')
      axes.emplace_back();
    else
      axes.back() += c;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
    Words other = axes;
    std::swap(other[i], other[i + 1]);
    std::string text;
    for (const std::string& axis : other) text += (text.empty() ? "" : "-") + axis;
    orders.push_back(text);
  }
  return orders;
}

// The values of knobs whose settings have no list of their own.
Words words_of(std::string_view key, const Scenario& s, const std::string& now) {
  Words words;
  if (key == "optimizer")
    for (const Optimizer& rule : optimizers()) words.emplace_back(rule.name);
  if (key == "rank-order") words = rank_orders(now);
  if (key == "split") words = {"even"};
  if (key == "recompute") {
    const std::int64_t layers =
        std::max<std::int64_t>(1, layers_a_device(s) / s.plan.virtual_stages);
    for (const std::int64_t n : up_to(layers))
      if (n == layers / 4 || n == layers / 2 || n == layers * 3 / 4)
        words.push_back("blocks=" + std::to_string(n));
  }
  return words;
}

const ParamSpec* param_of(std::string_view key) {
  const std::size_t dot = key.find('.');
  for (const ParamSpec& spec : method(key.substr(0, dot)).params)
    if (spec.name == key.substr(dot + 1)) return &spec;
  return nullptr;
}

KnobValues param_values(std::string_view key, const Scenario& s) {
  KnobValues values;
  values.now = choice_param(s.plan, key);
  const ParamSpec* spec = param_of(key);
  if (spec == nullptr) return values;
  if (std::holds_alternative<bool>(spec->fallback)) values.words = {"true", "false"};
  for (const std::string_view word : spec->values) values.words.emplace_back(word);
  if (std::holds_alternative<std::int64_t>(spec->fallback))
    if (const auto now = number_of<std::int64_t>(values.now)) {
      std::vector<std::int64_t> legal;
      for (const std::int64_t v : powers_around(std::max<std::int64_t>(1, *now)))
        if (static_cast<double>(v) >= spec->low && static_cast<double>(v) <= spec->high)
          legal.push_back(v);
      values = around(*now, legal);
    }
  return values;
}

}  // namespace

std::vector<std::int64_t> divisors(std::int64_t of) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d * d <= of; ++d)
    if (of % d == 0) {
      low.push_back(d);
      if (d * d != of) high.push_back(of / d);
    }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

std::vector<std::string> knob_keys(const Scenario& complete) {
  std::vector<std::string> keys{std::string(kDevicesKnob)};
  const auto add = [&](std::string key) {
    if (!knob_values(key, complete).none()) keys.push_back(std::move(key));
  };
  for (const Setting& setting : settings()) add(std::string(setting.key));
  for (const MethodAxis axis : {MethodAxis::Schedule, MethodAxis::Precision})
    if (const Choice* chosen = chosen_on(complete.plan, axis))
      for (const ParamSpec& spec : method(chosen->method).params)
        if (find_setting(spec.name) == nullptr && spec.name != "dynamic")
          add(chosen->method + "." + std::string(spec.name));
  return keys;
}

KnobValues knob_values(std::string_view key, const Scenario& complete) {
  if (key == kDevicesKnob) return *number_values(key, complete, complete.cluster.count);
  if (is_choice_param(key)) return param_values(key, complete);
  KnobValues values;
  const Setting* found = find_setting(key);
  if (found == nullptr || found->key == "order" || found->key == "loss-scale") return values;
  // Without lengths of documents there is nothing to pack.
  if (found->key == "packing" && find_choice(complete.plan, "packing") == nullptr) return values;
  const bool of_widths = found->key == "widths" || found->key == "packing-order";
  if (of_widths && setting(complete.plan, "packing") != "longest") return values;
  values.now = found->read(complete.plan);
  // A plan that offloads no optimizer state has none to place, one without activations no layers.
  if (found->key.starts_with("offload-") && values.now.empty()) return values;
  // Without tensor ranks an expert is not divided in either case.
  if (found->key == "etp" && complete.plan.mesh.tp == 1) return values;
  for (const std::string_view word : found->values) values.words.emplace_back(word);
  for (std::string& word : words_of(found->key, complete, values.now))
    if (std::find(values.words.begin(), values.words.end(), word) == values.words.end())
      values.words.push_back(std::move(word));
  if (values.words.empty())
    if (const auto now = number_of<std::int64_t>(values.now))
      if (auto numbers = number_values(found->key, complete, *now)) return *std::move(numbers);
  values.words.erase(std::remove(values.words.begin(), values.words.end(), values.now),
                     values.words.end());
  return values;
}

}  // namespace trainyard
