// Random legal scenarios: a model of the zoo on a cluster, with a plan that check() accepts. Equal
// seeds give equal scenarios.
#pragma once

#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/lowering/lower.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"

namespace trainyard::testing {

inline const std::vector<std::string>& synchronous_schedules() {
  static const std::vector<std::string> list = {"gpipe", "1f1b",       "1f1b",     "interleaved",
                                                "zb-h1", "zb-h2",      "zb-v",     "v-half",
                                                "v-min", "dualpipe-v", "dualpipe", "chimera"};
  return list;
}
inline const std::vector<std::string>& asynchronous_schedules() {
  static const std::vector<std::string> list = {"pipedream", "pipedream-2bw", "pipemare",
                                                "pipelined-backprop"};
  return list;
}

/// All schedules: those above, and waves that share devices.
inline const std::vector<std::string>& all_schedules() {
  static const std::vector<std::string> list = [] {
    std::vector<std::string> all = synchronous_schedules();
    all.insert(all.end(), asynchronous_schedules().begin(), asynchronous_schedules().end());
    all.insert(all.end(), 4, "tick-tock");
    return all;
  }();
  return list;
}

/// Draws scenarios until one is legal; illegal scenarios are tested elsewhere.
class DrawnScenario {
 public:
  explicit DrawnScenario(std::uint64_t seed,
                         const std::vector<std::string>& schedules = synchronous_schedules())
      : random_(seed), schedules_(schedules) {}

  Scenario scenario() {
    for (;;) {
      Scenario s{model(pick(0, 5)), {}, {}};
      const char* devices[] = {"a100-sxm-80", "h100-sxm", "v100-sxm3-32"};
      s.cluster = make_cluster(device(devices[pick(0, 2)]), std::int64_t{8} << pick(0, 4));
      Plan& p = s.plan;
      p.mesh.tp = 1 << pick(0, 3);
      p.mesh.pp = static_cast<int>(pick(1, 8));
      p.mesh.cp = pick(0, 5) == 0 ? 2 : 1;
      p.batch.micro = pick(1, 2);
      p.batch.sequence = std::int64_t{128} << pick(0, 4);
      p.flash_attention = pick(0, 2) != 0;
      const std::string& schedule = schedules_[static_cast<std::size_t>(
          pick(0, static_cast<std::int64_t>(schedules_.size()) - 1))];
      if (schedule == "interleaved") p.virtual_stages = static_cast<int>(pick(2, 3));
      if (method(schedule).placement == Placement::V) p.virtual_stages = 2;
      set(p, "schedule", schedule);
      if (schedule == "tick-tock") draw_waves(p);
      set(p, "zero", std::to_string(pick(0, 3)));
      if (add(0, 2) == 0) set(p, "reshard-after-forward", "off");
      if (add(0, 2) == 0) set(p, "zero-reduce", "step");
      const char* recompute[] = {"none",     "none", "selective",  "full",
                                 "blocks=1", "op",   "keep=input", "full*1,keep=attention"};
      set(p, "recompute", recompute[pick(0, 7)]);
      set(p, "overlap", pick(0, 1) == 0 ? "on" : "off");
      if (p.mesh.tp > 1) set(p, "sequence-parallel", pick(0, 1) == 0 ? "on" : "off");
      const char* tensor[] = {"off", "backward", "on"};
      if (p.mesh.tp > 1) set(p, "tensor-overlap", tensor[pick(0, 2)]);
      const char* precision[] = {"fp16", "fp32", "bf16"};
      set(p, "precision", precision[pick(0, 2)]);
      const int replicas = p.mesh.tp * p.mesh.pp * p.mesh.cp;
      if (s.cluster.count % replicas != 0) continue;
      if (s.model.name == "mixtral-8x7b") {
        p.mesh.ep = 1 << add(0, 3);
        if (add(0, 1) == 0) set(p, "etp", "1");
      }
      const char* kinds[] = {"ring", "ulysses", "hybrid"};
      if (p.mesh.cp > 1) set(p, "context-parallel.kind", kinds[add(0, 2)]);
      p.batch.global = p.batch.micro * (s.cluster.count / replicas) * pick(1, 12);
      // Heads that the ranks do not divide go round a ring.
      if (p.mesh.cp > 1 && has_errors(check(s))) set(p, "context-parallel.kind", kinds[0]);
      if (!has_errors(check(s)))
        return with_documents(with_trained_parts(with_own_layers(std::move(s))));
    }
  }

