#include "app/desktop/session/tuning_session.h"

#include <QElapsedTimer>

#include <string>
#include <utility>

namespace trainyard {
namespace {

constexpr qint64 kBetweenTrials = 100;  // ms; faster updates would only be work

struct TuningAnswer {
  std::optional<TuneReport> report;
  std::optional<Error> error;
};

}  // namespace

TuningSession::~TuningSession() {
  stop();
  work_.stop();
}

void TuningSession::take(const TuneRequest& request, TuneReport report) {
  told_ = true;
  request_ = request;
  report_ = std::move(report);
  Q_EMIT changed();
}

void TuningSession::start(const TuneRequest& request) {
  stop();
  work_.stop();
  stop_ = std::stop_source();
  told_ = false;
  error_.reset();
  work_.ask(
      [this, request, asked = stop_.get_token(), source = stop_](const std::stop_token& gone,
                                                                 const auto& tell) mutable {
        const std::stop_callback both(gone, [&] { source.request_stop(); });
        TuneRequest own = request;
        own.options.stop = asked;
        QElapsedTimer since;
        own.progress = [&](const TuneReport& now) {
          if (since.isValid() && since.elapsed() < kBetweenTrials) return;
          since.start();
          tell([this, request, now]() mutable { take(request, std::move(now)); });
        };
        TuningAnswer answer;
        try {
          answer.report = tune(own);
        } catch (const Error& wrong) {
          answer.error = wrong;
        } catch (const std::exception& wrong) {
          answer.error =
              Error(Error::Kind::Internal, std::string("the tuning failed: ") + wrong.what());
        }
        return answer;
      },
      [this, request](TuningAnswer answer) {
        error_ = std::move(answer.error);
        if (answer.report && (!answer.report->trials.empty() || report_.arms.empty()))
          return take(request, *std::move(answer.report));
        Q_EMIT changed();
      });
  Q_EMIT changed();
}

}  // namespace trainyard
