#include "app/desktop/session/background_measurement.h"

#include <exception>

#include "core/base/error.h"

namespace trainyard {

BackgroundMeasurement::~BackgroundMeasurement() {
  stop();
  work_.stop();
}

void BackgroundMeasurement::refuse(std::string why) {
  error_ = std::move(why);
  Q_EMIT changed();
}

void BackgroundMeasurement::begin(Measure measure) {
  stop();
  work_.stop();
  stop_ = std::stop_source();
  progress_ = 0;
  error_.clear();
  struct Answer {
    Found found;
    std::string error;
  };
  work_.ask(
      [this, measure = std::move(measure), source = stop_](const std::stop_token& gone,
                                                           const auto& tell) mutable {
        const std::stop_callback both(gone, [&] { source.request_stop(); });
        Answer answer;
        try {
          answer.found = measure(source.get_token(), [&](double share) {
            tell([this, share] {
              progress_ = share;
              Q_EMIT changed();
            });
          });
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
