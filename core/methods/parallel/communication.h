// With this function a method adds a collective to a body.
#pragma once

#include <string>
#include <string_view>

#include "core/methods/layers/body.h"

namespace trainyard {

inline BodyOp collective_op(std::string_view method, std::string name, NodeId node, Pass pass,
                            CollectiveKind kind, Group group, Bytes bytes) {
  BodyOp op;
  op.name = std::move(name);
  op.pass_name = method;
  op.node = node;
  op.pass = pass;
  op.communication = true;
  op.collective = kind;
  op.group = group;
  op.bytes = bytes;
  return op;
}

}  // namespace trainyard
