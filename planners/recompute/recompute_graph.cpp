#include "planners/recompute/recompute_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "planners/index.h"
#include "planners/recompute/graph_stages.h"
#include "planners/recompute/integer_program.h"

namespace trainyard {
namespace {

// Sizes of bytes and times divided by what they share: small numbers keep the solver exact.
std::int64_t shared_divisor(std::int64_t a, std::int64_t b) { return std::gcd(a, b); }

// Whole units only: of the limit a part of one is of no use, and of the others there is none.
double units_of(std::int64_t amount, std::int64_t unit) {
  const std::int64_t units = amount / unit;
  return static_cast<double>(units);
}

// The program of Jain et al. 2020, section 4: equations in its order.
class Checkmate {
 public:
  Checkmate(const OpGraph& graph, Bytes limit)
      : graph_(graph), n_(static_cast<int>(graph.ops.size())) {
    std::int64_t bytes = 0;
    for (const GraphOp& op : graph.ops) {
      bytes = shared_divisor(bytes, op.bytes.value);
      tick_ = shared_divisor(tick_, op.time.count());
    }
    tick_ = std::max<std::int64_t>(1, tick_);
    bytes = std::max<std::int64_t>(1, bytes);
    for (const GraphOp& op : graph.ops) size_.push_back(units_of(op.bytes.value, bytes));
    limit_ = units_of((limit - graph.always).value, bytes);
    users_.resize(at(n_));
    for (int i = 0; i < n_; ++i)
      for (const int in : graph.ops[at(i)].inputs) users_[at(in)].push_back(i);
    tables();
    dependencies();
    memory();
  }

  IntegerProgram::Answer relax() const { return program_.relax(); }
  IntegerProgram::Answer solve(std::int64_t nodes, const GraphStages& start) const {
    std::vector<double> values(program_.columns(), 0);
    for (int t = 0; t < n_; ++t)
      for (int i = 0; i <= t; ++i) {
        const std::size_t cell = at(t) * at(n_) + at(i);
        values[at(runs_[cell])] = start.runs[cell];
        if (i < t) values[at(kept_[cell])] = start.kept[cell];
      }
    fill(values);
    return program_.solve(nodes, values);
  }

  /// No schedule costs less than the program's cost, and all cost whole ticks.
  Duration bound(double cost) const {
    return Duration{static_cast<std::int64_t>(std::ceil(cost - 1e-6 * std::max(1.0, cost))) *
                    tick_};
  }

  /// Whatever is kept by more than the threshold.
  StageTable rounded(const std::vector<double>& values, double threshold) const {
    StageTable kept(at(n_) * at(n_), 0);
    for (int t = 1; t < n_; ++t)
      for (int i = 0; i < t; ++i) {
        const std::size_t cell = at(t) * at(n_) + at(i);
        kept[cell] = values[at(kept_[cell])] > threshold ? 1 : 0;
      }
    return kept;
  }

 private:
  struct Freed {
    int stage, op, after, column;
  };

  int runs(int t, int i) const { return runs_[at(t) * at(n_) + at(i)]; }
  int kept(int t, int i) const { return kept_[at(t) * at(n_) + at(i)]; }

  void tables() {
    runs_.assign(at(n_) * at(n_), -1);
    kept_ = used_ = runs_;
    for (int t = 0; t < n_; ++t)
      for (int i = 0; i <= t; ++i) {
        const double cost = units_of(graph_.ops[at(i)].time.count(), tick_);
        const std::size_t cell = at(t) * at(n_) + at(i);
        runs_[cell] = program_.column(i == t ? 1 : 0, 1, cost, true);
        if (i < t) kept_[cell] = program_.binary(0);
        used_[cell] = program_.column(0, limit_, 0, false);
      }
  }

