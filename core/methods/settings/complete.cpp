// This file writes out every default of a plan in one order, so that equal plans become equal text,
// and derives the model that a plan trains from the one that the user gave.
#include <algorithm>
#include <utility>

#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/model/divided_rows.h"
#include "core/model/trained_parts.h"
#include "core/plan/context_degrees.h"
#include "core/plan/halp.h"
#include "core/plan/spatial_partition.h"

namespace trainyard {

Plan complete(const Scenario& scenario) {
  Plan plan = scenario.plan;
  plan.mesh.dp = data_parallel(plan, scenario.cluster);
  if (plan.mesh.etp == plan.mesh.tp) plan.mesh.etp.reset();
  if (plan.batch.sequence == 0) plan.batch.sequence = scenario.model.sequence;
  if (plan.batch.global == 0) plan.batch.global = plan.batch.micro * *plan.mesh.dp * plan.mesh.pp;
  if (chosen_on(plan, MethodAxis::Schedule) == nullptr)
    choice(plan, plan.virtual_stages > 1 ? "interleaved" : "1f1b");
  if (chosen_on(plan, MethodAxis::Precision) == nullptr) {
    const Device& device = scenario.cluster.device;
    choice(plan, supports(device, DType::BF16)  ? "bf16"
                 : supports(device, DType::F16) ? "fp16"
                                                : "fp32");
  }
  if (plan.mesh.tp > 1) choice(plan, "tensor-parallel");
  // The ranks of cp divide the rows of images where a model reads images and no sequence.
  const bool images = plan.mesh.cp > 1 && has_divisible_rows(scenario.model);
  if (plan.mesh.cp > 1) choice(plan, images ? kSpatialPartition : "context-parallel");
  if (!images)
    std::erase_if(plan.choices, [](const Choice& c) { return c.method == kSpatialPartition; });
  if (plan.mesh.ep > 1 || plan.mesh.etp) choice(plan, "expert-parallel");
  if (trains_by_halp(plan)) choice(plan, kHalp);
  for (std::string_view always :
       {"recompute", "data-parallel", "gradient-accumulation", "zero", "overlap"})
    choice(plan, always);
  for (Choice& c : plan.choices) {
    const Method& m = method(c.method);
    throw_if_errors(check_params(c.params, m.params, {"plan#/choices/" + c.method}));
    c.params = with_defaults(c.params, m.params);
  }
  const Choice* const context = find_choice(plan, "context-parallel");
  plan.mesh.ulysses =
      context != nullptr ? ulysses_degree(scenario.model, plan.mesh, context->params) : 1;
  // Choices are sorted in the catalogue's order, so that equal plans are equal text however they
  // were put together.
  const auto rank = [](const Choice& c) { return find_method(c.method) - methods().data(); };
  std::stable_sort(plan.choices.begin(), plan.choices.end(),
                   [&](const Choice& a, const Choice& b) { return rank(a) < rank(b); });
  return plan;
}

bool derives_model(const Scenario& scenario) {
  const std::vector<Choice>& choices = scenario.plan.choices;
  return !is_as_given(scenario.model) || divides_images(scenario.plan) ||
         std::any_of(choices.begin(), choices.end(),
                     [](const Choice& c) { return method(c.method).derive != nullptr; });
}

Model trained_model(const Scenario& scenario) {
  Model model = as_given(scenario.model);
  for (const Choice& c : scenario.plan.choices)
    if (const Method& m = method(c.method); m.derive != nullptr)
      model = m.derive(std::move(model), scenario.plan, c.params);
  return divides_images(scenario.plan) ? with_divided_rows(std::move(model), scenario.plan.mesh.cp)
                                       : model;
}

}  // namespace trainyard
