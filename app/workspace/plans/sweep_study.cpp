#include "app/workspace/plans/sweep_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "app/workspace/plans/plan_openings.h"
#include "app/workspace/plans/plan_study.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/cluster/price.h"
#include "core/estimate/scaling.h"
#include "core/io/documents/measured_prices.h"
#include "core/lowering/lower.h"
#include "planners/plans/longest_first.h"

namespace trainyard {
namespace {

// The axes before those of settings: model and cluster.
constexpr std::size_t kParts = 2;

void expect_each_once(const SweepAxis& axis, bool is_setting) {
  std::vector<std::string> sorted = axis.values;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    refuse_flag(is_setting ? "vary " + axis.name : axis.name,
                fmt::format("expected each value once, found {} twice", twice->substr(0, 80)));
}

class Sweep {
 public:
  explicit Sweep(const SweepQuestion& question) : question_(question), options_(question.options) {
    study_.searched = !question.as_given;
    study_.objective = to_string(options_.objective);
    study_.axes = sweep_axes(question);
  }

  SweepStudy run() {
    expect_sweep_size(question_);
    expect_parts();
    expect_values();
    expect_one_opens();
    options_.progress = [this](const SearchProgress& now) { report(&now); };
    if (question_.as_given) {
      simulate_all();
      return std::move(study_);
    }
    for (std::size_t i = 0; i < count() && !options_.stop.stop_requested(); ++i) {
      report(nullptr);
      std::optional<SweepRow> row = row_of(i);
      if (!row) break;
      study_.rows.push_back(std::move(*row));
    }
    return std::move(study_);
  }

 private:
  std::size_t count() const { return combinations(study_.axes); }
  std::size_t prices() const { return std::max<std::size_t>(1, question_.prices.size()); }
  // The number of combinations of the first model on the first cluster, which come first.
  std::size_t varied() const { return combinations(question_.vary) * prices(); }
  void report(const SearchProgress* now) const {
    if (question_.progress) question_.progress(study_, now);
  }

  // A search has all cores for itself; simulations share them. The rows of the study are those
  // before the first combination that is not finished.
  void simulate_all() {
    report(nullptr);
    std::vector<double> costs(count());
    run_longest_first(costs, options_.threads, [&](std::size_t i) { costs[i] = cost_of(i); });
    std::vector<std::optional<SweepRow>> found(count());
    std::mutex mutex;
    run_longest_first(costs, options_.threads, [&](std::size_t i) {
      if (options_.stop.stop_requested()) return;
      std::optional<SweepRow> row = row_of(i);
      const std::scoped_lock lock(mutex);
      found[i] = std::move(row);
      for (std::size_t next = study_.rows.size(); next < found.size() && found[next]; ++next)
        study_.rows.push_back(std::move(*found[next]));
      if (study_.rows.size() < found.size()) report(nullptr);
    });
  }

  // A combination without a plan takes no time: what is wrong with it is its row.
  double cost_of(std::size_t i) const {
    try {
      const Scenario one = open(request_of(i));
      return simulation_cost(one.plan, one.cluster);
    } catch (const Error&) {
      return 0;
    }
  }

  // Opens each model, cluster and calibration by itself.
  void expect_parts() {
    for (const std::string& word : question_.models)
      for (const std::string& sentence : open_named({word, "", "", {}}).model.assumed)
        study_.assumed.push_back(word + ": " + sentence);
    for (const std::string& word : question_.clusters)
      for (std::size_t p = 0; p < prices(); ++p) {
        Request request{"", word, "", {}};
        if (!question_.prices.empty()) request.price = question_.prices[p];
        open_named(request);
      }
    if (!question_.calibration.empty()) open_measured_prices(question_.calibration);
  }

