#include "app/desktop/session/probe_measurement.h"

#include <exception>
#include <stop_token>
#include <utility>

#include "core/base/error.h"

namespace trainyard {

void ProbeMeasurement::refuse(std::string why) {
  error_ = std::move(why);
  Q_EMIT changed();
}

void ProbeMeasurement::start(ProbeQuestion question) {
  stop();
  work_.stop();
  stop_ = std::stop_source();
  progress_ = 0;
  error_.clear();
  struct Answer {
    std::shared_ptr<const WidthProbe> found;
    std::string error;
  };
  work_.ask(
      [this, question = std::move(question), source = stop_](const std::stop_token& gone,
                                                             const auto& tell) mutable {
        const std::stop_callback both(gone, [&] { source.request_stop(); });
        question.stop = source.get_token();
        question.progress = [&](double share) {
          tell([this, share] {
            progress_ = share;
            Q_EMIT changed();
          });
        };
        Answer answer;
        try {
          answer.found = std::make_shared<const WidthProbe>(kernel_probe(question));
        } catch (const Error& wrong) {
          answer.error = describe(wrong);
        } catch (const std::exception& wrong) {
          answer.error = std::string("nothing was measured: ") + wrong.what();
        }
        return answer;
      },
      [this](Answer answer) {
        error_ = std::move(answer.error);
        if (answer.found) found_ = std::move(answer.found);
        Q_EMIT changed();
      });
  Q_EMIT changed();
}

}  // namespace trainyard
