#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "core/plan/plan.h"
#include "core/training/optimizers/clipped_rule.h"
#include "core/training/optimizers/pruned_rule.h"
#include "core/training/optimizers/stretch_rule.h"

namespace trainyard {

std::unique_ptr<OptimizerRule> optimizer_rule(std::string_view name, const Training& training,
                                              WeightUpdate how, const Halp& halp) {
  using Make = std::unique_ptr<OptimizerRule> (*)(const Training&, WeightUpdate);
  struct Entry {
    std::string_view name;
    Make make;
  };
  static constexpr Entry kRules[] = {{"sgd", sgd},
                                     {"momentum", momentum},
                                     {"adam", adam},
                                     {"adamw", adamw},
                                     {"adagrad", adagrad},
                                     {"lion", lion},
                                     {"lars", lars},
                                     {"lamb", lamb},
                                     {kAdamw8bit, adamw_8bit},
                                     {kAdafactor, adafactor},
                                     {kMuon, muon}};
  if (name == kHalp) return halp_rule(training, how, halp);
  for (const Entry& entry : kRules)
    if (entry.name == name) {
      std::unique_ptr<OptimizerRule> rule = entry.make(training, how);
      if (training.weight_clip > 0) rule = clipped_rule(training.weight_clip, std::move(rule));
      return training.sparsity > 0 ? pruned_rule(std::move(rule)) : std::move(rule);
    }
  optimizer(name);  // throws, naming the nearest, if the name is unknown
  throw Error(Error::Kind::Internal, "no rule for optimizer " + std::string(name));
}

ParameterPart piece_of(const ParameterPart& part, std::int64_t first, std::int64_t count) {
  const auto moved = [&](auto* from, DType type) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(from)>>,
                                    const std::byte, std::byte>;
    return from == nullptr ? from : static_cast<Byte*>(from) + first * bytes_of(type);
  };
  ParameterPart piece = part;
  piece.elements = count;
  piece.first += first;
  piece.weights = moved(part.weights, part.weight_type);
  piece.gradients = moved(part.gradients, part.gradient_type);
  piece.updated = moved(part.updated, part.weight_type);
  if (part.master != nullptr) piece.master += first;
  if (part.derived != nullptr) piece.derived += first;
  piece.state = {};
  piece.tensor_state = nullptr;
  return piece;
}

WeightUpdate weight_update_of(const Plan& plan, const Precision& precision) {
  if (find_choice(plan, "bf16-nearest") != nullptr) return WeightUpdate::Nearest;
  if (find_choice(plan, "bf16-sr") != nullptr) return WeightUpdate::Stochastic;
  if (find_choice(plan, "bf16-kahan") != nullptr) return WeightUpdate::Kahan;
  return precision.master_weights ? WeightUpdate::Master : WeightUpdate::Direct;
}

}  // namespace trainyard
