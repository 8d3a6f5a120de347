#include "planners/plans/plan_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>

#include "core/base/nearest.h"
#include "core/base/number_text.h"
#include "core/cluster/cluster_options.h"
#include "core/cluster/mixed.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/plan/mesh.h"

namespace trainyard {
namespace {

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    const std::size_t comma = text.find(',');
    words.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return words;
    text.remove_prefix(comma + 1);
  }
}

// Resolves an alias to the setting's own key.
std::string canonical_key(std::string_view typed, const std::string& place) {
  if (typed == "devices") return "devices";
  if (const Setting* found = find_setting(typed)) return std::string(found->key);
  std::vector<std::string_view> names(knob_keys().begin(), knob_keys().end());
  const std::string_view close = nearest(typed, names);
  refuse(place,
         fmt::format("no knob of a search is called \"{}\"{}", typed.substr(0, 80),
                     close.empty() ? "; they are " + fmt::format("{}", fmt::join(names, ", "))
                                   : fmt::format("; did you mean {}?", close)));
}

void expect_searchable(const std::string& key, const std::string& place) {
  if (key == "global-batch" || key == "seq")
    refuse(place,
           fmt::format("{} stays fixed in a search: steps of another size do not compare; set it "
                       "with --set {}=...",
                       key, key));
  if (key == "order" || key == "split")
    refuse(place,
           fmt::format("{} is no knob: an edited {} belongs to one mesh; fix both with --set", key,
                       key));
}

// The values within a range such as "1..8", or powers of two.
std::vector<std::string> in_range(const std::vector<std::string>& values, std::int64_t low,
                                  std::int64_t high, const Bound& bound, const std::string& place) {
  if (low > high) refuse(place, fmt::format("expected a range that rises, found {}", bound.values));
  std::vector<std::string> found;
  for (const std::string& v : values)
    if (const auto n = number_of<std::int64_t>(v); n && *n >= low && *n <= high) found.push_back(v);
  if (values.size() > 1 && !found.empty()) return found;
  if (values.size() > 1)
    refuse(place, fmt::format("no value of {} lies in {}; they are {}", bound.key, bound.values,
                              fmt::join(values, ", ")));
  for (std::int64_t n = 1; n <= high && n > 0; n *= 2)
    if (n >= low) found.push_back(std::to_string(n));
  if (found.empty()) refuse(place, fmt::format("no power of two lies in {}", bound.values));
  return found;
}

std::vector<std::string> all_values(const Scenario& base, const std::string& key,
                                    const std::string& place) {
  std::vector<std::string> values = default_values(base, key);
  if (values.size() > 1) return values;
  const Setting* known = find_setting(key);
  if (known == nullptr || known->values.empty())
    refuse(place, fmt::format("{} has no list of values; name some, as in {}=1,2,4", key, key));
  std::vector<std::string> words;
  for (const std::string_view v : known->values) words.emplace_back(v);
  return words;
}

// Throws as apply_setting() does.
void expect_value(const Scenario& base, const std::string& key, const std::string& value,
                  const std::string& place) {
  if (key == "devices") {
    const auto n = number_of<std::int64_t>(value);
    if (!n || *n < 1 || *n > base.cluster.count)
      refuse(place, fmt::format("expected devices from 1 to {}, found {}", base.cluster.count,
                                value.substr(0, 80)));
    with_devices(base.cluster, *n);
    return;
  }
  Plan scratch = base.plan;
  apply_setting(scratch, key, value, {"--bound"});
}

std::vector<std::string> bound_values(const Scenario& base, const std::string& key,
                                      const Bound& bound) {
  const std::string place = "--bound " + bound.key;
  if (bound.values == "any") return all_values(base, key, place);
  std::vector<std::string> values;
  if (const std::size_t dots = bound.values.find(".."); dots != std::string::npos) {
    const auto low = number_of<std::int64_t>(std::string_view(bound.values).substr(0, dots)),
               high = number_of<std::int64_t>(std::string_view(bound.values).substr(dots + 2));
    if (!low || !high)
      refuse(place, fmt::format("expected a range as 1..8, found {}", bound.values.substr(0, 80)));
    values = in_range(key == "devices" ? std::vector<std::string>{} : default_values(base, key),
                      *low, *high, bound, place);
  } else {
    for (std::string& word : comma_list(bound.values))
      if (std::find(values.begin(), values.end(), word) == values.end())
        values.push_back(std::move(word));
  }
  for (const std::string& v : values) expect_value(base, key, v, place);
  return values;
}

