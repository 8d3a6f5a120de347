// The published rows held against predictions: once, on a thread of its own, the first time that
// somebody looks.
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

  /// Returns at once; does nothing where it runs or is done.
  void start();
  bool running() const { return work_.running(); }
  /// Null before all is predicted.
  const PublishedResults* results() const { return results_.get(); }
  /// Why there are none; empty where nothing went wrong.
  const std::string& error() const { return error_; }
  /// Rows predicted and rows there are, while it runs; 0 of 0 while they are read.
  std::pair<int, int> progress() const { return progress_; }

 Q_SIGNALS:
  void changed();

 private:
  Rows rows_;
  std::shared_ptr<const PublishedResults> results_;
  std::string error_;
  std::pair<int, int> progress_{};
  Background work_{this};  // last: it uses all of the above
};

/// The rows that ship.
std::shared_ptr<const RowSet> shipped_row_set();

}  // namespace trainyard
