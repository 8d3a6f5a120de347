#include "core/methods/precision/update_arithmetic.h"

#include "core/methods/precision/tensor_state.h"
#include "core/plan/halp.h"

namespace trainyard {
namespace {

constexpr double kCode = 25, kFactors = 23, kInnerStep = 50;

}  // namespace

UpdateArithmetic update_arithmetic(const Plan& plan) {
  if (trains_by_halp(plan)) return {kInnerStep, DType::F64};
  if (plan.optimizer == kAdafactor) return {kFactors, DType::F64};
  if (plan.optimizer == kAdamw8bit) return {2 * kCode, DType::I8};
  return {};
}

void add_update_arithmetic(Body& body, const Layout& layout, const Plan& plan) {
  const UpdateArithmetic each = update_arithmetic(plan);
  if (body.update.empty() || each.operations == 0) return;
  Work& update = body.update.front().work;
  const std::int64_t updated =
      (update.read + update.written).value / layout.optimizer_touched_bytes;
  update.flops = {each.operations * static_cast<double>(updated)};
  update.math = each.math;
}

}  // namespace trainyard
