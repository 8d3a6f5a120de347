// A linear program, some of whose columns are whole numbers, given to COIN-OR's CBC. Minimises;
// prints nothing; the same program gives the same answer.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace trainyard {

class IntegerProgram {
 public:
  using Terms = std::vector<std::pair<int, double>>;  // column, coefficient

  /// low <= column <= high. Returns its index.
  int column(double low, double high, double cost, bool whole);
  int binary(double cost) { return column(0, 1, cost, true); }
  /// low <= sum of terms <= high; +-infinity where there is no bound. A column stands once.
  void row(double low, double high, Terms terms);
  void at_most(Terms terms, double high);
  std::size_t columns() const { return columns_.size(); }
  std::size_t rows() const { return rows_.size(); }

  struct Answer {
    enum class State : std::uint8_t { Optimal, Feasible, Infeasible, Unknown };
    State state = State::Unknown;  // Feasible: the nodes were spent before the proof
    std::vector<double> values;    // by column; empty unless Optimal or Feasible
    double cost = 0;               // of the values
    double bound = 0;              // none costs less; meaningless where Infeasible
    bool found() const { return state == State::Optimal || state == State::Feasible; }
  };
  /// The relaxation: no column need be whole.
  Answer relax() const;
  /// `start`: a solution to begin from, by column; it need not be one. `nodes`: of branch and
  /// bound; blocks until they are spent or the proof is found.
  Answer solve(std::int64_t nodes, const std::vector<double>& start = {}) const;

 private:
  struct Column {
    double low, high, cost;
    bool whole;
  };
  struct Row {
    double low, high;
    Terms terms;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace trainyard
