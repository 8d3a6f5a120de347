#include "planners/tuning/cost_frugal.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace trainyard {
namespace {

// The number of points of a space, capped just above kMany.
constexpr double kMany = 1e6;
double points_of(const std::vector<Dimension>& space) {
  double points = 1;
  for (const Dimension& d : space) {
    if (d.low == d.high) continue;
    points *= d.kind == Dimension::Kind::Integer ? d.high - d.low + 1 : kMany;
    if (points >= kMany) return kMany;
  }
  return points;
}

// The state that all arms share: the budget, the trials and the best trial.
class Ledger {
 public:
  Ledger(const std::vector<Arm>& arms, const EvaluatePoint& evaluate, const FrugalOptions& options)
      : evaluate_(evaluate), options_(options), known_(arms.size()) {
    if (arms.empty()) throw Error(Error::Kind::InvalidInput, "expected at least one arm", {"arms"});
    for (const Arm& arm : arms) {
      check_space(arm.space);
      left_.push_back(points_of(arm.space));
    }
    found_.arms.resize(arms.size());
  }

  bool open() {
    found_.stopped = options_.stop.stop_requested();
    return !found_.stopped && spent_ < options_.most_cost &&
           static_cast<std::int64_t>(found_.trials.size()) < options_.most_evaluations;
  }
  const Loss* known(std::size_t arm, const SearchPoint& point) const {
    const auto found = known_[arm].find(point);
    return found == known_[arm].end() ? nullptr : &found->second;
  }
  Loss evaluate(std::size_t arm, const SearchPoint& point, int walk) {
    Trial trial{arm, point, evaluate_(arm, point), 0, false, walk};
    const Loss loss = trial.evaluation.loss;
    known_[arm].emplace(point, loss);
    if (left_[arm] < kMany) left_[arm] -= 1;
    spent_ += trial.evaluation.cost;
    found_.arms[arm].told(loss, trial.evaluation.cost);
    trial.spent = spent_;
    trial.better = loss.value && (!found_.best || loss < best_loss());
    if (trial.better) found_.best = found_.trials.size();
    if (options_.progress) options_.progress(trial);
    found_.trials.push_back(std::move(trial));
    return loss;
  }
  bool exhausted(std::size_t arm) const { return left_[arm] <= 0; }
  std::int64_t evaluations_left() const {
    return options_.most_evaluations - static_cast<std::int64_t>(found_.trials.size());
  }
  std::optional<double> best() const {
    return found_.best ? best_loss().value : std::optional<double>();
  }
  const ArmCost& cost(std::size_t arm) const { return found_.arms[arm]; }
  FrugalSearch finish(bool exhausted) {
    found_.exhausted = exhausted;
    return std::move(found_);
  }

 private:
  const Loss& best_loss() const { return found_.trials[*found_.best].evaluation.loss; }

  const EvaluatePoint& evaluate_;
  const FrugalOptions& options_;
  std::vector<std::map<SearchPoint, Loss>> known_;  // by arm
  std::vector<double> left_;  // by arm: number of untried points; kMany = unlimited
  FrugalSearch found_;
  double spent_ = 0;
};

// Stands in for the ledger while a copy of a walk finds what comes next if nothing is better.
class Ahead {
 public:
  explicit Ahead(const Ledger& ledger) : ledger_(ledger) {}

  const Loss* known(std::size_t arm, const SearchPoint& point) const {
    const bool found = std::find(points_.begin(), points_.end(), point) != points_.end();
    return found ? &worse_ : ledger_.known(arm, point);
  }
  Loss evaluate(std::size_t, const SearchPoint& point, int) {
    points_.push_back(point);
    return worse_;
  }
  const std::vector<SearchPoint>& points() const { return points_; }

 private:
  const Ledger& ledger_;
  const Loss worse_{std::nullopt, std::numeric_limits<double>::infinity()};
  std::vector<SearchPoint> points_;
};

// The successive walks of one arm.
class Walks {
 public:
  Walks(const Arm& arm, std::uint64_t seed, std::size_t index)
      : arm_(arm), seed_(seed), index_(index), walk_(arm.space, random(0)) {}

  /// Evaluates one new point; returns false if none could be found.
  template <class Book>
  bool advance(Book& ledger) {
    // A walk that meets only known points has converged as much as one whose steps are too short.
    constexpr int kKnown = 64, kWalks = 16;
    for (int walks = 0; walks < kWalks; ++walks) {
      for (int known = 0; known < kKnown && !walk_.converged(); ++known) {
        const SearchPoint point = walk_.propose();
        if (const Loss* loss = ledger.known(index_, point)) {
          walk_.told(*loss);
          continue;
        }
        walk_.told(ledger.evaluate(index_, point, number_));
        return true;
      }
      begin_again();
    }
    return rest(ledger);
  }

 private:
  Random random(std::uint64_t stream) const { return Random(seed_, index_ << 32 | stream); }

  // Evaluates the points that no walk has reached, one per call; a space without a grid has none.
  template <class Book>
  bool rest(Book& ledger) {
    if (points_of(arm_.space) >= kMany) return false;
    if (rest_.empty())
      for (const Dimension& d : arm_.space) rest_.push_back(d.low);
    for (bool more = true; more;) {
      const SearchPoint point = rest_;
      more = false;
      for (std::size_t i = 0; i < rest_.size() && !more; ++i) {
        more = rest_[i] < arm_.space[i].high;
        rest_[i] = more ? rest_[i] + 1 : arm_.space[i].low;
      }
      if (ledger.known(index_, point) != nullptr) continue;
      ledger.evaluate(index_, point, number_);
      return true;
    }
    return false;
  }