std::string fixed_value(const Scenario& base, std::string_view key) {
  if (key == "devices") return std::to_string(base.cluster.count);
  if (key == "dp") return base.plan.mesh.dp ? std::to_string(*base.plan.mesh.dp) : "rest";
  std::string value = setting(base.plan, key);
  return value.empty() ? setting(complete(base), key) : value;
}

enum class Chunks : std::uint8_t { One, Two, More };
Chunks chunks_of(std::string_view schedule) {
  if (schedule == "interleaved") return Chunks::More;
  for (const std::string_view v : {"zb-v", "v-half", "v-min", "dualpipe-v"})
    if (schedule == v) return Chunks::Two;
  return Chunks::One;
}

}  // namespace

std::vector<int> uneven_split(int layers, std::int64_t stages) {
  if (stages < 2 || layers < stages || layers % stages == 0) return {};
  const auto n = static_cast<std::size_t>(stages), more = static_cast<std::size_t>(layers) % n;
  std::vector<int> split(n, static_cast<int>(layers / stages));
  for (std::size_t i = 0; i < more; ++i) ++split[(n - more) / 2 + i];
  return split;
}

bool chunks_fit(std::string_view schedule, std::int64_t chunks) {
  switch (chunks_of(schedule)) {
    case Chunks::One:
      return chunks == 1;
    case Chunks::Two:
      return chunks == 2;
    case Chunks::More:
      return chunks >= 2;
  }
  return false;
}

Cluster with_devices(const Cluster& cluster, std::int64_t devices) {
  if (devices == cluster.count) return cluster;
  Cluster cut = cluster;
  keep_first(cut, devices);
  const std::int64_t node = cluster.levels.front().size;
  if (devices > node && devices % node != 0)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected whole nodes of {}, found {} devices; {} would do", node,
                            devices, devices / node * node),
                {"devices"});
  return cut;
}

PlanSpace::PlanSpace(const Scenario& base, std::span<const std::string> fixed,
                     std::span<const Bound> bounds)
    : base_(base) {
  if (base.plan.batch.global < 1)
    refuse("--global-batch",
           "a search compares steps of one size: expected a global batch, found none; add "
           "global-batch=1024, say");
  throw_if_errors(trainyard::check(base.cluster));
  base_.plan.batch.sequence =
      base.plan.batch.sequence > 0 ? base.plan.batch.sequence : base.model.sequence;
  std::vector<std::string> stays, bound_keys;
  for (const std::string& key : fixed) stays.push_back(canonical_key(key, "--set"));
  for (const Bound& bound : bounds) {
    const std::string key = canonical_key(bound.key, "--bound " + bound.key);
    expect_searchable(key, "--bound " + bound.key);
    if (std::find(bound_keys.begin(), bound_keys.end(), key) != bound_keys.end())
      refuse("--bound " + bound.key, fmt::format("{} is bound twice", key));
    if (std::find(stays.begin(), stays.end(), key) != stays.end())
      refuse("--bound " + bound.key,
             fmt::format("{} is fixed by --set and bound too; one of them has to go", key));
    bound_keys.push_back(key);
  }
  const auto add = [&](const std::string& key) {
    const auto bound = std::find(bound_keys.begin(), bound_keys.end(), key);
    if (bound != bound_keys.end())
      knobs_.push_back(
          {key,
           bound_values(base_, key, bounds[static_cast<std::size_t>(bound - bound_keys.begin())])});
    else if (std::find(stays.begin(), stays.end(), key) != stays.end())
      knobs_.push_back({key, {fixed_value(base_, key)}});
    else
      knobs_.push_back({key, default_values(base_, key)});
  };
  // Settings beyond the usual knobs come first and so form the outermost loop.
  for (const std::string& key : bound_keys)
    if (std::find(knob_keys().begin(), knob_keys().end(), key) == knob_keys().end()) add(key);
  for (const std::string_view key : knob_keys()) add(std::string(key));
  make_index();
}