  void dependencies() {
    for (int t = 0; t < n_; ++t)
      for (int i = 0; i <= t; ++i) {
        for (const int in : graph_.ops[at(i)].inputs)
          program_.at_most({{runs(t, i), 1}, {runs(t, in), -1}, {kept(t, in), -1}}, 0);
        if (t + 1 < n_) {
          IntegerProgram::Terms terms = {{kept(t + 1, i), 1}, {runs(t, i), -1}};
          if (i < t) terms.emplace_back(kept(t, i), -1);
          program_.at_most(std::move(terms), 0);
        }
        if (i < t) program_.at_most({{runs(t, i), 1}, {kept(t, i), 1}}, 1);
      }
  }

  // Used when op k of stage t has run, and nothing is freed yet.
  void memory() {
    for (int t = 0; t < n_; ++t)
      for (int k = 0; k <= t; ++k) {
        IntegerProgram::Terms terms = {{used_[at(t) * at(n_) + at(k)], 1},
                                       {runs(t, k), -size_[at(k)]}};
        if (k == 0) {
          for (int i = 0; i < t; ++i) terms.emplace_back(kept(t, i), -size_[at(i)]);
        } else {
          terms.emplace_back(used_[at(t) * at(n_) + at(k - 1)], -1);
          for (const int i : freed_by(k - 1)) terms.emplace_back(free(t, i, k - 1), size_[at(i)]);
        }
        program_.row(0, 0, std::move(terms));
      }
  }

  std::vector<int> freed_by(int k) const {
    std::vector<int> ops = graph_.ops[at(k)].inputs;
    std::sort(ops.begin(), ops.end());
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
    ops.push_back(k);
    return ops;
  }

  // 1 where op k of stage t runs and nothing needs i any more: no hazard is left.
  int free(int t, int i, int k) {
    const int column = program_.binary(0);
    IntegerProgram::Terms hazards = {{runs(t, k), -1}};
    double most = 1;
    const auto hazard = [&](int of) { hazards.emplace_back(of, 1), ++most; };
    if (t + 1 < n_) hazard(kept(t + 1, i));
    for (const int user : users_[at(i)])
      if (user > k && user <= t) hazard(runs(t, user));
    // 1 - free <= hazards + 1, hazards + 1 <= most (1 - free), the 1 being that of op k.
    IntegerProgram::Terms least = hazards, bounded = std::move(hazards);
    least.emplace_back(column, 1);
    program_.row(0, most + 1, std::move(least));
    bounded.emplace_back(column, most);
    program_.row(-most - 1, most - 1, std::move(bounded));
    freed_.push_back({t, i, k, column});
    return column;
  }

  // What follows from R and S, so that a start is a whole solution.
  void fill(std::vector<double>& values) const {
    const auto on = [&](int column) { return column >= 0 && values[at(column)] > 0.5; };
    for (const Freed& f : freed_) {
      bool free = on(runs(f.stage, f.after)) && !(f.stage + 1 < n_ && on(kept(f.stage + 1, f.op)));
      for (const int user : users_[at(f.op)])
        if (user > f.after && user <= f.stage && on(runs(f.stage, user))) free = false;
      values[at(f.column)] = free ? 1 : 0;
    }
    std::vector<double> gone(at(n_) * at(n_), 0);
    for (const Freed& f : freed_)
      gone[at(f.stage) * at(n_) + at(f.after)] += values[at(f.column)] * size_[at(f.op)];
    for (int t = 0; t < n_; ++t) {
      double used = 0;
      for (int i = 0; i < t; ++i) used += values[at(kept(t, i))] * size_[at(i)];
      for (int k = 0; k <= t; ++k) {
        if (k > 0) used -= gone[at(t) * at(n_) + at(k - 1)];
        used += values[at(runs(t, k))] * size_[at(k)];
        values[at(used_[at(t) * at(n_) + at(k)])] = used;
      }
    }
  }

