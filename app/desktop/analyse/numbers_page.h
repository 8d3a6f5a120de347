// The Numbers tab: how the numbers of the last run lie in the formats of its plan, and by step the
// updates that rounding cancels and the loss scale, where the run was asked to watch them.
#pragma once

#include <memory>
#include <optional>

#include "app/desktop/controls/page.h"
#include "app/desktop/session/training_session.h"
#include "visualizers/numbers/numbers_view.h"

namespace trainyard {

class ChartScene;
class Segment;

/// The record of a run, and the picture of it that is drawn.
struct ShownNumbers {
  std::shared_ptr<const NumberRecord> record;  // null where no run watched its numbers
  NumbersPicture picture = NumbersPicture::Gradients;
};

class NumbersPage : public Page {
  Q_OBJECT

 public:
  /// The training must outlive the page.
  explicit NumbersPage(TrainingSession&, QWidget* parent = nullptr);

  void show_picture(NumbersPicture);

  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  /// These return what the command line writes.
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

 private:
  void take();  // the record of the last run
  QString nothing() const;

  TrainingSession& training_;
  ShownNumbers shown_;
  Segment* which_;
  CanvasWidget* canvas_;
  ChartScene* scene_ = nullptr;  // owned by the canvas
};

}  // namespace trainyard