void PlanSpace::make_index() {
  strides_.assign(knobs_.size(), 1);
  numbers_.clear();
  combinations_ = 1;
  for (const Knob& knob : knobs_) {
    std::vector<std::int64_t>& numbers = numbers_.emplace_back();
    for (const std::string& value : knob.values)
      numbers.push_back(number_of<std::int64_t>(value).value_or(1));
  }
  for (std::size_t k = knobs_.size(); k-- > 0;) {
    strides_[k] = combinations_;
    combinations_ *= knobs_[k].values.size();
    if (combinations_ > kMostPlans * 16) {
      const Knob& widest = *std::max_element(
          knobs_.begin(), knobs_.end(),
          [](const Knob& a, const Knob& b) { return a.values.size() < b.values.size(); });
      refuse("--bound",
             fmt::format("the space has more than {} combinations; bound the widest knob ({}, {} "
                         "values) or fix one with --set",
                         kMostPlans * 16, widest.key, widest.values.size()));
    }
  }
}

std::vector<std::uint32_t> PlanSpace::digits(PlanId id) const {
  std::vector<std::uint32_t> found(knobs_.size());
  for (std::size_t k = 0; k < knobs_.size(); ++k)
    found[k] = static_cast<std::uint32_t>(id / strides_[k] % knobs_[k].values.size());
  return found;
}

PlanId PlanSpace::id(std::span<const std::uint32_t> digits) const {
  PlanId found = 0;
  for (std::size_t k = 0; k < knobs_.size(); ++k) found += digits[k] * strides_[k];
  return found;
}

std::uint32_t PlanSpace::digit(PlanId id, std::size_t knob) const {
  return static_cast<std::uint32_t>(id / strides_[knob] % knobs_[knob].values.size());
}

std::size_t PlanSpace::knob(std::string_view key) const {
  std::size_t k = 0;
  while (k < knobs_.size() && knobs_[k].key != key) ++k;
  return k;
}

std::optional<std::vector<std::uint32_t>> PlanSpace::canonical(
    std::span<const std::uint32_t> digits) const {
  std::vector<std::uint32_t> form(digits.begin(), digits.end());
  const auto value = [&](std::string_view key) { return number(knob(key), form[knob(key)]); };
  const auto word = [&](std::string_view key) -> const std::string& {
    return knobs_[knob(key)].values[form[knob(key)]];
  };
  const auto idle = [&](std::string_view key) { form[knob(key)] = 0; };
  const std::int64_t tp = value("tp"), pp = value("pp"), model = tp * value("cp") * pp;
  if (value("devices") % model != 0) return std::nullopt;
  const std::int64_t rest = value("devices") / model, data = rest * value("cp");
  if (word("dp") != "rest" && value("dp") != rest) return std::nullopt;
  Mesh mesh;
  mesh.tp = static_cast<int>(tp), mesh.cp = static_cast<int>(value("cp"));
  mesh.ep = static_cast<int>(value("ep")), mesh.dp = static_cast<int>(rest);
  if (word("etp") == "1") mesh.etp = 1;
  if (expert_pool(mesh) % mesh.ep != 0) return std::nullopt;
  if (tp == 1) idle("etp"), idle("sequence-parallel"), idle("tensor-overlap");
  if (pp == 1 || data == 1) idle("rank-order");
  if (data == 1 && ranks(mesh, Group::ExpertData) == 1) idle("zero"), idle("overlap");
  const std::int64_t group = value("hybrid");
  if (word("zero") == "0" || (group > 1 && (group >= data || data % group != 0))) idle("hybrid");
  if (knob(kOffloadLayers) < knobs_.size() && !offloads_activations(word("offload")))
    idle(kOffloadLayers);
  if (pp == 1) {
    idle("schedule"), idle("virtual-stages");
  } else {
    if (!chunks_fit(word("schedule"), value("virtual-stages"))) return std::nullopt;
  }
  return form;
}

struct PlanSpace::Weighing {
  std::function<StageSplit(const Scenario&)> split_of;
  std::mutex lock;
  std::map<PlanId, std::vector<int>> known;

  std::vector<int> layers(PlanId id, const Scenario& s) {
    {
      const std::scoped_lock locked(lock);
      if (const auto found = known.find(id); found != known.end()) return found->second;
    }
    std::vector<int> made = s.plan.split.layers;
    try {
      made = split_of(s).layers;
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::InvalidInput && e.kind() != Error::Kind::Unsupported) throw;
    }
    const std::scoped_lock locked(lock);
    return known.try_emplace(id, std::move(made)).first->second;
  }
};

