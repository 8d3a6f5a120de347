// An OperatorGraph is operators and what each of them waits for.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

struct Operator {
  std::string name;
  std::vector<int> after;  // operators that it waits for, each before it in the graph
};
struct OperatorGraph {
  std::vector<Operator> operators;
};

/// Throws Error{InvalidInput} for no operators, and for one that waits for itself or a later one.
void check_operators(const OperatorGraph&);

}  // namespace trainyard
