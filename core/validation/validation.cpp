#include "core/validation/validation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <variant>

#include "core/validation/rows/row_context.h"

namespace trainyard {
namespace {

// Calls work(i) for each i on several threads; each call must write only to its own places.
void each(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failed;
  const auto run = [&] {
    for (std::size_t i = next++; i < count && !stop; i = next++) try {
        work(i);
      } catch (...) {
        if (!stop.exchange(true)) failed = std::current_exception();
      }
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(run);
    run();
  }
  if (failed) std::rethrow_exception(failed);
}

// Whether a is farther off than b.
bool is_worse(const RowVerdict& a, const RowVerdict& b) {
  return std::abs(std::log1p(a.error)) > std::abs(std::log1p(b.error));
}

RowVerdict judged(const PreparedRow& row, const ValidateOptions& options) {
  const std::vector<std::string>& own = options.steps_of;
  const bool time =
      metric_name(row.metric) == "time" &&
      (own.empty() ||
       std::find(own.begin(), own.end(), row.workload.scenario.cluster.device.id) != own.end());
  RowVerdict verdict =
      verdict_of(row, predict(row, options.parameters) * (time ? options.steps.factor : 1),
                 predict_whole(row, options.parameters), validated_rows());
  return time ? narrowed(verdict, options.steps.narrowing) : verdict;
}

void explain_worst(const RowSet& set, const ValidateOptions& options, Validation& v) {
  std::vector<std::size_t> worst;
  for (std::size_t i = 0; i < set.rows.size(); ++i)
    if (set.rows[i].tunable) worst.push_back(i);
  std::stable_sort(worst.begin(), worst.end(),
                   [&](std::size_t a, std::size_t b) { return is_worse(v.rows[a], v.rows[b]); });
  worst.resize(std::min(worst.size(), static_cast<std::size_t>(std::max(0, options.explained))));
  each(worst.size(), options.threads, [&](std::size_t i) {
    v.rows[worst[i]].explanation = explain(set.rows[worst[i]], options.parameters);
  });
}

}  // namespace

namespace {

constexpr std::size_t kRowsAtOnce = 256;

// The rows that are farthest off, the farthest first; equally far ones as they came.
class Farthest {
 public:
  explicit Farthest(int most) : most_(static_cast<std::size_t>(std::max(0, most))) {}
  void see(const FilledRow& row, const RowVerdict& verdict) {
    const auto at = std::find_if(rows_.begin(), rows_.end(), [&](const auto& other) {
      return is_worse(verdict, other.second);
    });
    if (at == rows_.end() && rows_.size() >= most_) return;
    rows_.insert(at, {row, verdict});
    if (rows_.size() > most_) rows_.pop_back();
  }
  const std::vector<std::pair<FilledRow, RowVerdict>>& rows() const { return rows_; }

 private:
  std::size_t most_;
  std::vector<std::pair<FilledRow, RowVerdict>> rows_;
};

// Judges rows some at a time, on several threads, and keeps what the summary needs.
class RowSummary {
 public:
  RowSummary(const RowContext& context, const ValidateOptions& options)
      : context_(context), options_(options), farthest_(options.explained) {}

  void take(MeasuredRow row) {
    waiting_.push_back(std::move(row));
    if (waiting_.size() == kRowsAtOnce) judge();
  }

  ValidationSummary finish() {
    judge();
    made_.predicted = scored_.size();
    made_.by_metric = scored_.metric_scores();
    made_.by_source = scored_.source_scores();
    made_.kendall = scored_.mean_kendall();
    made_.mean_half_width = scored_.mean_half_width();
    for (const auto& [filled, verdict] : farthest_.rows()) {
      ExplainedRow one{std::get<PreparedRow>(prepare_filled(filled)), verdict};
      one.verdict.explanation = explain(one.row, options_.parameters);
      made_.worst.push_back(std::move(one));
    }
    return std::move(made_);
  }

