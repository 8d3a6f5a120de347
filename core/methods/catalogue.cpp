#include "core/methods/catalogue.h"

#include <array>
#include <cassert>

#include "core/base/nearest.h"

namespace trainyard {

std::string_view to_string(MethodAxis axis) {
  switch (axis) {
    case MethodAxis::Schedule:
      return "schedule";
    case MethodAxis::Sharding:
      return "sharding";
    case MethodAxis::Reduction:
      return "reduction";
    case MethodAxis::Memory:
      return "memory";
    case MethodAxis::Precision:
      return "precision";
    case MethodAxis::Communication:
      return "communication";
    case MethodAxis::Data:
      return "data";
  }
  return "";
}

// The order matters: the collectives of a layer must be in place before recompute repeats them, the
// all-reduce of gradients before ZeRO or compression replaces it or its format is set, and overlap
// marks what all others wrote but Adasum and relaxed synchrony, whose messages follow the update
// and which nothing hides. Stages of operators are of the ops that all others left.
std::span<const Method> methods() {
  static const std::array list = {
      gpipe(),
      one_f_one_b(),
      interleaved_1f1b(),
      zb_h1(),
      zb_h2(),
      zb_v(),
      v_half(),
      v_min(),
      dualpipe_v(),
      dualpipe(),
      chimera(),
      pipedream(),
      pipedream_2bw(),
      pipemare(),
      pipelined_backprop(),
      tick_tock(),  //
      fp32(),
      tf32(),
      fp16(),
      bf16(),
      bf16_nearest(),
      bf16_sr(),
      bf16_kahan(),
      flex16(),
      fp8(),
      mxfp8(),
      nvfp4(),
      vs_quant(),
      frozen_parts(),
      lora(),
      sparse(),               //
      tensor_train_tables(),  //
      tensor_parallel(),
      context_parallel(),
      spatial_partition(),
      expert_parallel(),
      batch_norm_statistics(),  //
      packing(),
      batch_ramp(),
      evaluation(),
      input(),      //
      recompute(),  //
      offload(),    //
      data_parallel_method(),
      gradient_accumulation(),
      zero(),  //
      tensor_formats_method(),
      compression(),  //
      halp_method(),
      optimizer_norms(),
      overlap(),
      adasum(),
      relaxed_synchrony(),
      operator_stages(),
  };
  return list;
}

const Method* find_method(std::string_view name) {
  for (const Method& m : methods())
    if (m.name == name) return &m;
  return nullptr;
}

const Choice* chosen_on(const Plan& plan, MethodAxis axis) {
  for (const Choice& c : plan.choices)
    if (const Method* m = find_method(c.method); m != nullptr && m->axis == axis) return &c;
  return nullptr;
}

const Method& schedule_of(const Plan& plan) {
  const Choice* choice = chosen_on(plan, MethodAxis::Schedule);
  assert(choice != nullptr && "a complete plan has a schedule");
  return method(choice->method);
}

const Method& method(std::string_view name) {
  if (const Method* found = find_method(name)) return *found;
  std::vector<std::string_view> names;
  for (const Method& m : methods()) names.push_back(m.name);
  throw Error(Error::Kind::InvalidInput,
              "no method is called \"" + std::string(name) + "\"" + did_you_mean(name, names));
}

}  // namespace trainyard