  // Opens the plan with each varied value alone, and with each combination of them. A value may
  // belong to some others alone, as a parameter of a schedule does; one that no plan takes is
  // refused.
  void expect_values() const {
    const Plan plan = open_named({"", "", question_.plan, question_.settings}).plan;
    for (std::size_t i = 0; i < varied(); i += prices())
      refuse_repeated_keys(settings_of(i), {"--vary"});
    // Holds, by axis and value, the error that the value last had; null where a plan took it.
    std::vector<std::vector<std::exception_ptr>> wrong(question_.vary.size());
    for (std::size_t a = 0; a < wrong.size(); ++a)
      for (const std::string& value : question_.vary[a].values) {
        std::vector<std::string> alone = question_.settings;
        alone.push_back(question_.vary[a].name + "=" + value);
        wrong[a].push_back(opening_error(alone));
      }
    for (std::size_t i = 0; i < varied(); i += prices()) {
      const std::exception_ptr error = opening_error(settings_of(i));
      for (std::size_t a = 0; a < wrong.size(); ++a)
        if (std::exception_ptr& last = wrong[a][study_.digit(i, kParts + a)]; last) last = error;
    }
    for (const std::vector<std::exception_ptr>& axis : wrong)
      for (const std::exception_ptr& error : axis)
        if (error) rethrow_at_vary(error);
    const std::vector<std::string> keys = setting_keys(settings_of(0));
    if (std::find(keys.begin(), keys.end(), "global-batch") == keys.end()) expect_batch(plan);
  }

  std::exception_ptr opening_error(const std::vector<std::string>& settings) const {
    try {
      open_named({"", "", question_.plan, settings});
    } catch (const Error&) {
      return std::current_exception();
    }
    return nullptr;
  }

  void expect_batch(const Plan& plan) const {
    if (!question_.as_given && plan.batch.global < 1)
      throw Error(Error::Kind::InvalidInput,
                  "a search compares steps of one size: expected a global batch, found none; add "
                  "--set global-batch=1024, say",
                  {"sweep"});
  }

  [[noreturn]] static void rethrow_at_vary(const std::exception_ptr& wrong) {
    try {
      std::rethrow_exception(wrong);
    } catch (const Error& error) {
      std::string place = error.place().text;
      if (place.starts_with("--set")) place.replace(0, 5, "--vary");
      throw Error(error.kind(), error.what(), {place});
    }
  }

  // Words that are wrong for every combination, such as a bound of an unknown knob, are no table.
  void expect_one_opens() const {
    std::exception_ptr first;
    for (std::size_t i = 0; i < count() && !options_.stop.stop_requested(); i += prices()) {
      try {
        if (question_.as_given)
          opened(request_of(i));
        else
          expect_searchable(open_space(plan_question(i)), options_);
        return;
      } catch (const Error& error) {
        // An error that names no flag is one of the combination.
        if (!error.place().text.starts_with("--")) return;
        if (!first) first = std::current_exception();
      }
    }
    if (first) std::rethrow_exception(first);
  }

  const SweepAxis& axis(std::size_t a) const { return study_.axes[a]; }

  std::vector<std::string> settings_of(std::size_t i) const {
    std::vector<std::string> settings = question_.settings;
    for (std::size_t a = kParts; a < kParts + question_.vary.size(); ++a)
      settings.push_back(axis(a).name + "=" + study_.value(i, a));
    return settings;
  }

  Request request_of(std::size_t i) const {
    Request request{study_.value(i, 0), study_.value(i, 1), question_.plan, settings_of(i),
                    question_.calibration};
    if (!question_.prices.empty()) request.price = question_.prices[i % prices()];
    return request;
  }

  PlanQuestion plan_question(std::size_t i) const {
    return {request_of(i), question_.bounds, question_.calibration};
  }

  // Empty where it was stopped.
  std::optional<SweepRow> row_of(std::size_t i) {
    try {
      return question_.as_given ? given(i) : searched(i);
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::Cancelled) return std::nullopt;
      // A file that is gone by now must not take with it what was found before.
      SweepRow row;
      row.set = settings_of(i);
      row.reason = error.what();
      return row;
    }
  }

  struct Opened {
    Scenario scenario;
    std::unique_ptr<CostModel> cost;
  };
  static Opened opened(const Request& request) {
    Opened one{open(request), nullptr};
    if (!request.calibration.empty()) one.cost = open_cost_model(request.calibration, one.scenario);
    return one;
  }

  Result simulated_or_estimated(const Opened& one) const {
    try {
      return run_once(one.scenario, {.grain = natural_grain(one.scenario),
                                     .cost = one.cost.get(),
                                     .stop = options_.stop})
          ->result;
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::InvalidInput) throw;
      // It may be too large to simulate. What is wrong with the plan is said by the closed form.
      return estimate(one.scenario, one.cost.get());
    }
  }

