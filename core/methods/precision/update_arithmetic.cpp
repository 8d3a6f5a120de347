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

}  // namespace trainyard
