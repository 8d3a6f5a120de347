// Published compares the published rows with predictions, once, on a thread of its own, when they
// are first shown.
#pragma once

#include <QObject>

#include <functional>
#include <memory>
#include <string>

#include "app/desktop/session/background.h"
#include "core/validation/validation.h"
#include "visualizers/validation/validation_view.h"

namespace trainyard {

struct PublishedResults {
  std::shared_ptr<const RowSet> rows;
  Validation validation;  // rows only, in the order of `rows`
  ValidationModel model;
};

class Published : public QObject {
  Q_OBJECT

 public:
  using Rows = std::function<std::shared_ptr<const RowSet>()>;

  /// rows: called on the other thread; may throw Error.
  explicit Published(Rows rows, QObject* parent = nullptr);

  /// Returns at once; does nothing if it is running or done.
  void start();
  bool running() const { return work_.running(); }
  /// Null until everything is predicted.
  const PublishedResults* results() const { return results_.get(); }
  /// Why there are no results; empty if nothing went wrong.
  const std::string& error() const { return error_; }
  /// The number of rows predicted and the total, while it runs; 0 of 0 while the rows are read.
  std::pair<int, int> progress() const { return progress_; }

 Q_SIGNALS:
  void changed();

 private:
  Rows rows_;
  std::shared_ptr<const PublishedResults> results_;
  std::string error_;
  std::pair<int, int> progress_{};
  Background work_{this};  // last, because it uses all members above
};

/// The rows that ship with the program.
std::shared_ptr<const RowSet> shipped_row_set();

}  // namespace trainyard
