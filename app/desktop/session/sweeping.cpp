#include "app/desktop/session/sweeping.h"

#include <QElapsedTimer>

#include <iterator>
#include <utility>
#include <vector>

#include "core/io/json/inline_document.h"

namespace trainyard {
namespace {

constexpr qint64 kBetweenRows = 100;  // ms; faster updates would only be work

struct SweepAnswer {
  std::optional<SweepStudy> study;
  std::optional<Error> error;
};

}  // namespace

Sweeping::~Sweeping() {
  stop();
  work_.stop();
}

void Sweeping::take(const SweepQuestion& question, SweepStudy study) {
  question_ = question;
  study_ = std::move(study);
  for (SweepAxis& axis : study_.axes)
    for (std::string& value : axis.values)
      if (is_inline_document(value)) value = word_title(value);
}

SweepStudy Sweeping::as_asked() const {
  SweepStudy study = study_;
  study.axes = sweep_axes(question_);
  return study;
}

void Sweeping::start(const SweepQuestion& question) {
  stop();
  work_.stop();
  stop_ = std::stop_source();
  tried_ = plans_ = 0;
  error_.reset();
  work_.ask(
      [this, question, asked = stop_.get_token(), source = stop_](const std::stop_token& gone,
                                                                  const auto& tell) mutable {
        const std::stop_callback both(gone, [&] { source.request_stop(); });
        SweepQuestion own = question;
        own.options.stop = asked;
        QElapsedTimer since;
        std::size_t told = 0;
        own.progress = [&](const SweepStudy& now, const SearchProgress* search) {
          if (!since.isValid())
            tell([this, question, now] { take(question, now); });
          else if (since.elapsed() < kBetweenRows)
            return;
          since.start();
          std::vector<SweepRow> rows(now.rows.begin() + static_cast<std::ptrdiff_t>(told),
                                     now.rows.end());
          told = now.rows.size();
          const std::uint64_t tried = search == nullptr ? 0 : search->tried,
                              plans = search == nullptr ? 0 : search->total;
          tell([this, rows = std::move(rows), tried, plans]() mutable {
            study_.rows.insert(study_.rows.end(), std::make_move_iterator(rows.begin()),
                               std::make_move_iterator(rows.end()));
            tried_ = tried, plans_ = plans;
            Q_EMIT changed();
          });
        };
        SweepAnswer answer;
        try {
          answer.study = sweep(own);
        } catch (const Error& wrong) {
          answer.error = wrong;
        } catch (const std::exception& wrong) {
          answer.error =
              Error(Error::Kind::Internal, std::string("the sweep failed: ") + wrong.what());
        }
        return answer;
      },
      [this, question](SweepAnswer answer) {
        error_ = std::move(answer.error);
        if (answer.study) take(question, *std::move(answer.study));
        Q_EMIT changed();
      });
  Q_EMIT changed();
}

}  // namespace trainyard
