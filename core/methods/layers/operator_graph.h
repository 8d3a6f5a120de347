// An OperatorGraph is operators and what each of them waits for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard {

/// A tensor that an operator reads or writes, by a number of the graph.
struct OperatorTouch {
  int tensor = 0;
  std::int64_t bytes = 0;
  bool written = false;
};
struct Operator {
  std::string name;
  std::vector<int> after;  // operators that it waits for, each before it in the graph
  std::vector<OperatorTouch> touches = {};  // each tensor once
};
/// Operators that may run as one. None outside waits for one of them while another waits for it.
struct OperatorMerge {
  std::string name;            // "q_proj + k_proj"
  std::vector<int> operators;  // two or more, ascending
};
struct OperatorGraph {
  std::vector<Operator> operators;
  std::vector<OperatorMerge> merges = {};
};

/// Throws Error{InvalidInput} for no operators, for one that waits for itself or a later one, and
/// for a merge of fewer than two operators or of one that is not there.
void check_operators(const OperatorGraph&);

}  // namespace trainyard