  const OpGraph& graph_;
  int n_;
  std::int64_t tick_ = 0;  // ns
  std::vector<double> size_;
  double limit_ = 0;
  std::vector<std::vector<int>> users_;
  IntegerProgram program_;
  std::vector<int> runs_, kept_, used_;  // columns by stage and op
  std::vector<Freed> freed_;
};

class GraphSearch {
 public:
  GraphSearch(const OpGraph& graph, Bytes limit, const GraphOptions& options)
      : graph_(graph), limit_(limit), options_(options) {}

  GraphSchedule run() {
    for (const GraphOp& op : graph_.ops) least_ += op.time;
    best_.bound = best_.relaxed = least_;
    if (consider(keep_all(graph_), "nothing dropped")) return proven();
    consider(evict(graph_, keep_all(graph_), limit_), "eviction");
    const Checkmate program(graph_, limit_);
    stop();
    const IntegerProgram::Answer relaxed = program.relax();
    if (relaxed.state == IntegerProgram::Answer::State::Infeasible) refuse("no schedule fits");
    if (relaxed.found()) {
      best_.relaxed = best_.bound = std::max(least_, program.bound(relaxed.cost));
      for (const double threshold : {0.9, 0.75, 0.6, 0.5, 0.4, 0.25, 0.1, 0.01}) {
        const StageTable kept = program.rounded(relaxed.values, threshold);
        consider(kept, "rounding");
        consider(evict(graph_, kept, limit_), "rounding");
      }
    }
    if (found_ && best_.time == best_.bound) return proven();
    if (options_.nodes > 0) branch(program);
    if (!found_) refuse("no schedule that fits was found");
    return best_;
  }

 private:
  void stop() const {
    if (options_.stop.stop_requested())
      throw Error(Error::Kind::Cancelled, "the search for a schedule was stopped");
  }

  GraphSchedule proven() {
    best_.bound = best_.time;
    best_.optimal = true;
    return best_;
  }

  // Returns whether it fits.
  bool consider(const StageTable& kept, std::string_view how) {
    GraphStages stages = with_least_runs(graph_, kept);
    std::vector<GraphAction> actions = actions_of(graph_, stages);
    const GraphRun run = run_graph(graph_, actions);
    least_found_ = std::min(least_found_, run.peak);
    if (run.peak > limit_) return false;
    if (found_ && run.time >= best_.time) return true;
    found_ = true;
    best_.time = run.time, best_.peak = run.peak;
    best_.actions = std::move(actions);
    best_.found_by = how;
    stages_ = std::move(stages);
    return true;
  }

  void branch(const Checkmate& program) {
    stop();
    const std::size_t cells = graph_.ops.size() * graph_.ops.size();
    if (!found_) stages_ = {StageTable(cells, 0), StageTable(cells, 0)};
    const IntegerProgram::Answer answer = program.solve(options_.nodes, stages_);
    if (answer.state == IntegerProgram::Answer::State::Infeasible && !found_)
      refuse("no schedule fits");
    if (answer.found()) consider(program.rounded(answer.values, 0.5), "branch and bound");
    best_.bound = std::max(best_.bound, program.bound(answer.bound));
    if (found_ && answer.state == IntegerProgram::Answer::State::Optimal) proven();
    best_.bound = std::min(best_.bound, best_.time);
  }

  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(Error::Kind::InvalidInput,
                fmt::format("{} in {}: the least that was found needs {}", what, readable(limit_),
                            readable(least_found_)));
  }

  const OpGraph& graph_;
  Bytes limit_;
  const GraphOptions& options_;
  Duration least_{};  // every op once
  Bytes least_found_{INT64_MAX};
  bool found_ = false;
  GraphSchedule best_;
  GraphStages stages_;
};

}  // namespace

GraphSchedule best_graph_schedule(const OpGraph& graph, Bytes limit, const GraphOptions& options) {
  check_graph(graph);
  return GraphSearch(graph, limit, options).run();
}

}  // namespace trainyard