  void begin_again() {
    ++number_;
    const Random places = random(2 * static_cast<std::uint64_t>(number_));
    std::vector<double> place;
    for (std::size_t i = 0; i < arm_.space.size(); ++i) place.push_back(places.uniform(i));
    walk_ =
        Flow2(arm_.space, std::move(place), random(2 * static_cast<std::uint64_t>(number_) + 1));
  }

  const Arm& arm_;
  std::uint64_t seed_;
  std::size_t index_;
  int number_ = 0;
  Flow2 walk_;
  SearchPoint rest_;  // the next point to check for not having been reached
};

// Chooses the next arm among those with points left; empty if there is none.
class Chooser {
 public:
  Chooser(std::size_t arms, std::uint64_t seed) : closed_(arms), random_(seed, ~std::uint64_t{0}) {}

  void close(std::size_t arm) { closed_[arm] = true; }
  std::optional<std::size_t> next(const Ledger& ledger) {
    std::optional<std::size_t> least;
    std::vector<double> weights(closed_.size());
    double least_cost = 0, sum = 0;
    for (std::size_t a = 0; a < closed_.size(); ++a) {
      if (closed_[a]) continue;
      const ArmCost& arm = ledger.cost(a);
      const double cost =
          arm.tried() ? std::max(kLeast, arm.improvement(ledger.best())) : untried(ledger);
      if (arm.tried()) sum += weights[a] = 1 / cost;
      if (!least || cost < least_cost || (cost == least_cost && ledger.cost(*least).tried()))
        least = a, least_cost = cost;
    }
    if (!least || !ledger.cost(*least).tried()) return least;
    double draw = random_.uniform(drawn_++) * sum;
    for (std::size_t a = 0; a < closed_.size(); ++a) {
      if (weights[a] <= 0) continue;
      least = a;
      draw -= weights[a];
      if (draw < 0) break;
    }
    return least;
  }

 private:
  static constexpr double kLeast = 1e-12;

  double untried(const Ledger& ledger) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < closed_.size(); ++a)
      if (ledger.cost(a).tried())
        least = std::min(
            least, ledger.cost(a).spent() / static_cast<double>(ledger.cost(a).evaluations()));
    return std::isfinite(least) ? std::max(kLeast, least) : kLeast;
  }

  std::vector<bool> closed_;
  Random random_;
  std::uint64_t drawn_ = 0;
};

}  // namespace

void ArmCost::told(const Loss& loss, double cost) {
  ++evaluations_;
  spent_ += cost;
  if (!loss.value || (best_ && *loss.value >= *best_)) return;
  best_before_ = best_ ? *best_ : 2 * *loss.value;
  best_ = loss.value;
  found_before_ = found_, found_ = spent_;
}

double ArmCost::own_improvement() const {
  return std::max(found_ - found_before_, spent_ - found_);
}

double ArmCost::improvement(const std::optional<double>& best_of_all) const {
  const double own = own_improvement();
  if (!best_ || !best_of_all || *best_ <= *best_of_all) return own;
  const double speed = (best_before_ - *best_) / (spent_ - found_before_);
  return speed > 0 ? std::max(own, 2 * (*best_ - *best_of_all) / speed) : own;
}

FrugalSearch search(const std::vector<Arm>& arms, const EvaluatePoint& evaluate,
                    const FrugalOptions& options) {
  Ledger ledger(arms, evaluate, options);
  std::vector<Walks> walks;
  for (std::size_t a = 0; a < arms.size(); ++a) walks.emplace_back(arms[a], options.seed, a);
  Chooser chooser(arms.size(), options.seed);
  while (ledger.open()) {
    const std::optional<std::size_t> arm = chooser.next(ledger);
    if (!arm) return ledger.finish(true);
    if (options.expects) {
      Walks copy = walks[*arm];
      Ahead ahead(ledger);
      const auto most =
          static_cast<std::size_t>(std::min(options.ahead, ledger.evaluations_left()));
      while (ahead.points().size() < most && copy.advance(ahead)) {
      }
      if (!ahead.points().empty()) options.expects(*arm, ahead.points());
    }
    if (!walks[*arm].advance(ledger) || ledger.exhausted(*arm)) chooser.close(*arm);
  }
  return ledger.finish(false);
}

FrugalSearch random_search(const std::vector<Arm>& arms, const EvaluatePoint& evaluate,
                           const FrugalOptions& options) {
  Ledger ledger(arms, evaluate, options);
  const Random random(options.seed, 17);
  std::uint64_t drawn = 0;
  while (ledger.open()) {
    constexpr int kDraws = 10'000;
    bool tried = false;
    for (int draw = 0; draw < kDraws && !tried; ++draw) {
      const auto arm = static_cast<std::size_t>(
          random.between(drawn++, 0, static_cast<std::int64_t>(arms.size()) - 1));
      SearchPoint point;
      for (const Dimension& d : arms[arm].space)
        point.push_back(
            d.kind == Dimension::Kind::Integer
                ? static_cast<double>(random.between(drawn++, static_cast<std::int64_t>(d.low),
                                                     static_cast<std::int64_t>(d.high)))
                : value_at(d, random.uniform(drawn++)));
      if (ledger.known(arm, point) != nullptr) continue;
      ledger.evaluate(arm, point, 0);
      tried = true;
    }
    if (!tried) return ledger.finish(true);
  }
  return ledger.finish(false);
}

}  // namespace trainyard
