#include "core/rules/rule.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainyard {
namespace {

const char* role_name(TensorRole role) {
  switch (role) {
    case TensorRole::Gradient:
      return "gradient of";
    case TensorRole::Weight:
      return "weight";
    case TensorRole::Update:
      return "update of";
    case TensorRole::Output:
      return "output of";
    case TensorRole::LayerInput:
      return "input of";
    case TensorRole::Image:
      return "input";
  }
  return "";
}

}  // namespace

std::string described(const LookedTensor& tensor) {
  return fmt::format("{} \"{}\"", role_name(tensor.role), tensor.name);
}

FiredRule fired_in(const RunShown& shown, const LookedTensor& tensor, double found, double limit,
                   const std::string& sentence) {
  FiredRule fired;
  fired.step = shown.now().step;
  fired.where = fmt::format("{} in {}", described(tensor), tensor.where);
  fired.layer = tensor.layer;
  fired.device = tensor.device;
  fired.role = tensor.role;
  fired.found = found, fired.limit = limit;
  fired.sentence = fmt::format("step {}: {} in {}", fired.step, sentence, tensor.where);
  return fired;
}

FiredRule fired_for(const RunShown& shown, const std::string& where, double found, double limit,
                    const std::string& sentence) {
  FiredRule fired;
  fired.step = shown.now().step;
  fired.where = where;
  fired.found = found, fired.limit = limit;
  fired.sentence = fmt::format("step {}: {}", fired.step, sentence);
  return fired;
}

FiredRule fired_on(int device, const std::string& where, double found, double limit,
                   const std::string& sentence, std::optional<Instant> at) {
  FiredRule fired;
  fired.where = where;
  fired.device = device;
  fired.found = found, fired.limit = limit;
  fired.sentence = sentence;
  fired.at = at;
  return fired;
}

const LookedTensor* same_tensor(const Look& look, const LookedTensor& wanted) {
  const auto found =
      std::find_if(look.tensors.begin(), look.tensors.end(), [&](const LookedTensor& t) {
        return t.role == wanted.role && t.layer == wanted.layer && t.name == wanted.name;
      });
  return found == look.tensors.end() ? nullptr : &*found;
}

}  // namespace trainyard
