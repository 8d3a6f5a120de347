#include "app/desktop/session/planning.h"

#include <QElapsedTimer>

#include <algorithm>
#include <utility>

#include "app/workspace/plans/plan_points.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr qint64 kBetweenPictures = 60;  // ms; faster updates would not be visible

struct Answer {
  std::shared_ptr<const PlanFindings> findings;
  std::string error;
};

}  // namespace

SearchOptions options_of(const PlanWish& wish) {
  SearchOptions options;
  options.objective = wish.objective;
  options.spare = wish.spare;
  options.top = wish.top;
  options.simulate = wish.simulate;
  return options;
}

Planning::~Planning() { clear(); }

void Planning::stop() { stop_.request_stop(); }

void Planning::clear() {
  stop();
  work_.stop();
  progress_ = {};
  findings_ = nullptr;
  error_.clear();
}

void Planning::start(const PlanQuestion& question, const PlanWish& wish) {
  clear();
  stop_ = std::stop_source();
  prices_ = std::make_shared<PlanPrices>(question.calibration);
  work_.ask(
      [this, question, wish, prices = prices_, asked = stop_.get_token(), source = stop_](
          const std::stop_token& gone, const auto& tell) mutable {
        const std::stop_callback both(gone, [&] { source.request_stop(); });
        Answer answer;
        try {
          auto found = std::make_shared<PlanFindings>();
          found->space = std::make_shared<const PlanSpace>(open_space(question));
          found->wish = wish;
          SearchOptions options = options_of(wish);
          options.stop = asked;
          static const SteadyClock clock;
          options.clock = &clock;
          prices->equip(options);
          QElapsedTimer since;
          options.progress = [&](const SearchProgress& now) {
            if (since.isValid() && since.elapsed() < kBetweenPictures) return;
            since.start();
            PlanProgress told{now.tried, now.total, now.fitting, now.simulating,
                              plan_points(*found->space, now.front, wish.objective, wish.spare)};
            tell([this, told = std::move(told)]() mutable {
              progress_ = std::move(told);
              Q_EMIT changed();
            });
          };
          PlanSpace space = *found->space;
          found->result = search_question(question, space, options);
          found->space = std::make_shared<const PlanSpace>(std::move(space));
          found->picture = plan_points(*found->space, found->result, wish.spare);
          answer.findings = std::move(found);
        } catch (const Error& wrong) {
          answer.error = describe(wrong);
        } catch (const std::exception& wrong) {
          answer.error = std::string("the search failed: ") + wrong.what();
        }
        return answer;
      },
      [this](Answer answer) {
        findings_ = std::move(answer.findings);
        error_ = std::move(answer.error);
        Q_EMIT changed();
      });
  Q_EMIT changed();
}

PlanCase plan_case(const PlanFindings& found, const PlanPrices& prices, PlanId id) {
  PlanCase out;
  out.id = id;
  try {
    SearchOptions options = options_of(found.wish);
    PlanPrices own("");
    own.equip(options);
    out.reason = explain(*found.space, found.result, id, options);
    out.legal = legal(out.reason.fate);
    if (out.legal) out.mine = prices.estimated(found.space->scenario(id));
    const std::vector<Candidate>& best = found.result.best;
    if (!best.empty()) {
      out.against = best.front().id != id || best.size() < 2 ? best.front().id : best[1].id;
      out.other = prices.estimated(found.space->scenario(out.against));
    }
  } catch (const Error& wrong) {
    out.error = describe(wrong);
  }
  return out;
}

}  // namespace trainyard
