// A Planning runs a search for plans on a thread of its own: it delivers the front as it grows, and
// the result by value. Stopping it keeps what was found so far.
#pragma once

#include <QObject>

#include <memory>
#include <stop_token>
#include <string>

#include "app/desktop/session/background.h"
#include "app/workspace/plans/plan_study.h"
#include "visualizers/plans/pareto_model.h"

namespace trainyard {

/// The aims of a search, besides the space.
struct PlanWish {
  PlanObjective objective = PlanObjective::Time;
  Bytes spare{};
  std::size_t top = 20, simulate = 8;
  friend bool operator==(const PlanWish&, const PlanWish&) = default;
};

/// The wish as the engine takes it.
SearchOptions options_of(const PlanWish&);

/// The result of a search; immutable.
struct PlanFindings {
  std::shared_ptr<const PlanSpace> space;
  PlanWish wish;
  SearchResult result;
  ParetoModel picture;  // of every legal plan
};

/// Progress in the form that the window shows.
struct PlanProgress {
  std::uint64_t tried = 0, total = 0, fitting = 0;
  bool simulating = false;
  ParetoModel picture;  // the front as known so far
};

class Planning : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  ~Planning() override;  // stops the work and waits

  /// Returns at once; stops the current search and drops earlier findings.
  void start(const PlanQuestion&, const PlanWish&);
  /// Asks the search to end; its findings so far become a result that is marked as stopped.
  void stop();
  /// Stops the search, waits, and drops everything.
  void clear();
  bool running() const { return work_.running(); }
  const PlanProgress& progress() const { return progress_; }
  /// Null before the first result and during a search.
  std::shared_ptr<const PlanFindings> findings() const { return findings_; }
  /// Why there is no result; empty if nothing went wrong.
  const std::string& error() const { return error_; }
  /// The prices that the search used.
  PlanPrices& prices() { return *prices_; }

 Q_SIGNALS:
  void changed();

 private:
  PlanProgress progress_;
  std::shared_ptr<const PlanFindings> findings_;
  std::shared_ptr<PlanPrices> prices_ = std::make_shared<PlanPrices>("");
  std::string error_;
  std::stop_source stop_;
  Background work_{this};  // last, because it uses all members above
};

/// Why one plan lost, with its figures beside those of the best.
struct PlanCase {
  PlanId id = 0;
  Reason reason;
  bool legal = false;
  Result mine;         // by the closed form; meaningless if the plan is illegal
  PlanId against = 0;  // the best plan or, for the best itself, the next
  Result other;        // the result of that plan
  std::string error;
};
/// Prices both plans again, which takes some milliseconds. The figures equal those of the picture.
PlanCase plan_case(const PlanFindings&, const PlanPrices&, PlanId);

}  // namespace trainyard
