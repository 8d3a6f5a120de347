#include "backends/cpu/kernels/operands.h"

#include <string>

namespace trainyard {

void missing_operand(const KernelCall& call, const char* what, std::size_t position,
                     const std::vector<TensorId>& ids) {
  const std::string name = position < ids.size() ? "\"" + call.graph[ids[position]].name + "\""
                                                 : std::to_string(position);
  throw Error(Error::Kind::Internal,
              call.name() + " reads " + what + name + ", which is not there");
}

const FactView& needed_fact(const KernelCall& call, std::string_view what) {
  if (const FactView* found = call.fact(what)) return *found;
  throw Error(Error::Kind::Internal,
              call.name() + " reads its " + std::string(what) + ", which is not there");
}

}  // namespace trainyard