void PlanSpace::weigh_stages_by(std::function<StageSplit(const Scenario&)> split_of) {
  weighing_ = std::make_shared<Weighing>();
  weighing_->split_of = std::move(split_of);
}

PlanSpace PlanSpace::on(Cluster cluster) const {
  PlanSpace other = *this;
  other.base_.cluster = std::move(cluster);
  other.weighing_.reset();
  return other;
}

std::optional<PlanSpace> PlanSpace::offloading() const {
  const std::size_t offload = knob("offload");
  if (knobs_[offload].values != std::vector<std::string>{"none"} ||
      knob(kOffloadLayers) < knobs_.size() || !(base_.cluster.device.host_link.value.value > 0))
    return std::nullopt;
  PlanSpace wider = *this;
  wider.knobs_[offload].values.emplace_back("activations");
  wider.knobs_.insert(wider.knobs_.begin(), {std::string(kOffloadLayers), {"together", "all"}});
  wider.make_index();
  if (weighing_ != nullptr) wider.weigh_stages_by(weighing_->split_of);
  return wider;
}

Cluster PlanSpace::cluster(PlanId id) const {
  const std::size_t k = knob("devices");
  return with_devices(base_.cluster, number_of<std::int64_t>(value(id, k)).value_or(1));
}

Scenario PlanSpace::scenario(PlanId id) const {
  Scenario s = base_;
  s.cluster = cluster(id);
  s.plan = plan(id);
  return s;
}

Plan PlanSpace::plan(PlanId id) const {
  Plan plan = base_.plan;
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    const std::string& word = value(id, k);
    if (knobs_[k].key != "devices" && !word.empty() && word != setting(plan, knobs_[k].key))
      apply_setting(plan, knobs_[k].key, word, {"search"});
  }
  if (base_.plan.split.layers.empty() && !framework(plan.software.framework).splits_by_cost)
    plan.split.layers =
        uneven_split(layer_count(base_.model), std::int64_t{plan.mesh.pp} * plan.virtual_stages);
  if (weighing_ == nullptr || !base_.plan.split.layers.empty() || plan.mesh.pp == 1) return plan;
  if (Cluster own = cluster(id); is_mixed(own))
    plan.split.layers = weighing_->layers(id, {base_.model, std::move(own), plan});
  return plan;
}

std::vector<std::string> PlanSpace::words(PlanId id) const {
  std::vector<std::string> found;
  for (std::size_t k = 0; k < knobs_.size(); ++k)
    if (knobs_[k].values.size() > 1) found.push_back(knobs_[k].key + "=" + value(id, k));
  if (base_.plan.split.layers.empty())
    if (const Plan whole = plan(id); !whole.split.layers.empty())
      found.push_back("split=" + setting(whole, "split"));
  return found;
}

std::optional<PlanId> PlanSpace::find(const Plan& plan, std::string* why) const {
  std::vector<std::uint32_t> digits(knobs_.size());
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    const Knob& knob = knobs_[k];
    std::string word = setting(plan, knob.key);
    if (knob.key == "devices") word = std::to_string(base_.cluster.count);
    if (knob.key == "dp" && knob.values.front() == "rest") continue;
    // The schedule of a plan without a pipeline has no effect.
    const bool idle = plan.mesh.pp == 1 && (knob.key == "schedule" || knob.key == "virtual-stages");
    if (knob.values.size() == 1 && idle) continue;
    const auto same = std::find(knob.values.begin(), knob.values.end(), word);
    if (same == knob.values.end() && !word.empty()) {
      if (why != nullptr)
        *why = fmt::format("{}={} is not in the space, which has {}", knob.key, word,
                           fmt::join(knob.values, ", "));
      return std::nullopt;
    }
    digits[k] =
        same == knob.values.end() ? 0 : static_cast<std::uint32_t>(same - knob.values.begin());
  }
  if (const auto form = canonical(digits)) return id(*form);
  if (why != nullptr) *why = "no plan of the space has these settings together";
  return std::nullopt;
}

}  // namespace trainyard