  SweepRow given(std::size_t i) const {
    const Opened one = opened(request_of(i));
    throw_if_errors(check(one.scenario));
    SweepRow row;
    row.result = simulated_or_estimated(one);
    row.set = settings_of(i);
    row.plan = degree_words(row.result->plan);
    row.fit = row.result->verdict.word;
    row.reason = row.result->verdict.sentence;
    return row;
  }

  // A search does not depend on the price, unless money is what it is by.
  bool needs_search(std::size_t i) const {
    return i % prices() == 0 || !found_ || options_.objective == PlanObjective::Money;
  }

  std::optional<SweepRow> searched(std::size_t i) {
    if (i % prices() == 0) found_.reset();
    const PlanQuestion question = plan_question(i);
    const PlanSpace space = open_space(question);
    expect_searchable(space, options_);
    if (needs_search(i)) {
      prices_.emplace(question_.calibration);
      prices_->equip(options_);
      found_ = search(space, options_);
    }
    if (found_->stopped || options_.stop.stop_requested()) return std::nullopt;
    SweepRow row;
    const auto chosen = [&](PlanId id) {
      row.set = whole_words(question, space, id);
      row.plan = telling_words(space, id);
    };
    if (!found_->best.empty()) {
      const Candidate& best = found_->best.front();
      row.result = prices_->result(space, best);
      chosen(best.id);
      row.fit = row.result->verdict.word;
      row.reason = row.result->verdict.sentence;
      return row;
    }
    const NoPlan none = no_plan(space, *found_, options_);
    row.set = settings_of(i);
    row.reason = none.reason.sentence;
    if (found_->tried == 0)
      row.reason = fmt::format("the knobs allow no combination that makes up {} devices",
                               space.base().cluster.count);
    if (!none.least) return row;
    row.result = prices_->estimated(space.scenario(*none.least));
    chosen(*none.least);
    // It may fit, and leave less than was to be spared.
    row.fit = row.result->verdict.fits ? FitWord::DoesNotFit : row.result->verdict.word;
    return row;
  }

  const SweepQuestion& question_;
  SearchOptions options_;
  SweepStudy study_;
  std::optional<PlanPrices> prices_;
  std::optional<SearchResult> found_;  // of the combinations that differ in their price alone
};

}  // namespace

SweepAxis parse_sweep_axis(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  SweepAxis axis{std::string(text.substr(0, equals)), {}};
  for (std::size_t from = equals + 1; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    axis.values.emplace_back(text.substr(from, end - from));
    from = end + 1;
  }
  const bool gap = std::any_of(axis.values.begin(), axis.values.end(),
                               [](const std::string& value) { return value.empty(); });
  if (axis.name.empty() || axis.values.empty() || gap)
    refuse_flag("vary", fmt::format("expected KEY=VALUE,VALUE as seq=4096,8192, found \"{}\"",
                                    text.substr(0, 80)));
  return axis;
}

double parse_sweep_price(const std::string& text) {
  return with_place("--price",
                    [&] { return parse_price(text.ends_with("/h") ? text : text + "USD/h"); });
}

std::vector<SweepAxis> sweep_axes(const SweepQuestion& question) {
  std::vector<SweepAxis> axes = {{"model", question.models}, {"cluster", question.clusters}};
  axes.insert(axes.end(), question.vary.begin(), question.vary.end());
  // Prices vary fastest, so that combinations which differ in nothing else share a search.
  if (question.prices.empty()) return axes;
  axes.push_back({"price", {}});
  for (const double price : question.prices) axes.back().values.push_back(price_text(price));
  return axes;
}

void expect_sweep_size(const SweepQuestion& question) {
  // Opening these throws: it is the first thing to say.
  if (question.models.empty()) open({"", "", "", {}});
  if (question.clusters.empty()) open({question.models.front(), "", "", {}});
  const std::vector<SweepAxis> axes = sweep_axes(question);
  for (std::size_t a = 0; a < axes.size(); ++a)
    expect_each_once(axes[a], a >= kParts && a < kParts + question.vary.size());
  if (combinations(axes) <= kMostCombinations) return;
  std::string sizes;
  for (const SweepAxis& axis : axes)
    sizes += fmt::format("{}{} of {}", sizes.empty() ? "" : ", ", axis.values.size(), axis.name);
  refuse("sweep", fmt::format("expected at most {} combinations, found more with these values: "
                              "{}",
                              kMostCombinations, sizes));
}

SweepStudy sweep(const SweepQuestion& question) { return Sweep(question).run(); }

}  // namespace trainyard
