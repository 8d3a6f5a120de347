// A MachineMeasurement measures this machine on a thread of its own, for a limited time, and
// delivers the result by value. Stopping it keeps what was measured so far.
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

struct RecordedModel;

/// Prices together with what is shown of them; immutable.
struct MeasuredMachine {
  MeasuredPrices prices;
  std::string word;  // the document on one line
  // The file from which it was opened; empty: measured here, or the project's own.
  std::string source;
  std::optional<ResidualsModel> residuals;  // of a calibration; a profile has no rows
};

/// What to measure.
struct MeasureWish {
  std::optional<Request> plan;  // empty: small models of the zoo
  double seconds = 10;          // approximate duration
  int networks = 0;             // random ones, if there is no plan; 0 = models of the zoo
};

class MachineMeasurement : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  ~MachineMeasurement() override;  // stops the work and waits

  /// Returns at once; stops the current measurement. The earlier result stays until there is a new
  /// one.
  void start(const MeasureWish&);
  /// Makes prices of a recorded run of the scenario in the background; they become the result.
  /// `snapshot` is the file of a memory snapshot of the same run, which says what its allocator
  /// reserves; empty: none.
  void read(std::shared_ptr<const RecordedModel>, const Scenario&, const std::string& snapshot);
  /// Opens a file, or a document on one line, in the background.
  void open(const std::string& word);
  /// Makes prices of the result with kernels of other shapes priced so; they become the result at
  /// once. Does nothing for a profile.
  void price_other_shapes(OtherShapes);
  /// Asks the measurement to end; what it measured so far becomes the result.
  void stop();
  bool running() const { return work_.running(); }
  /// Share of the duration, in [0, 1].
  double progress() const { return progress_; }
  /// Null before the first result.
  std::shared_ptr<const MeasuredMachine> found() const { return found_; }
  /// Why the last request has no result; empty if it has.
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
  Background work_{this};  // last, because it uses all members above
};

/// The parameters that a profile changes, the largest change first.
DataTable profile_table(const ParameterProfile&);

}  // namespace trainyard
