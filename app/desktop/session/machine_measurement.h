// Measuring this machine runs on a thread of its own, in a box of time, and comes back by value. A
// stop keeps what was measured until then.
#pragma once

#include <QObject>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "app/desktop/session/background.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/documents/measured_prices.h"
#include "visualizers/roofline/residuals_view.h"

namespace trainyard {

/// Prices with what is shown of them; immutable.
struct MeasuredMachine {
  MeasuredPrices prices;
  std::string word;    // the document on one line
  std::string source;  // the file it was opened from; empty: measured here, or the project's own
  std::optional<ResidualsModel> residuals;  // of a calibration; a profile keeps no rows
};

/// What is to be measured.
struct MeasureWish {
  std::optional<Request> plan;  // nothing: small models of the zoo
  double seconds = 10;          // about
};

class MachineMeasurement : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  ~MachineMeasurement() override;  // stops and waits

  /// Returns at once; stops what runs. What was found before stays until there is something else.
  void start(const MeasureWish&);
  /// Opens a file, or a document on one line, in the background.
  void open(const std::string& word);
  /// Asks what runs to end; what it measured until then is the answer.
  void stop();
  bool running() const { return work_.running(); }
  /// Of the box, [0, 1].
  double progress() const { return progress_; }
  /// Null before the first answer.
  std::shared_ptr<const MeasuredMachine> found() const { return found_; }
  /// Why the last question has no answer; empty where it has.
  const std::string& error() const { return error_; }

 Q_SIGNALS:
  void changed();

 private:
  struct Answer {
    std::shared_ptr<const MeasuredMachine> found;
    std::string error;
  };
  void take(Answer);

  double progress_ = 0;
  std::shared_ptr<const MeasuredMachine> found_;
  std::string error_;
  std::stop_source stop_;
  Background work_{this};  // last: it uses all of the above
};

/// The parameters that a profile moves, the farthest first.
DataTable profile_table(const ParameterProfile&);

}  // namespace trainyard
