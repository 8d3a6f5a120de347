// A ProfilePage profiles a training on this machine and shows it as recorded and without what
// recording took: the question at the left, the picture over its rows, and what follows in
// sentences.
#pragma once

#include <functional>
#include <stop_token>

#include "app/desktop/controls/page.h"
#include "app/desktop/session/background_measurement.h"
#include "app/desktop/session/document.h"
#include "core/timeline/span_profile.h"

class QLabel;
class QPushButton;

namespace trainyard {

class Actions;
class CheckedField;
class ChartScene;
class Segment;
class ViewTable;

/// The profile of a plan, or of the learner that comes with the program, opened where it is
/// measured.
struct ProfileWish {
  bool learner = false;
  Request request = {};  // of a plan
  std::int64_t updates = 0;
  int rounds = 0;
  Duration window{};
  std::stop_token stop = {};
  std::function<void(double)> progress = {};
};

class ProfilePage : public Page {
  Q_OBJECT

 public:
  explicit ProfilePage(Document&, QWidget* parent = nullptr);
  /// Lets the commands "calibrate.profile*" act on this page.
  void connect_commands(const Actions&);

  const MeasurementOf<ProfileStudy>& measurement() const { return measurement_; }
  ViewTable& rows() const { return *rows_; }
  void choose_learner(bool);
  /// Profiles; does nothing while it does or a field is wrong.
  void start();
  QString sentences() const;

  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  bool settled() const override { return !measurement_.running(); }
  bool whole() const override { return true; }
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

 private:
  QWidget* make_form();
  void show_found();
  void refresh_state();

  Document& document_;
  MeasurementOf<ProfileStudy> measurement_;
  const ProfileStudy* shown_ = nullptr;
  Segment* which_;
  CheckedField *updates_, *rounds_, *window_;
  QPushButton* start_;
  QLabel *state_, *sentences_;
  CanvasWidget* canvas_;
  ChartScene* scene_;  // owned by the canvas
  ViewTable* rows_;
};

}  // namespace trainyard
