#include "app/workspace/runs/tuning/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "app/workspace/runs/fused_trials.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/plan/balanced.h"
#include "core/result/figures.h"
#include "planners/partition/balanced_split.h"

namespace trainyard {
namespace {

// One family: its plan, and the varied settings that apply to it.
struct TunedFamily {
  Plan plan;
  std::vector<const Vary*> vary;
};

bool takes(const Plan& plan, const Vary& vary, const std::string& value) {
  try {
    if (vary.training) {
      Training training;
      apply_training(training, vary.key + "=" + value);
    } else {
      Plan tried = plan;
      apply_setting(tried, vary.key, value);
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Returns whether the last setting about the split asks for a balanced one.
bool says_balanced(const std::vector<std::string>& settings) {
  bool balanced = false;
  for (const std::string& words : settings)
    for (std::size_t from = 0; from < words.size();) {
      const std::size_t end = std::min(words.find(' ', from), words.size());
      const std::string_view word = std::string_view(words).substr(from, end - from);
      const std::size_t equals = word.find('=');
      const Setting* found = find_setting(word.substr(0, equals));
      if (found != nullptr && found->key == "split" && equals != std::string_view::npos)
        balanced = word.substr(equals + 1) == "balanced";
      from = end + 1;
    }
  return balanced;
}

class Tuner {
 public:
  explicit Tuner(const TuneRequest& request) : request_(request) {
    check_goal();
    Request base = request.base;
    base.calibration = request.calibration;
    base_ = open(base);
    if (!request.calibration.empty()) cost_ = open_cost_model(request.calibration, base_);
    // A balanced split is computed for every plan.
    if (says_balanced(request.base.settings)) base_.plan.split = balanced_later();
    add_families();
    report_.model = base_.model.name, report_.cluster = base_.cluster.name;
    report_.goal = request.goal, report_.measured = request.measure;
    if (request.fuse) fused_.emplace(*request.fuse, request.data, request.options.stop);
  }

  TuneReport run() {
    std::vector<Arm> arms;
    for (std::size_t f = 0; f < families_.size(); ++f) {
      Arm arm{report_.arms[f].settings, {}};
      for (const Vary* vary : families_[f].vary) arm.space.push_back(vary->dimension);
      arms.push_back(std::move(arm));
    }
    FrugalOptions options = request_.options;
    options.progress = [&](const Trial& trial) { add(trial); };
    if (fused_) {
      options.ahead = *request_.fuse > 0 ? *request_.fuse : FusedTrials::kMostJobs;
      options.expects = [&](std::size_t arm, const std::vector<SearchPoint>& points) {
        train_ahead(arm, points);
      };
    }
    const FrugalSearch found = search(
        arms, [&](std::size_t arm, const SearchPoint& point) { return evaluate(arm, point); },
        options);
    report_.exhausted = found.exhausted;
    report_.stopped = found.stopped || interrupted_;
    if (fused_) {
      report_.fusion = fused_->report();
      add_ahead(*report_.fusion);
    }
    return std::move(report_);
  }

 private:
  void check_goal() const {
    if (request_.goal == TuneGoal::Loss && !request_.measure)
      refuse_flag("objective", "a loss is not simulated; --measure trains for real");
    if (request_.goal == TuneGoal::Money && request_.measure)
      refuse_flag("objective",
                  "money is not measured; expected time, memory or loss with --measure");
    if (request_.fuse && !request_.measure)
      refuse_flag("fuse", "expected --measure beside it: simulated trials are not trained");
    if (request_.fuse && request_.goal != TuneGoal::Loss)
      refuse_flag("fuse",
                  "expected --objective loss: trials that are trained together have no step and no "
                  "memory of their own to measure");
    throw_if_errors(check(request_.training));
  }

  void add_families() {
    std::vector<std::string> words = request_.arms;
    if (words.empty()) words.emplace_back();
    std::vector<Plan> plans;
    for (const std::string& settings : words) {
      plans.push_back(base_.plan);
      if (!settings.empty()) apply_words(plans.back(), settings);
      report_.arms.push_back({settings, 0, 0, {}});
    }
    for (const std::string& text : request_.vary) {
      varied_.push_back(parse_vary(text, plans));
      const Vary& vary = varied_.back();
      if (vary.training && !request_.measure)
        refuse_flag("vary",
                    fmt::format("train.{} is of training for real; expected --measure beside it",
                                vary.key));
      for (std::size_t i = 0; i + 1 < varied_.size(); ++i)
        if (varied_[i].key == vary.key && varied_[i].training == vary.training)
          refuse_flag("vary", fmt::format("{} is varied twice", vary.key));
    }
    for (const Plan& plan : plans) {
      TunedFamily family{plan, {}};
      for (const Vary& vary : varied_)
        if (takes(plan, vary, value_text(vary, vary.dimension.start))) family.vary.push_back(&vary);
      families_.push_back(std::move(family));
    }
    if (varied_.empty() && families_.size() == 1)
      refuse_flag("vary",
                  "expected settings to vary, as micro-batch=1..64, or several families (--arms)");
  }

  TuneTrial trial_of(std::size_t arm, const SearchPoint& point) const {
    TuneTrial made;
    made.arm = arm;
    for (std::size_t i = 0; i < point.size(); ++i) {
      const Vary& vary = *families_[arm].vary[i];
      const std::string word = vary.key + "=" + value_text(vary, point[i]);
      (vary.training ? made.train : made.set).push_back(word);
    }
    return made;
  }
  Scenario scenario_of(const TuneTrial& trial) const {
    Scenario scenario{base_.model, base_.cluster, families_[trial.arm].plan};
    for (const std::string& word : trial.set) apply_setting(scenario.plan, word);
    if (is_balanced_later(scenario.plan.split))
      scenario.plan.split = balanced_split(scenario, *cost_model(scenario));
    return scenario;
  }
  Training training_of(const TuneTrial& trial) const {
    Training training = request_.training;
    for (const std::string& word : trial.train) apply_training(training, word);
    return training;
  }
  FusedCandidate candidate_of(const TuneTrial& trial) const {
    const std::string partition = fmt::format("{} {}", trial.arm, fmt::join(trial.set, " "));
    return {partition, fmt::format("{} | {}", partition, fmt::join(trial.train, " ")),
            training_of(trial)};
  }

  // A trial that is wrong is left to its own evaluation, which says so.
  void train_ahead(std::size_t arm, const std::vector<SearchPoint>& points) {
    try {
      const TuneTrial first = trial_of(arm, points.front());
      std::vector<FusedCandidate> next;
      for (const SearchPoint& point : points) {
        next.push_back(candidate_of(trial_of(arm, point)));
        ahead_.insert_or_assign(next.back().name, trial_of(arm, point));
      }
      fused_->train(scenario_of(first), next);
    } catch (const Error&) {
    }
  }

  // A trial that was trained ahead may be better than all that the search went on to.
  void add_ahead(TuneFusion& fusion) {
    std::optional<double> best;
    if (report_.best) best = report_.trials[*report_.best].value;
    for (const std::string& name : fused_->left()) {
      Evaluation found;
      take_loss(fused_->take(name)->losses, found);
      if (!found.loss.value || (best && *found.loss.value >= *best)) continue;
      best = fusion.ahead_value = found.loss.value;
      const TuneTrial& trial = ahead_.at(name);
      fusion.ahead_arm = trial.arm, fusion.ahead_set = trial.set, fusion.ahead_train = trial.train;
    }
  }

  Evaluation evaluate(std::size_t arm, const SearchPoint& point) {
    Evaluation found;
    now_ = trial_of(arm, point);
    const auto began = std::chrono::steady_clock::now();
    try {
      if (fused_) {
        const std::string name = candidate_of(now_).name;
        if (const std::optional<FusedResult> result = fused_->take(name)) {
          now_.together = result->jobs;
          take_loss(result->losses, found);
          found.cost = result->seconds;
          cheapest_ = std::min(cheapest_.value_or(found.cost), found.cost);
          return found;
        }
        now_.why_alone = fused_->why_alone(name);
      }
      Scenario scenario = scenario_of(now_);
      const Training training = training_of(now_);
      found = request_.measure ? measured(std::move(scenario), training) : simulated(scenario);
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::Cancelled) interrupted_ = true;
      constexpr double kBeyondAll = 1e30;
      found.loss = {std::nullopt, kBeyondAll};
      found.why_not = error.what();
      found.cost = cheapest_.value_or(1);
    }
    if (request_.measure) {
      const auto took = std::chrono::steady_clock::now() - began;
      found.cost = std::chrono::duration<double>(took).count();
    }
    if (found.loss.value || request_.measure || found.loss.violation < 1e30)
      cheapest_ = std::min(cheapest_.value_or(found.cost), found.cost);
    return found;
  }

  Evaluation simulated(const Scenario& scenario) const {
    const Result result = run_once(scenario, {.grain = natural_grain(scenario),
                                              .cost = cost_.get(),
                                              .stop = request_.options.stop})
                              ->result;
    Evaluation found;
    found.cost = to_seconds(result.step.value) * static_cast<double>(request_.training.steps);
    judge(result, found);
    if (found.why_not.empty()) found.loss = {goal_of(result), 0};
    return found;
  }

  Evaluation measured(Scenario scenario, const Training& training) {
    TrainingRequest request;
    request.scenario = std::move(scenario);
    request.training = training;
    request.data = request_.data;
    request.run.stop = request_.options.stop;
    TrainingJob job(std::move(request));
    Evaluation found;
    judge(job.predicted()->result, found);
    if (!found.why_not.empty()) return found;
    const TrainingReport report = job.run(false, nullptr);
    if (report.run.stopped) {
      interrupted_ = true;
      found.why_not = "stopped";
    } else if (request_.goal == TuneGoal::Loss) {
      take_loss(report.run.losses, found);
    } else if (request_.goal == TuneGoal::Time) {
      found.loss = {to_seconds(report.step), 0};
    } else if (report.measured) {
      found.loss = {goal_of(report.measured->result), 0};
    } else {
      found.why_not = "its memory was not measured";
    }
    if (!found.why_not.empty()) found.loss = {std::nullopt, 1};
    return found;
  }

  // The mean over the last tenth of the steps.
  static void take_loss(const std::vector<double>& losses, Evaluation& found) {
    const std::size_t last = std::max<std::size_t>(1, losses.size() / 10);
    const double loss =
        std::accumulate(losses.end() - static_cast<std::ptrdiff_t>(last), losses.end(), 0.0) /
        static_cast<double>(last);
    if (std::isfinite(loss)) {
      found.loss = {loss, 0};
      return;
    }
    found.why_not = "its loss is no number";
    found.loss = {std::nullopt, 1};
  }

  static void judge(const Result& result, Evaluation& found) {
    if (result.verdict.fits) return;
    found.loss = {std::nullopt, static_cast<double>(-result.verdict.margin.value)};
    found.why_not =
        fmt::format("does not fit: {} over", readable(Bytes{-result.verdict.margin.value}));
  }

  std::optional<double> goal_of(const Result& result) const {
    if (request_.goal == TuneGoal::Time) return to_seconds(result.step.value);
    if (request_.goal == TuneGoal::Money) {
      if (!result.money)
        refuse_flag("objective", "what a step on " + result.device_name + " costs is not known");
      return result.money->value;
    }
    const StageMemory* most = fullest(result);
    return most == nullptr ? std::optional<double>()
                           : static_cast<double>(std::max(most->reserved, most->peak.value).value);
  }

  void add(const Trial& trial) {
    if (interrupted_) return;  // an interrupted trial gives no result
    now_.value = trial.evaluation.loss.value;
    now_.why_not = trial.evaluation.why_not;
    now_.cost = trial.evaluation.cost, now_.spent = trial.spent, now_.better = trial.better;
    TuneArm& arm = report_.arms[trial.arm];
    ++arm.trials, arm.spent += now_.cost;
    if (now_.value && (!arm.best || *now_.value < *arm.best)) arm.best = now_.value;
    if (now_.better) report_.best = report_.trials.size();
    report_.trials.push_back(std::move(now_));
    if (request_.progress) request_.progress(report_);
  }

  const TuneRequest& request_;
  Scenario base_;
  std::unique_ptr<CostModel> cost_;  // null = each scenario's own
  std::vector<Vary> varied_;
  std::vector<TunedFamily> families_;
  std::optional<FusedTrials> fused_;        // nothing: every trial is trained alone
  std::map<std::string, TuneTrial> ahead_;  // by name: those that were to be trained ahead
  TuneReport report_;
  TuneTrial now_;
  std::optional<double> cheapest_;
  bool interrupted_ = false;
};

}  // namespace

TuneReport tune(const TuneRequest& request) { return Tuner(request).run(); }

}  // namespace trainyard