 private:
  // One in four treats some layers otherwise than others, where that is legal too.
  Scenario with_own_layers(Scenario s) const {
    constexpr std::uint64_t kLayers = 3 * kAdded;
    if (random_.between(kLayers, 0, 3) != 0) return s;
    const char* what[] = {"tensor-parallel.ulysses-layers=first:3",
                          "tensor-parallel.ulysses-layers=all", "zero.gathered-layers=last:2"};
    Scenario own = s;
    apply_setting(own.plan, what[random_.between(kLayers + 1, 0, 2)]);
    return has_errors(check(own)) ? s : own;
  }
  // One in six has samples of documents, where that is legal too.
  Scenario with_documents(Scenario s) const {
    constexpr std::uint64_t kDocuments = 4 * kAdded;
    // Tests go on with other degrees of context parallelism, in which documents are not all legal.
    if (random_.between(kDocuments, 0, 5) != 0 || s.plan.mesh.cp > 1) return s;
    const char* what[] = {"packing=pad", "packing=packed", "packing=longest", "packing=longest"};
    const char* rules[] = {"widths=any", "widths=multiple:64", "widths=100,300,700"};
    Scenario own = s;
    apply_setting(own.plan, what[random_.between(kDocuments + 1, 0, 3)]);
    apply_setting(own.plan, "lengths=lognormal:200,0.9");
    if (setting(own.plan, "packing") == "longest") {
      apply_setting(own.plan, rules[random_.between(kDocuments + 2, 0, 2)]);
      if (random_.between(kDocuments + 3, 0, 1) == 0)
        apply_setting(own.plan, "packing-order=by-length");
    }
    return has_errors(check(own)) ? s : own;
  }
  // One in six trains a part of the model, where that is legal too.
  Scenario with_trained_parts(Scenario s) const {
    constexpr std::uint64_t kParts = 2 * kAdded;
    const char* what[] = {"lora=16", "lora=1", "lora=64", "frozen=layers"};
    if (random_.between(kParts, 0, 5) != 0) return s;
    Scenario part = s;
    const std::int64_t chosen = random_.between(kParts + 1, 0, 3);
    // Half of those that freeze layers freeze what is in front of them too, so that the first
    // stages of a pipeline have no backward.
    const bool head_alone = chosen == 3 && random_.between(kParts + 3, 0, 1) == 0;
    apply_setting(part.plan, head_alone ? "frozen=all-but-head" : what[chosen]);
    const char* targets[] = {"all-linear", "attention", "mlp"};
    if (find_choice(part.plan, "lora") != nullptr)
      set(part.plan, "lora.targets", targets[random_.between(kParts + 2, 0, 2)]);
    return has_errors(check(part)) ? s : part;
  }

  static const Model& model(std::int64_t i) {
    static const Model list[] = {zoo_model("gpt2"),       zoo_model("bert-large"),
                                 zoo_model("llama-3-8b"), zoo_model("megatron-1.7b"),
                                 zoo_model("qwen2-7b"),   zoo_model("mixtral-8x7b")};
    return list[static_cast<std::size_t>(i)];
  }
  void draw_waves(Plan& p) {
    const char* policies[] = {"half-cycle", "exclusive", "aligned", "custom"};
    const char* syncs[] = {"accumulate", "async", "local"};
    set(p, "tick-tock.waves", std::to_string(add(2, 3)));
    set(p, "tick-tock.policy", policies[add(0, 3)]);
    set(p, "tick-tock.sync", syncs[add(0, 2)]);
    if (add(0, 1) == 0) p.mesh.pp = 1;
  }
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return random_.between(next_++, low, high);
  }
  // Draws values that were added later from a separate sequence, so that earlier draws stay the
  // same.
  std::int64_t add(std::int64_t low, std::int64_t high) {
    return random_.between(kAdded + added_++, low, high);
  }
  static void set(Plan& p, const char* key, std::string_view value) {
    apply_setting(p, key, value);
  }

  Random random_;
  const std::vector<std::string>& schedules_;
  static constexpr std::uint64_t kAdded = std::uint64_t{1} << 40;
  std::uint64_t next_ = 0, added_ = 0;
};

/// The scenario as the words of the command line, for a failure's message.
inline std::string in_words(const Scenario& s) {
  std::string text = s.model.name + " on " + s.cluster.name;
  for (const Setting& one : settings()) text += " " + std::string(one.key) + "=" + one.read(s.plan);
  return text;
}

}  // namespace trainyard::testing