 private:
  void judge() {
    struct Judged {
      FilledRow filled;
      std::variant<PreparedRow, SkippedRow> row;
      RowVerdict verdict;
    };
    std::vector<Judged> rows(waiting_.size());
    each(rows.size(), options_.threads, [&](std::size_t i) {
      rows[i].filled = context_.filled(waiting_[i]);
      rows[i].row = prepare_filled(rows[i].filled);
      if (const auto* ready = std::get_if<PreparedRow>(&rows[i].row))
        rows[i].verdict = judged(*ready, options_);
    });
    waiting_.clear();
    for (const Judged& one : rows) {
      if (const auto* skipped = std::get_if<SkippedRow>(&one.row)) {
        skip(*skipped);
        continue;
      }
      const auto& ready = std::get<PreparedRow>(one.row);
      scored_.add(ready, one.verdict);
      if (ready.tunable) farthest_.see(one.filled, one.verdict);
    }
  }

  void skip(const SkippedRow& row) {
    if (made_.skipped++ == 0) made_.first_skipped = row.row.id, made_.first_reason = row.reason;
    ++made_.reasons[row.reason];
  }

  const RowContext& context_;
  const ValidateOptions& options_;
  std::vector<MeasuredRow> waiting_;
  ScoredRows scored_;
  Farthest farthest_;
  ValidationSummary made_;
};

}  // namespace

ValidationSummary summarize_rows(const RowStream& rows, const ValidateOptions& options) {
  RowContext context;
  rows([&](const MeasuredRow& row) { context.see(row); });
  context.settle();
  RowSummary summary(context, options);
  rows([&](MeasuredRow row) { summary.take(std::move(row)); });
  return summary.finish();
}

ValidationSummary summarize_rows(const RowSet& set, const Validation& v) {
  ValidationSummary made;
  made.predicted = set.rows.size(), made.skipped = set.skipped.size();
  made.by_metric = v.by_metric, made.by_source = v.by_source;
  made.kendall = v.kendall, made.mean_half_width = v.mean_half_width;
  for (const RowVerdict& verdict : v.rows)
    if (!verdict.explanation.empty()) made.worst.push_back({set.rows[verdict.row], verdict});
  std::stable_sort(
      made.worst.begin(), made.worst.end(),
      [](const ExplainedRow& a, const ExplainedRow& b) { return is_worse(a.verdict, b.verdict); });
  for (const SkippedRow& row : set.skipped) ++made.reasons[row.reason];
  if (!set.skipped.empty())
    made.first_skipped = set.skipped.front().row.id, made.first_reason = set.skipped.front().reason;
  return made;
}

ScoredRows scored(const RowSet& set, const std::vector<RowVerdict>& verdicts) {
  ScoredRows rows;
  for (std::size_t i = 0; i < set.rows.size(); ++i) rows.add(set.rows[i], verdicts[i]);
  return rows;
}

RowVerdict verdict_of(const PreparedRow& row, double predicted, const StepEstimate& step,
                      const ValidatedRows& known) {
  RowVerdict verdict;
  verdict.predicted = predicted;
  verdict.error = predicted / row.measured - 1;
  const Band band = known.band(features(row.workload, step, static_cast<int>(row.blanks().size())),
                               parts_of(row.workload), metric_name(row.metric) == "memory",
                               row.row.source_family);
  verdict.low = predicted * (1 + band.low);
  verdict.high = predicted * (1 + band.high);
  if (row.metric == RowMetric::StepTime) {
    const Cluster& cluster = row.workload.scenario.cluster;
    const double possible = row.measured * static_cast<double>(cluster.count) *
                            peak(cluster.device, row.workload.layout.precision.math).value;
    verdict.implied_mfu = step.model_flops.value / possible;
  }
  return verdict;
}

RowVerdict narrowed(RowVerdict verdict, double narrowing) {
  for (double* end : {&verdict.low, &verdict.high})
    *end = verdict.predicted * std::pow(*end / verdict.predicted, narrowing);
  return verdict;
}

std::string_view metric_name(RowMetric metric) {
  return metric == RowMetric::Memory || metric == RowMetric::MemoryTotal ? "memory" : "time";
}

Validation validate(const RowSet& set, const ValidateOptions& options) {
  Validation v;
  v.rows.resize(set.rows.size());
  each(set.rows.size(), options.threads, [&](std::size_t i) {
    v.rows[i] = judged(set.rows[i], options);
    v.rows[i].row = i;
  });
  const ScoredRows rows = scored(set, v.rows);
  v.by_metric = rows.metric_scores();
  v.by_source = rows.source_scores();
  v.kendall = rows.mean_kendall();
  v.mean_half_width = rows.mean_half_width();
  if (options.cross) add_cross(set, options, v);
  explain_worst(set, options, v);
  return v;
}

}  // namespace trainyard
