#include "planners/recompute/integer_program.h"

#include <coin/Cbc_C_Interface.h>
#include <coin/Coin_C_defines.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

namespace trainyard {
namespace {

struct Delete {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};
using CbcModel = std::unique_ptr<Cbc_Model, Delete>;

void set(const CbcModel& model, const char* name, const std::string& value) {
  Cbc_setParameter(model.get(), name, value.c_str());
}

double bounded(double value) {
  return std::isinf(value) ? std::copysign(std::numeric_limits<double>::max(), value) : value;
}

}  // namespace

int IntegerProgram::column(double low, double high, double cost, bool whole) {
  columns_.push_back({low, high, cost, whole});
  return static_cast<int>(columns_.size()) - 1;
}

void IntegerProgram::row(double low, double high, Terms terms) {
  rows_.push_back({low, high, std::move(terms)});
}

void IntegerProgram::at_most(Terms terms, double high) {
  row(-std::numeric_limits<double>::infinity(), high, std::move(terms));
}

namespace {

// CBC adds up what it is given: matrix by column.
struct Matrix {
  std::vector<int> starts, rows;
  std::vector<double> values;
};

}  // namespace

IntegerProgram::Answer IntegerProgram::relax() const {
  IntegerProgram loose = *this;
  for (Column& column : loose.columns_) column.whole = false;
  return loose.solve(0);
}

IntegerProgram::Answer IntegerProgram::solve(std::int64_t nodes,
                                             const std::vector<double>& start) const {
  Matrix matrix;
  std::vector<std::vector<std::pair<int, double>>> by_column(columns_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (const auto& [column, value] : rows_[r].terms)
      by_column[static_cast<std::size_t>(column)].emplace_back(static_cast<int>(r), value);
  std::vector<double> low, high, cost, row_low, row_high;
  bool any_whole = false;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    matrix.starts.push_back(static_cast<int>(matrix.rows.size()));
    for (const auto& [r, value] : by_column[c])
      matrix.rows.push_back(r), matrix.values.push_back(value);
    low.push_back(bounded(columns_[c].low)), high.push_back(bounded(columns_[c].high));
    cost.push_back(columns_[c].cost);
    any_whole = any_whole || columns_[c].whole;
  }
  matrix.starts.push_back(static_cast<int>(matrix.rows.size()));
  for (const Row& row : rows_)
    row_low.push_back(bounded(row.low)), row_high.push_back(bounded(row.high));

  const CbcModel model(Cbc_newModel());
  Cbc_setLogLevel(model.get(), 0);
  Cbc_loadProblem(model.get(), static_cast<int>(columns_.size()), static_cast<int>(rows_.size()),
                  matrix.starts.data(), matrix.rows.data(), matrix.values.data(), low.data(),
                  high.data(), cost.data(), row_low.data(), row_high.data());
  Cbc_setObjSense(model.get(), 1);
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (columns_[c].whole) Cbc_setInteger(model.get(), static_cast<int>(c));
  if (any_whole) {
    set(model, "maxN", std::to_string(nodes));
    set(model, "ratio", "0");
    set(model, "threads", "0");
    if (start.size() == columns_.size()) {
      std::vector<int> indices;
      for (std::size_t c = 0; c < start.size(); ++c) indices.push_back(static_cast<int>(c));
      Cbc_setMIPStartI(model.get(), static_cast<int>(start.size()), indices.data(), start.data());
    }
  }
  Cbc_solve(model.get());

  Answer answer;
  const bool optimal = Cbc_isProvenOptimal(model.get()) != 0;
  if (Cbc_isProvenInfeasible(model.get()) != 0) {
    answer.state = Answer::State::Infeasible;
    return answer;
  }
  answer.cost = Cbc_getObjValue(model.get());
  answer.bound = any_whole ? Cbc_getBestPossibleObjValue(model.get()) : answer.cost;
  if (optimal) answer.bound = answer.cost;
  const double* values = Cbc_getColSolution(model.get());
  const bool has = optimal || (any_whole && answer.cost < 1e49);
  if (has && values != nullptr) {
    answer.state = optimal ? Answer::State::Optimal : Answer::State::Feasible;
    answer.values.assign(values, values + columns_.size());
  }
  return answer;
}

}  // namespace trainyard
