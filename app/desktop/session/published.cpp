#include "app/desktop/session/published.h"

#include <algorithm>
#include <utility>

#include "app/workspace/scenario/published.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

// The number of rows between two checks for a stop.
constexpr std::size_t kAtOnce = 24;

struct PublishedAnswer {
  std::shared_ptr<const PublishedResults> results;
  std::string error;
};

// Computes only what each row needs; scores of sources are computed by the model.
template <class Tell>
Validation predicted(const RowSet& set, const std::stop_token& stop, const Tell& tell) {
  Validation all;
  for (std::size_t from = 0; from < set.rows.size() && !stop.stop_requested(); from += kAtOnce) {
    RowSet part;
    const std::size_t to = std::min(set.rows.size(), from + kAtOnce);
    part.rows.assign(set.rows.begin() + static_cast<std::ptrdiff_t>(from),
                     set.rows.begin() + static_cast<std::ptrdiff_t>(to));
    for (RowVerdict& verdict : validate(part, {.explained = 0}).rows) {
      verdict.row += from;
      all.rows.push_back(std::move(verdict));
    }
    tell(static_cast<int>(to), static_cast<int>(set.rows.size()));
  }
  return all;
}

}  // namespace

std::shared_ptr<const RowSet> shipped_row_set() {
  // Not owned, because it lives as long as the program.
  return {std::shared_ptr<const RowSet>{}, &published_set()};
}

Published::Published(Rows rows, QObject* parent) : QObject(parent), rows_(std::move(rows)) {}

void Published::start() {
  if (running() || results_ != nullptr) return;
  error_.clear();
  progress_ = {};
  work_.ask(
      [this, read = rows_](const std::stop_token& stop, const auto& tell) {
        PublishedAnswer answer;
        try {
          auto results = std::make_shared<PublishedResults>();
          results->rows = read();
          results->validation = predicted(*results->rows, stop, [&](int done, int all) {
            tell([this, done, all] {
              progress_ = {done, all};
              Q_EMIT changed();
            });
          });
          results->model = validation_model(*results->rows, results->validation);
          answer.results = std::move(results);
        } catch (const Error& wrong) {
          answer.error = describe(wrong);
        } catch (const std::exception& wrong) {
          answer.error = std::string("the published rows could not be predicted: ") + wrong.what();
        }
        return answer;
      },
      [this](PublishedAnswer answer) {
        results_ = std::move(answer.results);
        error_ = std::move(answer.error);
        Q_EMIT changed();
      });
  Q_EMIT changed();
}

}  // namespace trainyard
