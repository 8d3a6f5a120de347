#include "backends/reference/reference_machine.h"

#include <map>

#include "backends/executable.h"
#include "backends/reference/execution.h"
#include "backends/reference/schedule.h"
#include "core/methods/precision/vector_format.h"

namespace trainyard {
namespace {

void check_divided(const Workload& w, Diagnostics& found) {
  const Binding& b = w.layout.binding;
  for (const auto& [degree, name] : {std::pair{b.tp, "tp"}, {b.cp, "cp"}, {b.ep, "ep"}})
    if (degree > 1)
      add_error(found,
                "the reference executes whole tensors, found " + std::string(name) + "=" +
                    std::to_string(degree),
                "plan#/mesh/" + std::string(name), std::string(name) + "=1");
}

void check_capacity(const Workload& w, Diagnostics& found) {
  const Choice* chosen = find_choice(w.scenario.plan, "expert-parallel");
  if (chosen != nullptr && chosen->params.has("capacity") && chosen->params.number("capacity") > 0)
    add_error(found, "the reference keeps all tokens of an expert, found a capacity",
              "plan#/choices/expert-parallel/capacity", "expert-parallel.capacity=0");
}

void check_model(const Workload& w, Diagnostics& found) {
  const Model& model = w.scenario.model;
  check_executable(model, "the reference", found);
  std::map<std::string, std::size_t> stage_of;  // of each block's first layer
  for (std::size_t s = 0; s < w.runs.size(); ++s)
    for (const Workload::Run& run : w.runs[s])
      stage_of.try_emplace(
          model.blocks[static_cast<std::size_t>(w.bodies[static_cast<std::size_t>(run.body)].block)]
              .name,
          s);
  for (const Block& block : model.blocks) {
    for (const Tensor& t : block.graph.tensors)
      if (!t.tied_to.empty() &&
          stage_of[t.tied_to.substr(0, t.tied_to.find('/'))] != stage_of[block.name])
        add_error(found,
                  block.name + "/" + t.name + " shares its weights with " + t.tied_to +
                      " on another stage, and no instruction adds their gradients",
                  "model#/blocks/" + block.name, "pp=1");
  }
}

}  // namespace

Diagnostics ReferenceMachine::check(const Workload& w, const Program& p) {
  Diagnostics found = verify(p);
  if (p.stages != static_cast<int>(w.runs.size()))
    add_error(found,
              "expected a program of the workload's " + std::to_string(w.runs.size()) +
                  " stages, found one of " + std::to_string(p.stages),
              "program");
  const bool vectors = vector_format(w.scenario.plan).has_value();
  if (narrow(w.layout.precision.math) || vectors)
    add_error(found,
              "the reference computes every product in 8-byte numbers, found casts to " +
                  (vectors ? "whole numbers of few bits"
                           : std::string(to_string(w.layout.precision.math))),
              "plan#/choices", "precision=bf16");
  check_divided(w, found);
  check_capacity(w, found);
  check_model(w, found);
  check_executable(p, found);
  return found;
}

ReferenceMachine::ReferenceMachine(const Workload& w, const Program& p) {
  throw_if_errors(check(w, p));
  schedule_ = std::make_unique<const ReferenceSchedule>(w, p);
}

ReferenceMachine::~ReferenceMachine() = default;

ReferenceRun ReferenceMachine::run(const ReferenceOptions& options) const {
  return ReferenceExecution(*schedule_, options).run();
}

}  // namespace trainyard
