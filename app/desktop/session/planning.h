// A search for plans runs on a thread of its own: the front comes as it grows, the answer by value.
// A stop keeps what was found so far.
#pragma once

#include <QObject>

#include <memory>
#include <stop_token>
#include <string>

#include "app/desktop/session/background.h"
#include "app/workspace/plans/plan_study.h"
#include "visualizers/plans/pareto_model.h"

namespace trainyard {

/// What is searched for, beside the space.
struct PlanWish {
  PlanObjective objective = PlanObjective::Time;
  Bytes spare{};
  std::size_t top = 20, simulate = 8;
  friend bool operator==(const PlanWish&, const PlanWish&) = default;
};

/// What a search found; immutable.
struct PlanFindings {
  std::shared_ptr<const PlanSpace> space;
  PlanWish wish;
  SearchResult result;
  ParetoModel picture;  // of every legal plan
};

/// Progress as the window shows it.
struct PlanProgress {
  std::uint64_t tried = 0, total = 0, fitting = 0;
  bool simulating = false;
  ParetoModel picture;  // the front as far as it is known
};

class Planning : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  ~Planning() override;  // stops and waits

  /// Returns at once; stops what runs and forgets what was found before.
  void start(const PlanQuestion&, const PlanWish&);
  /// Asks what runs to end; what it found until then comes as an answer that says it was stopped.
  void stop();
  /// Stops, waits, forgets everything.
  void clear();
  bool running() const { return work_.running(); }
  const PlanProgress& progress() const { return progress_; }
  /// Null before the first answer and while it searches.
  std::shared_ptr<const PlanFindings> findings() const { return findings_; }
  /// Why there is none; empty where nothing went wrong.
  const std::string& error() const { return error_; }
  /// Prices as the search had them.
  PlanPrices& prices() { return *prices_; }

 Q_SIGNALS:
  void changed();

 private:
  PlanProgress progress_;
  std::shared_ptr<const PlanFindings> findings_;
  std::shared_ptr<PlanPrices> prices_ = std::make_shared<PlanPrices>("");
  std::string error_;
  std::stop_source stop_;
  Background work_{this};  // last: it uses all of the above
};

/// Why one plan lost, with what it takes beside the best.
struct PlanCase {
  PlanId id = 0;
  Reason reason;
  bool legal = false;
  Result mine;         // by the closed form; meaningless where not legal
  PlanId against = 0;  // the best; of the best itself, the next on the list
  Result other;        // of that
  std::string error;
};
/// Prices both anew; some milliseconds. The picture's figures are the same.
PlanCase plan_case(const PlanFindings&, const PlanPrices&, PlanId);

}  // namespace trainyard
