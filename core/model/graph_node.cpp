// This file adds nodes to a graph; the shape of a node's output is determined by its op.
#include "core/base/error.h"
#include "core/model/op.h"

namespace trainyard {

TensorId Graph::add(std::string name, const Op& op, std::vector<TensorId> inputs,
                    std::map<std::string, std::int64_t> attributes, TensorSplit split) {
  Node node{std::move(name), &op, std::move(inputs), {}, std::move(attributes), split};
  for (TensorId id : node.inputs)
    if (id.value >= tensors.size())
      throw Error(Error::Kind::InvalidInput,
                  node.name + " (" + std::string(op.name) +
                      "): expected inputs that are tensors of the block, found one that is not");
  std::vector<Tensor> outputs = op.infer(*this, node);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].name = outputs.size() == 1 ? node.name : node.name + "." + std::to_string(i);
    node.outputs.push_back(add(std::move(outputs[i])));
  }
  nodes.push_back(std::move(node));
  return nodes.back().outputs.front();
}

}  // namespace trainyard
