// Any document is a model or is refused with InvalidInput; a model writes to text that reads back
// as the same, can be counted, and each of its ops knows its work and what it saves.
#include <cstdint>
#include <cstdlib>

#include "core/io/documents/model_json.h"
#include "core/model/op.h"

namespace {

using namespace trainyard;

void ask(const Model& model) {
  Binding binding;
  binding.micro_batch = 2;
  binding.sequence = model.sequence;
  binding.tp = 2;
  const Precision precision;
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes) {
      const LocalNode local{block.graph, node, binding, precision};
      for (const Pass pass : {Pass::Forward, Pass::BackwardInput, Pass::BackwardWeight})
        if (node.op->work(local, pass).read < Bytes{0}) std::abort();
      for (const Saved& saved : node.op->saved(local))
        if (saved.bytes < Bytes{0}) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Model model = read_model({reinterpret_cast<const char*>(data), size}, "input");
    if (write_model(read_model(write_model(model), "again")) != write_model(model)) std::abort();
    if (parameters(model) < active_parameters(model)) std::abort();
    ask(model);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
