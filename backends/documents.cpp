#include "backends/documents.h"

#include <string>

#include "backends/executable.h"
#include "core/model/ops.h"
#include "core/training/data/document_data.h"
#include "core/training/model_inputs.h"

namespace trainyard {

std::optional<DocumentStream> document_stream(const Workload& w, std::uint64_t seed) {
  if (w.layout.binding.documents == nullptr) return std::nullopt;
  return DocumentStream(w.layout.binding.documents, w.scenario.plan.batch, seed,
                        w.scenario.plan.mesh.dp.value_or(1));
}

std::unique_ptr<DataSource> documents_of(const BackendJob& job) {
  if (job.training == nullptr || job.data == nullptr) return nullptr;
  std::optional<DocumentStream> stream =
      document_stream(job.workload, seed_of(*job.training, RandomSource::Order));
  return stream ? document_data(*job.data, *std::move(stream)) : nullptr;
}

bool reads_documents(const Node& node) {
  return node.op == &attention() || node.op == &rotary() || node.op == &softmax_loss();
}

void check_documents(const BackendJob& job, std::string_view who, Diagnostics& found) {
  const std::unique_ptr<DataSource> documents = documents_of(job);
  if (documents == nullptr) return;
  const Model& model = job.workload.scenario.model;
  for (Diagnostic& d : documents->check(model)) found.push_back(std::move(d));
  const std::int64_t micro = job.workload.scenario.plan.batch.micro;
  for (const ModelInput& input : model_inputs(model))
    if (input.role == InputRole::Positions && !has_axis(input.in_graph(), Axis::Batch) &&
        micro > 1 && job.workload.layout.binding.documents->packed)
      add_error(found,
                std::string(who) +
                    " reads one list of positions for all samples of a microbatch, "
                    "whose documents differ, found " +
                    std::to_string(micro) + " samples for " + input.name(),
                "plan#/batch/micro", "micro-batch=1");
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op == &squared_error())
        add_error(found,
                  std::string(who) + " leaves padding out of losses over labels, found " +
                      node.name + " (squared_error) in " + block.name,
                  "plan#/choices/packing", "packing=none");
}

}  // namespace trainyard
